"""Tables from files and back, data in many files or blocks, what is in files of our own."""

from sketchlasso.data import BlockMatrix
from sketchlasso.files import (
    Encoding,
    Shards,
    Table,
    fetch_dataset,
    read_shards,
    read_table,
    write_table,
)
from sketchlasso.storage import StoredInfo, stored_info

__all__ = [
    "BlockMatrix",
    "Encoding",
    "Shards",
    "StoredInfo",
    "Table",
    "fetch_dataset",
    "read_shards",
    "read_table",
    "stored_info",
    "write_table",
]
