"""The commands of `sketchlasso`; importing this needs the extra `cli`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Annotated

import typer

import sketchlasso as sl
from sketchlasso.interfaces.commands.command import as_command, examples
from sketchlasso.interfaces.commands.fitting import fit, path
from sketchlasso.interfaces.commands.judging import cv
from sketchlasso.interfaces.commands.leaving_out import loo
from sketchlasso.interfaces.commands.looking import doctor, info
from sketchlasso.interfaces.commands.report import Report
from sketchlasso.interfaces.commands.reproducing import paper
from sketchlasso.interfaces.commands.selecting import stability
from sketchlasso.interfaces.commands.sketching import make_sketch
from sketchlasso.interfaces.commands.topics import asking, everything, fitting, showing
from sketchlasso.interfaces.commands.using import certify, predict
from sketchlasso.interfaces.demo import demo
from sketchlasso.interfaces.exits import Exit

__all__ = ["app"]

# What a line break is worth depends on who formats the help page.
BREAK = "\n\n" if sys.stdout.isatty() else "\n"
CODES = BREAK.join(["Exit codes:", *(f"  {code.value:<4} {code.meaning}" for code in Exit)])


def _group(help: str) -> typer.Typer:
    return typer.Typer(
        help=help,
        epilog=CODES if sys.stdout.isatty() else f"\b\n{CODES}",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        # Panels on a terminal, plain lines in a pipe.
        rich_markup_mode="rich" if sys.stdout.isatty() else None,
    )


app = _group("Many sparse regressions on one data set.")
topics = _group("Ask a corpus about its words.")

COMMANDS: dict[str, tuple[Callable[..., Report], tuple[str, ...]]] = {
    "sketch": (make_sketch, (
        "sketch docword.nips.txt.gz -o nips.sketch --rank 50",
        "sketch houses.csv --target price --tol 0.1 -o houses.sketch",
        "sketch rcv1.svm.gz --method response -o rcv1.sketch",
        "sketch clicks/ --memory 1GB -o clicks.sketch",
    )),
    "fit": (fit, (
        "fit houses.csv --target price -o houses.model",
        "fit houses.csv --target price --calibrate jackknife+ -o houses.model",
        "fit rcv1.svm.gz --alpha 4 --sketch rcv1.sketch -o rcv1.model",
        "fit docword.nips.txt.gz --target-word learning --alpha 20",
    )),
    "path": (path, (
        "path houses.csv --target price --alphas 50 -o path.csv",
        "path rcv1.svm.gz --alphas 8,4,2,1 --json",
    )),
    "cv": (cv, (
        "cv houses.csv --target price --folds 10 --selection 1se -o houses.model",
        "cv rcv1.svm.gz --radius realised,0.3*realised,0 --scoring f1 -o rcv1.model",
        "cv counts.npz --target-file labels.txt --classify",
        "cv clicks/part-*.npz --scheduler tcp://10.0.0.1:8786 -o clicks.model",
    )),
    "loo": (loo, (
        "loo houses.csv --target price --alpha 3 -o left-out.csv",
        "loo rcv1.svm.gz --model rcv1.model --rows 500",
    )),
    "stability": (stability, (
        "stability genes.csv --target yield",
        "stability genes.csv --target yield --pfer 0.5 --cutoff 0.9 -o often.csv",
        "stability genes.csv --target yield --q 20 --plot paths.png",
    )),
    "predict": (predict, (
        "predict houses.model new.csv -o predictions.csv",
        "predict rcv1.model test.svm.gz --json",
        "predict houses.model new.csv --interval 0.9 -o intervals.csv",
    )),
    "certify": (certify, (
        "certify houses.model houses.csv",
        "certify rcv1.model rcv1.svm.gz --tol 0.01",
    )),
    "paper": (paper, (
        "paper --quick",
        "paper -o report",
        "paper --only figure_3,table_2 --again table_2",
    )),
    "info": (info, ("info nips.sketch", "info houses.model --top 20", "info nips.topics")),
    "doctor": (doctor, ("doctor", "doctor --json")),
}  # fmt: skip

TOPICS: dict[str, tuple[Callable[..., Report], tuple[str, ...]]] = {
    "fit": (fitting.fit, (
        "topics fit posts.jsonl --column body --title-column title -o posts.topics",
        "topics fit docword.nips.txt.gz -o nips.topics --rank 100",
        "topics fit folder-of-texts -o texts.topics --min-documents 3 --stop-words mine.txt",
    )),
    "image": (asking.image, (
        "topics image nips.topics learning vision",
        "topics image nips.topics neural network --together --exclude training",
        "topics image nips.topics learning --documents 5 --n-words 20",
        "topics image nips.topics learning --compare posts.topics",
    )),
    "all": (everything.image_all, ("topics all nips.topics -o nips.images",)),
    "graph": (everything.graph, (
        "topics graph nips.images -o nips.graphml --communities",
        "topics graph nips.images -o nips.csv --rule and",
    )),
    "serve": (showing.serve, (
        "topics serve nips.topics --images nips.images --open",
        "topics serve nips.topics --port 0",
    )),
    "demo": (showing.demo, (
        "topics demo",
        "topics demo spline regression",
        "topics demo --serve --open",
    )),
}  # fmt: skip

for name, (work, lines) in COMMANDS.items():
    app.command(name, epilog=examples(*lines))(as_command(work))
for name, (work, lines) in TOPICS.items():
    topics.command(name, epilog=examples(*lines))(as_command(work))
app.add_typer(topics, name="topics")
app.command("demo", epilog=examples("demo", "demo --rank 40"))(as_command(demo))


@app.callback(invoke_without_command=True)
def common(
    show_version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.")
    ] = False,
) -> None:
    """Many sparse regressions on one data set."""
    if show_version:
        typer.echo(sl.__version__)
        raise typer.Exit
