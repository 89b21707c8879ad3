"""Files that commands write: checks before the work, tables, pictures, graphs."""

from __future__ import annotations

import csv
import gzip
import io
import os
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from glob import glob
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

import sketchlasso as sl
from sketchlasso.errors import (
    InvalidInputError,
    MissingExtraError,
    SketchlassoError,
    StoredFileError,
)
from sketchlasso.interfaces.commands.screen import Report, Sheet, facts_of
from sketchlasso.storage import replacing

TEXT = (".csv", ".tsv", ".tab")
ARROW = (".parquet", ".pq", ".feather", ".arrow", ".ipc")
PICTURES = (".png", ".svg", ".pdf")
NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d*)?([eE][-+]?\d+)?")
CREATOR = "sketchlasso"  # in the metadata of pictures
# What pictures and graphs that sketchlasso wrote have near their beginning.
OWN_MARKS = (CREATOR.encode(), b'attr.name="rule"', b'title="sign"', b'{"rule": ')
# Columns by which its tables are known.
OWN_HEADS = (
    {"alpha", "intercept"},
    {"prediction"},
    {"feature", "estimate", "standard_error"},
    {"feature", "frequency", "selected"},
    {"source", "target", "weight", "sign"},
)

GraphFile = Annotated[
    Path,
    "The graph to write: .graphml, .gexf, .json (nodes and links) or .csv (links only).",
]


@dataclass(frozen=True)
class TableOptions:
    """Where a table of results is written."""

    output: Annotated[
        Path | None,
        "Table to write (.csv, .tsv, .parquet, .feather; - for stdout).",
    ] = None

    def __post_init__(self) -> None:
        if self.output is None or str(self.output) == "-":
            return
        if _ending(self.output) not in (*TEXT, *ARROW):
            raise _unknown(self.output, "a table", ".csv, .tsv, .parquet or .feather")

    def write(self, columns: Mapping[str, Any]) -> str:
        """Write columns (m,) of numbers, text or booleans, if asked; return text for stdout."""
        path, arrays = self.output, {name: np.asarray(part) for name, part in columns.items()}
        if path is None:
            return ""
        ending = _ending(path)
        if str(path) == "-" or ending in TEXT:
            text = as_csv(arrays, "\t" if ending in TEXT[1:] else ",")
            if str(path) == "-":
                return text
            with replacing(path, compress=True) as file:
                file.write(text.encode())
        else:
            pa, feather, parquet = map(
                import_module, ("pyarrow", "pyarrow.feather", "pyarrow.parquet")
            )
            table = pa.table({name: _numbers(values) for name, values in arrays.items()})
            write = parquet.write_table if ending.startswith(".p") else feather.write_feather
            with replacing(path) as file:
                write(table, file)
        return ""


@dataclass(frozen=True)
class PlotOptions:
    """Where a picture is written."""

    plot: Annotated[Path | None, "Picture to write (.png, .svg, .pdf)."] = None
    dpi: Annotated[int, typer.Option(help="Dots per inch of a picture.", min=10)] = 150

    def __post_init__(self) -> None:
        if self.plot is not None and self.plot.suffix.lower() not in PICTURES:
            raise _unknown(self.plot, "a picture", ".png, .svg or .pdf")

    def save(self, axes: Any) -> None:
        """Write the figure of axes, completely or not at all, and close it."""
        assert self.plot is not None
        kind = self.plot.suffix[1:].lower()
        mark = {"Software" if kind == "png" else "Creator": CREATOR}
        with replacing(self.plot) as file:
            axes.figure.savefig(file, format=kind, dpi=self.dpi, metadata=mark)
        if "matplotlib.pyplot" in sys.modules:  # it would keep the figure
            sys.modules["matplotlib.pyplot"].close(axes.figure)


def check_outputs(
    written: Mapping[str, Path | None], values: Iterable[Any], force: bool = False
) -> None:
    """Refuse, before the work, files that cannot be written or would replace what is read.

    `values` are all other arguments; folders and patterns stand for the files they lead to. Files
    that sketchlasso did not write are replaced only by `force`.
    """
    read: set[str] = set()
    for value in values:
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, str | Path) and (isinstance(one, Path) or Path(one).is_file()):
                read.update(map(os.path.realpath, (one, *glob(str(one), recursive=True))))
    for path in written.values():
        if path is None or str(path) == "-":
            continue
        if not path.absolute().parent.is_dir():
            raise StoredFileError(
                f"{path} could not be written, because there is no folder {path.parent}; choose "
                "a path in a folder that exists."
            )
        target = Path(os.path.realpath(path))
        if {str(target), *(map(str, target.parents) if target.exists() else ())} & read:
            raise InvalidInputError(
                f"{path} would replace a file that this command reads or writes; choose another "
                "name."
            )
        read.add(str(target))
        if not (force or _own(path)):
            raise InvalidInputError(
                f"{path} exists and was not written by this command; choose another name, or give "
                "--force to replace it."
            )


def _own(path: Path) -> bool:
    """Return whether a path is free, or of a file that sketchlasso wrote, by how it begins."""
    if path.is_dir():
        return (path / "topics.json").exists() or not any(path.iterdir())
    if not path.is_file() or path.stat().st_size == 0:
        return True
    try:
        with gzip.open(path) if path.suffix.lower() == ".gz" else open(path, "rb") as file:
            content = file.read(-1 if path.suffix.lower() == ".pdf" else 4096)
        first = content.partition(b"\n")[0].decode(errors="replace").strip()
        heading = set(first.replace('"', "").replace("\t", ",").split(","))
        if any(mark in content for mark in OWN_MARKS) or any(h <= heading for h in OWN_HEADS):
            return True
        sl.io.stored_info(path)
    except (SketchlassoError, OSError, EOFError):
        return False
    return True


def _numbers(values: Any) -> Any:
    """Return a column of text (m,) as numbers, if all of it is; codes such as 007 stay text."""
    if values.dtype.kind not in "UO" or not all(map(NUMBER.fullmatch, values)):
        return values
    return values.astype(np.float64)


def as_csv(columns: Mapping[str, Any], separator: str = ",", header: bool = True) -> str:
    """Return columns as lines for programs, numbers with all digits, booleans as true and false."""
    lists = [
        [str(value).lower() for value in values.tolist()]
        if values.dtype.kind == "b"
        else values.tolist()
        for values in map(np.asarray, columns.values())
    ]
    lines = io.StringIO()
    writer = csv.writer(lines, delimiter=separator, lineterminator="\n")
    if header:
        writer.writerow(columns)
    writer.writerows(zip(*lists, strict=True))
    return lines.getvalue()


def _ending(path: Path) -> str:
    """Return the ending of a name, that of text also before a compression."""
    compressed = path.suffix.lower() in (".gz", ".bz2", ".xz")
    inner = Path(path.stem).suffix.lower()
    return inner if compressed and inner in TEXT else path.suffix.lower()


def _unknown(path: Path, what: str, endings: str) -> InvalidInputError:
    return InvalidInputError(
        f"unknown format {path.suffix!r} of {what} in {path}; end the name in {endings}."
    )


def panels(names: list[Any], height: float | None = None) -> dict[str, Any]:
    """Return the axes of a figure, by name; a name in several places is one panel.

    `names` lists the panels of each row, from left to right; `height` is in inches.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as missing:
        raise MissingExtraError("--plot", "matplotlib", "plot") from missing
    size = (5.2 * len(names[0]), height or 0.8 + 3.2 * len(names))
    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)  # measures text
    axes: dict[str, Any] = figure.subplot_mosaic(names)
    return axes


def check_graph_file(output: Path, communities: bool) -> None:
    """Refuse, before the work, a file that cannot hold its result."""
    if sl.graphs.graph_ending(output) == ".csv" and communities:
        raise InvalidInputError(
            f"--communities was given, but {output} is a list of links without a place for them; "
            "write .graphml, .gexf or .json."
        )


def write_graph(graph: Any, output: Path, communities: bool, seed: int) -> Report:
    """Write a graph, with its communities if asked; report its size and the communities."""
    links = dict(graph.degree)
    data: dict[str, Any] = {
        "rule": graph.graph["rule"],
        "n_nodes": len(graph),
        "n_links": len(graph.edges),
        "n_isolated": sum(number == 0 for number in links.values()),
    }
    sheets: tuple[Sheet, ...] = ()
    if communities:
        members: dict[int, list[str]] = {}
        for name, number in sl.graphs.communities(graph, random_state=seed).items():
            graph.nodes[name]["community"] = number
            if number >= 0:
                members.setdefault(number, []).append(name)
        most = [sorted(members[k], key=links.__getitem__, reverse=True) for k in sorted(members)]
        data["communities"] = [{"size": len(names), "nodes": names[:8]} for names in most]
        rows = tuple((len(names), ", ".join(names[:8])) for names in most[:12])
        title = f"{len(rows)} of {len(most)} communities, the most linked nodes of each"
        sheets = (Sheet(title, ("nodes", "such as"), rows),)
    sl.graphs.write_graph(output, graph)
    return Report(data, facts_of(data), sheets)
