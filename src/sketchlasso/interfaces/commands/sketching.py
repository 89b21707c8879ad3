"""`sketchlasso sketch`: compress a file's data once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import sketchlasso as sl
from sketchlasso.interfaces.commands.data import at_work, read_given
from sketchlasso.interfaces.commands.options import (
    BlockOptions,
    DataOptions,
    Device,
    Files,
    Seed,
    number_or_name,
)
from sketchlasso.interfaces.commands.outputs import output_option
from sketchlasso.interfaces.commands.report import Report, wrote
from sketchlasso.interfaces.commands.screen import Screen

__all__ = ["make_sketch", "sketch_data"]


def make_sketch(
    file: Files,
    data: DataOptions,
    blocks: BlockOptions,
    screen: Screen,
    output: Annotated[Path, output_option("The sketch file to write.")],
    rank: Annotated[
        int | None, typer.Option(help="Rank; 50, or what the data allow, by default.")
    ] = None,
    tol: Annotated[
        float | None, typer.Option(help="Choose the rank: radius <= tol times the norm of X.")
    ] = None,
    method: Annotated[
        str,
        typer.Option(
            help="randomized, krylov, power, projection, nystrom, sampling, frequent_directions, "
            "exact, or response (which uses the target)."
        ),
    ] = "randomized",
    center: Annotated[bool, typer.Option(help="Whether columns are centred.")] = True,
    scale: Annotated[
        bool, typer.Option("--scale", help="Divide columns by their standard deviations.")
    ] = False,
    radius: Annotated[
        str | None, typer.Option(help="spectral, frobenius, realised, or a number.")
    ] = None,
    seed: Seed = 0,
    device: Device = "cpu",
) -> Report:
    """Compress data into a sketch file.

    X ~ Q P' with a bound on the error, to be shared by fit, path, cv and loo.
    """
    given = read_given(file, data, blocks)
    y, _ = given.signs(None) if method == "response" else (None, None)
    size: dict[str, Any] = {} if rank is None else {"rank": rank}
    with screen.watching("sketching") as watch, at_work(given, blocks, watch):
        found = sl.sketch(
            given.X,
            y,
            method=method,  # type: ignore[arg-type]
            tol=tol,
            center=center,
            scale=scale,
            radius=number_or_name(radius),
            random_state=seed,
            device=device,
            **size,
        )
        found.save(output)
    return Report(
        data={"command": "sketch", "output": output, **sketch_data(found)},
        text=found.summary(),
        facts=wrote(output),
    )


def sketch_data(found: sl.Sketch) -> dict[str, Any]:
    """Describe a sketch for machines."""
    return {
        "n_samples": found.n_samples,
        "n_features": found.n_features,
        "rank": found.rank,
        "response_rank": found.response_rank,
        "method": found.method,
        "radius": found.radius,
        "radius_kind": found.radius_kind,
        "radius_failure_probability": found.radius_failure_probability,
        "largest_singular_value": found.singular_values[0],
        "centred": found.column_means is not None,
        "scaled": found.column_scales is not None,
        "dtype": str(found.dtype),
        "seed": found.seed,
        "fingerprint": found.fingerprint,
        "passes": found.cost.passes,
        "products": found.cost.products,
        "seconds": found.cost.seconds,
    }
