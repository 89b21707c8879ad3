"""The commands of `sketchlasso`; importing this needs the extra `cli`.

The module of a command is imported when the command runs, so that help is fast.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from functools import cache
from importlib import import_module
from typing import Annotated, Any, ClassVar, TypeAlias

import typer
from typer.core import TyperCommand, TyperGroup

import sketchlasso as sl
from sketchlasso.interfaces import visible
from sketchlasso.interfaces.cli import MEANINGS

HELP = {"help_option_names": ["-h", "--help"]}


# By name: ``"module:function"`` in `commands`, the first sentence of its documentation for the list
# of commands, and examples to copy, without the name of the program.
Entries: TypeAlias = dict[str, tuple[str, ...]]

COMMANDS: Entries = {
    "sketch": (
        "sketch:make_sketch",
        "Compress data into a sketch file.",
        "sketch docword.nips.txt.gz -o nips.sketch --rank 50",
        "sketch houses.csv --target price --tol 0.1 -o houses.sketch",
    ),
    "fit": (
        "fit:fit",
        "Fit one penalty and write a model file.",
        "fit houses.csv --target price -o houses.model",
        "fit houses.csv --target price --calibrate jackknife+ -o houses.model",
    ),
    "path": (
        "path:path",
        "Solve for many penalties at once.",
        "path houses.csv --target price --alphas 50 -o path.csv --plot path.png",
        "path rcv1.svm.gz --alphas 8,4,2,1 --json",
    ),
    "cv": (
        "fit:cv",
        "Choose penalty and radius by cross-validation.",
        "cv houses.csv --target price --folds 10 --selection 1se -o houses.model",
        "cv rcv1.svm.gz --radius realised,0.3*realised,0 --scoring f1 -o rcv1.model",
    ),
    "loo": (
        "leave_one_out:loo",
        "Leave every row out once, and report which rows matter.",
        "loo houses.csv --target price --alpha 3 -o left-out.csv",
        "loo rcv1.svm.gz --model rcv1.model --rows 500",
    ),
    "predict": (
        "predict:predict",
        "Predict rows with a model file.",
        "predict houses.model new.csv -o predictions.csv",
        "predict rcv1.model test.svm.gz --json",
    ),
    "certify": (
        "predict:certify",
        "Prove how far a model is from the optimum.",
        "certify houses.model houses.csv",
        "certify rcv1.model rcv1.svm.gz --tol 0.01",
    ),
    "network": (
        "network:network",
        "Find which columns explain which, and write the graph.",
        "network genes.csv -o genes.graphml",
        "network genes.csv --predictors regulators.txt --half-samples 50 -o genes.csv.gz",
    ),
    "explore": (
        "explore:explore",
        "Explore a network in the browser.",
        "explore genes.graphml --open",
        "explore genes.json --port 0",
    ),
    "infer": (
        "infer:infer",
        "Estimate every coefficient, with its error and p-value.",
        "infer houses.csv --target price",
        "infer genes.csv --target yield --adjust bh --plot genes.png -o intervals.csv",
    ),
    "stability": (
        "infer:stability",
        "Select features with a bound on the number of false ones.",
        "stability genes.csv --target yield",
        "stability genes.csv --target yield --pfer 0.5 --cutoff 0.9 -o often.csv",
    ),
    "info": (
        "info:info",
        "Show what a file of sketchlasso holds.",
        "info nips.sketch",
        "info houses.model --top 20",
    ),
    "doctor": (
        "info:doctor",
        "Check this installation: versions, threads, and a small problem to solve.",
        "doctor",
        "doctor --json",
    ),
    "demo": (
        "demo:demo",
        "Demonstrate the package on bundled data.",
        "demo",
    ),
}

TOPICS: Entries = {
    "fit": (
        "topics:fit",
        "Read documents and make a model of their words.",
        "topics fit posts.jsonl --column body --title-column title -o posts.topics",
        "topics fit docword.nips.txt.gz -o nips.topics --rank 100",
    ),
    "image": (
        "images:image",
        "Show the few words that explain a word.",
        "topics image nips.topics learning vision",
        "topics image nips.topics neural network --together --exclude training",
    ),
    "all": (
        "images:image_all",
        "Image every word of the vocabulary.",
        "topics all nips.topics -o nips.images",
    ),
    "graph": (
        "images:graph",
        "Join the images of all words into one graph.",
        "topics graph nips.images -o nips.graphml --communities",
        "topics graph nips.images -o nips.csv --rule and",
    ),
    "list": (
        "topics:list_topics",
        "List the topics of a corpus.",
        "topics list nips.topics",
        "topics list nips.topics --images nips.images --no-stability",
    ),
    "export": (
        "topics:export",
        "Write topics, words and documents to a folder.",
        "topics export nips.topics --images nips.images -o nips-topics",
    ),
    "serve": (
        "explore:serve",
        "Explore a model in the browser.",
        "topics serve nips.topics --images nips.images --open",
        "topics serve nips.topics --port 0",
    ),
    "demo": (
        "demo:topics_demo",
        "Image words of the documentation of scientific packages.",
        "topics demo",
        "topics demo spline regression",
    ),
}


class _Group(TyperGroup):
    """Lists its commands by their summaries, and loads the one that is called."""

    entries: ClassVar[Entries] = {}

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        for name, (_, summary, *_) in self.entries.items():
            self.commands[name] = TyperCommand(name, help=summary)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, command, rest = super().resolve_command(ctx, args)
        if name is not None and name in self.entries:
            command = _loaded(name, self.entries[name])
        return name, command, rest


class _Topics(_Group):
    entries = TOPICS


class _Main(_Group):
    entries = COMMANDS

    def main(self, *arguments: Any, **options: Any) -> Any:
        """Run a command; an option that is refused is one line with the prefix of all errors."""
        try:
            code = super().main(*arguments, **{**options, "standalone_mode": False})
        except Exception as refused:
            if not hasattr(refused, "format_message"):
                raise
            message = refused.format_message().replace("Value error, ", "")
            if not message.startswith("Usage"):  # the whole help page, if there is no command
                message = f"sketchlasso: {visible(' '.join(message.split()))}"
            print(message, file=sys.stderr)
            code = refused.exit_code  # type: ignore[attr-defined]
        sys.exit(code or 0)


@cache
def _loaded(name: str, entry: tuple[str, ...]) -> Any:
    """Import a command, with its options, which take time to build and never change."""
    from sketchlasso.interfaces.commands.command import as_command

    path, _, *examples = entry
    module, _, function = path.partition(":")
    work = getattr(import_module(f"sketchlasso.interfaces.commands.{module}"), function)
    alone = _typer()
    epilog = _epilog("Examples:", (f"sketchlasso {line}" for line in examples))
    alone.command(name, epilog=epilog, context_settings=HELP)(as_command(work))
    return typer.main.get_command(alone)


def _typer(**options: Any) -> typer.Typer:
    return typer.Typer(
        pretty_exceptions_enable=False,
        # Panels on a terminal, plain lines in a pipe.
        rich_markup_mode="rich" if sys.stdout.isatty() else None,
        context_settings=HELP,
        **{"add_completion": False, "no_args_is_help": True, **options},
    )


def _epilog(title: str, lines: Iterable[str]) -> str:
    """Return the end of a help page: a title and lines below it."""
    indented = (f"  {line}" for line in lines)
    if sys.stdout.isatty():  # Rich joins lines and keeps paragraphs
        return "\n\n".join((title, *indented))
    return "\n".join(("\b", title, *indented))


CODES = _epilog("Exit codes:", (f"{code.value:<4} {meaning}" for code, meaning in MEANINGS.items()))
app = _typer(cls=_Main, epilog=CODES, add_completion=True)
app.add_typer(_typer(cls=_Topics, help="Ask a corpus about its words."), name="topics")


@app.callback(invoke_without_command=True)
def common(
    show_version: Annotated[
        bool, typer.Option("--version", "-V", help="Print the version and exit.")
    ] = False,
) -> None:
    """Many sparse regressions on one data set."""
    if show_version:
        typer.echo(sl.__version__)
        raise typer.Exit
