"""One validated view of the data matrix, and what centring and scaling did to it."""

from sketchlasso.data.matrix import DataMatrix, MatrixLike, fingerprint
from sketchlasso.data.transform import ColumnTransform
from sketchlasso.data.validate import as_responses

__all__ = ["ColumnTransform", "DataMatrix", "MatrixLike", "as_responses", "fingerprint"]
