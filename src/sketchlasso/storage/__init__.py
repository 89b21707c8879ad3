"""The package's own files: written completely or not at all, checked when read, no pickle."""

from sketchlasso.storage.atomic import replacing
from sketchlasso.storage.resume import Parts
from sketchlasso.storage.store import (
    Stored,
    StoredInfo,
    matrix_arrays,
    reading,
    stored_info,
    strings_array,
    write_stored,
)

__all__ = [
    "Parts",
    "Stored",
    "StoredInfo",
    "matrix_arrays",
    "reading",
    "replacing",
    "stored_info",
    "strings_array",
    "write_stored",
]
