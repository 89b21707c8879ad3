"""Data in and out: files of many formats, shards of one matrix, and data sets by name."""

from sketchlasso.files.encoding import Encoding
from sketchlasso.files.fetch import fetch_dataset
from sketchlasso.files.formats import read_table, write_table
from sketchlasso.files.shards import Shards, read_shards
from sketchlasso.files.table import Table

__all__ = [
    "Encoding",
    "Shards",
    "Table",
    "fetch_dataset",
    "read_shards",
    "read_table",
    "write_table",
]
