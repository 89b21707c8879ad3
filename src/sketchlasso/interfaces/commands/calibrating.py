"""The option --calibrate of fit and cv: what `predict --interval` will need."""

from __future__ import annotations

from typing import Annotated, Any

import typer

import sketchlasso as sl
from sketchlasso.errors import InvalidInputError
from sketchlasso.interfaces.commands.given import Given
from sketchlasso.interfaces.models import Model

__all__ = ["Calibrate", "calibrate", "check_calibrate"]

Calibrate = Annotated[
    str | None,
    typer.Option(
        "--calibrate",
        show_default=False,
        help="Keep what predict --interval needs: jackknife+ (each row left out) or cv+ (ten "
        "folds). The fit is repeated without these rows.",
    ),
]


def check_calibrate(method: str | None, X: Any, classes: bool) -> None:
    """Refuse --calibrate where it cannot be, before anything is fitted."""
    if method is None:
        return
    if method not in ("jackknife+", "cv+"):
        raise InvalidInputError(
            f"--calibrate {method} was given, but jackknife+ or cv+ is accepted; give one of them."
        )
    if classes:
        raise InvalidInputError(
            "--calibrate was given for classes, but intervals are of numbers; leave it out, or "
            "give --regress."
        )
    if isinstance(X, sl.io.BlockMatrix):
        raise InvalidInputError(
            f"--calibrate {method} was given for data in blocks, but rows are left out of data in "
            "memory; leave it out, or read one file without --memory."
        )


def calibrate(estimator: Model, given: Given, method: Any) -> tuple[tuple[str, str], ...]:
    """Calibrate a fitted model as --calibrate asks, and say so."""
    if method is None:
        return ()
    estimator.calibrate(given.X, given.response, method=method)
    given.note_on_gaps("--calibrate left rows out after gaps were filled from all rows")
    return (("calibrated", f"by {method} on {given.X.shape[0]} rows"),)
