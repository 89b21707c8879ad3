"""`sketchlasso sketch`: data compressed once."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

import sketchlasso as sl
from sketchlasso.interfaces.commands import options
from sketchlasso.interfaces.commands.data import at_work, read_given
from sketchlasso.interfaces.commands.screen import Report, Screen


def make_sketch(
    file: options.Files,
    data: options.BlockOptions,
    screen: Screen,
    output: Annotated[Path, "The sketch file to write."],
    rank: Annotated[
        int | None, typer.Option(help="Rank; 50, or what the data allow, by default.", min=1)
    ] = None,
    tol: Annotated[float | None, "Choose the rank: radius <= tol times the norm of X."] = None,
    method: Annotated[
        str,
        "randomized, krylov, power, projection, nystrom, sampling, frequent_directions, exact, or "
        "response (which uses the target).",
    ] = "randomized",
    center: Annotated[bool, "Whether columns are centred."] = True,
    scale: Annotated[bool, "Divide columns by their standard deviations."] = False,
    radius: Annotated[str | None, "spectral, frobenius, realised, or a number."] = None,
    seed: options.Seed = 0,
) -> Report:
    """Compress data into a sketch file.

    X ~ Q P' with a bound on the error, to be shared by fit, path, cv and loo.
    """
    given = read_given(file, data)
    y, _ = given.signs(None) if method == "response" else (None, None)
    size: dict[str, Any] = {} if rank is None else {"rank": rank}
    kind: Any = method
    with screen.watching("sketching") as watch, at_work(given, data, watch):
        found = sl.sketch(
            given.X,
            y,
            method=kind,
            tol=tol,
            center=center,
            scale=scale,
            radius=options.number_or_name(radius),
            random_state=seed,
            **size,
        )
        found.save(output)
    return Report(sketch_data(found), text=found.summary())


def sketch_data(found: sl.Sketch) -> dict[str, Any]:
    """Describe a sketch for machines."""
    sizes = ("n_samples", "n_features", "rank", "response_rank", "seed", "fingerprint")
    names = (*sizes, "method", "radius", "radius_kind", "radius_failure_probability")
    return {
        **{name: getattr(found, name) for name in names},
        "largest_singular_value": found.singular_values[0],
        "centred": found.column_means is not None,
        "scaled": found.column_scales is not None,
        "dtype": str(found.dtype),
        **asdict(found.cost),
    }


def sketch_words(found: sl.Sketch | None) -> str:
    """Describe a sketch, or that there is none, in a few words."""
    if found is None:
        return "none, the full problem"
    return f"{found.method}, rank {found.rank}, radius {found.radius:.4g}"
