"""Entry point of the command `sketchlasso`."""

from __future__ import annotations

import sys

from sketchlasso import MissingExtraError, SketchlassoError

__all__ = ["main"]


def main() -> None:
    """Run the command line; a missing extra or bad input ends in one sentence and exit code 1."""
    try:
        try:
            from sketchlasso.interfaces.app import app
        except ImportError as error:
            raise MissingExtraError("the command line", str(error.name), "cli") from None
        app()
    except SketchlassoError as error:
        print(f"sketchlasso: {error}", file=sys.stderr)
        raise SystemExit(1) from None
