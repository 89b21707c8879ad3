"""Data in and out: files of many formats, and data sets by name."""

from sketchlasso.files.fetch import fetch_dataset
from sketchlasso.files.read import read_table
from sketchlasso.files.table import Table
from sketchlasso.files.write import write_table

__all__ = ["Table", "fetch_dataset", "read_table", "write_table"]
