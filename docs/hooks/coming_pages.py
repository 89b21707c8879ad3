"""A page that benchmarks write stands in for itself until it has been written."""

from __future__ import annotations

from typing import Any

PAGES = {
    "accuracy.md": "# Accuracy\n\nNot measured yet: `python -m benchmarks accuracy`.\n",
}


def on_files(files: Any, config: Any) -> Any:
    """Add each missing page, so that links to it hold."""
    from mkdocs.structure.files import File

    for name, words in PAGES.items():
        if files.get_file_from_path(name) is None:
            files.append(File.generated(config, name, content=words))
    return files
