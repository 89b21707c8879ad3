"""The package's own files: written completely or not at all, checked when read, no pickle."""

from sketchlasso.storage.atomic import cache_folder, replacing
from sketchlasso.storage.container import (
    Content,
    StoredInfo,
    read_container,
    stored_info,
    unpacking,
    write_container,
)

__all__ = [
    "Content",
    "StoredInfo",
    "cache_folder",
    "read_container",
    "replacing",
    "stored_info",
    "unpacking",
    "write_container",
]
