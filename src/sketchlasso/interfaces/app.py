"""The commands of `sketchlasso`; importing this needs the extra `cli`."""

from __future__ import annotations

from typing import Annotated

import typer

import sketchlasso
from sketchlasso.interfaces.demo import run_demo

__all__ = ["app"]

app = typer.Typer(
    help="Many sparse regressions on one data set.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.callback(invoke_without_command=True)
def common(
    show_version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.")
    ] = False,
) -> None:
    """Many sparse regressions on one data set."""
    if show_version:
        typer.echo(sketchlasso.__version__)
        raise typer.Exit


@app.command()
def demo(
    rank: Annotated[int, typer.Option(help="Rank of the sketch, 1 to 64.")] = 30,
    alphas: Annotated[int, typer.Option(help="Number of penalties on the path.")] = 20,
    tol: Annotated[float, typer.Option(help="Relative duality gap to reach.")] = 1e-6,
) -> None:
    """Sketch the bundled digits, 4 against 9, and solve a path of penalties."""
    run_demo(rank, alphas, tol)
