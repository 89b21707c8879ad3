"""Data in and out: files of many formats."""

from sketchlasso.files.read import read_table
from sketchlasso.files.table import Table
from sketchlasso.files.write import write_table

__all__ = ["Table", "read_table", "write_table"]
