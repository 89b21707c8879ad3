"""Tables from files and back, data in many files or blocks, what is in files of our own."""

from sketchlasso.data import BlockMatrix
from sketchlasso.io.encoding import Encoding
from sketchlasso.io.formats import read_table, write_table
from sketchlasso.io.shards import Shards, read_shards
from sketchlasso.io.source import read_lines
from sketchlasso.io.table import Table
from sketchlasso.io.tables import read_text_columns
from sketchlasso.storage import StoredInfo, stored_info

__all__ = [
    "BlockMatrix",
    "Encoding",
    "Shards",
    "StoredInfo",
    "Table",
    "read_lines",
    "read_shards",
    "read_table",
    "read_text_columns",
    "stored_info",
    "write_table",
]
