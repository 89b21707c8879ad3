"""One validated view of the data matrix, and what centring and scaling did to it."""

from sketchlasso.data.matrix import DataMatrix, MatrixLike, fingerprint
from sketchlasso.data.transform import ColumnTransform

__all__ = ["ColumnTransform", "DataMatrix", "MatrixLike", "fingerprint"]
