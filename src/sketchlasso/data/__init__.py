"""One validated view of the data matrix, with its centring and scaling."""

from sketchlasso.data.blocks import BlockMatrix
from sketchlasso.data.implicit import ImplicitRows, RowFactor, gram_of
from sketchlasso.data.matrix import DataMatrix, fingerprint
from sketchlasso.data.transform import ColumnTransform
from sketchlasso.data.validate import MatrixLike, as_blocks, as_responses, as_rows, products, spread

__all__ = [
    "BlockMatrix",
    "ColumnTransform",
    "DataMatrix",
    "ImplicitRows",
    "MatrixLike",
    "RowFactor",
    "as_blocks",
    "as_responses",
    "as_rows",
    "fingerprint",
    "gram_of",
    "products",
    "spread",
]
