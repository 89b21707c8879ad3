"""One validated view of the data matrix, in blocks of rows, with its centring and scaling."""

from sketchlasso.data.blocks import BlockMatrix
from sketchlasso.data.matrix import DataMatrix, ImplicitRows, RowFactor, fingerprint, gram_of
from sketchlasso.data.transform import ColumnTransform
from sketchlasso.data.validate import MatrixLike, as_blocks, as_entries, as_responses, as_rows

__all__ = [
    "BlockMatrix",
    "ColumnTransform",
    "DataMatrix",
    "ImplicitRows",
    "MatrixLike",
    "RowFactor",
    "as_blocks",
    "as_entries",
    "as_responses",
    "as_rows",
    "fingerprint",
    "gram_of",
]
