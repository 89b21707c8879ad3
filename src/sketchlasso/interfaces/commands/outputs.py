"""Files that commands write: checks before the work, tables, pictures, graphs."""

from __future__ import annotations

import csv
import gzip
import io
import os
import re
import sys
from collections.abc import Iterable, Mapping
from glob import glob
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import numpy as np

import sketchlasso as sl
from sketchlasso.errors import (
    InvalidInputError,
    MissingExtraError,
    SketchlassoError,
    StoredFileError,
)
from sketchlasso.interfaces.commands.report import Report, Sheet
from sketchlasso.storage import replacing

COMPRESSED = (".gz", ".bz2", ".xz")
TEXT = (".csv", ".tsv", ".tab")
NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d*)?([eE][-+]?\d+)?")
BINARY = (".parquet", ".pq", ".feather", ".arrow", ".ipc", ".npz", ".npy", ".mtx")
PICTURES = (".png", ".svg", ".pdf")
CREATOR = "sketchlasso"  # in the metadata of pictures
# What pictures and graphs that sketchlasso wrote have near their beginning.
OWN_MARKS = (CREATOR.encode(), b'attr.name="rule"', b'title="sign"', b'{"rule": ')
BEGINNING = 4096
# Columns by which its tables are known.
OWN_HEADS = (
    {"alpha", "intercept"},
    {"prediction"},
    {"feature", "estimate", "standard_error"},
    {"feature", "frequency", "selected"},
    {"source", "target", "weight", "sign"},
)
# Inches of one panel.
PANEL = (5.2, 4.0)
COMMUNITIES_SHOWN, MEMBERS_SHOWN = 12, 8


GraphFile = Annotated[
    Path,
    "The graph to write: .graphml, .gexf, .json (nodes and links) or .csv (links only).",
]


def check_outputs(
    written: Mapping[str, Path | None], values: Iterable[Any], force: bool = False
) -> None:
    """Refuse, before the work, files that cannot be written or would replace what is read.

    `written` are those of --output and --plot, and the folder of topics export; `values` are all
    other arguments. Folders and patterns among them stand for the files that they lead to, and
    text for the file of this name if there is one. Files that sketchlasso did not write are
    replaced only by `force`.
    """
    read = _read_by(values)
    for name, path in written.items():
        if path is None or str(path) == "-":
            continue
        if not path.absolute().parent.is_dir():
            raise StoredFileError(
                f"{path} could not be written, because there is no folder {path.parent}; choose "
                "a path in a folder that exists."
            )
        if name == "plot" and path.suffix.lower() not in PICTURES:
            _refuse(path, "a picture", ".png, .svg or .pdf")
        target = _real(path)
        if target in read or (target.exists() and any(map(read.__contains__, target.parents))):
            raise InvalidInputError(
                f"{path} would replace a file that this command reads or writes; choose another "
                "name."
            )
        read.add(target)
        if not (force or _own(path)):
            raise InvalidInputError(
                f"{path} exists and was not written by this command; choose another name, or give "
                "--force to replace it."
            )


def _read_by(values: Iterable[Any]) -> set[Path]:
    read: set[Path] = set()
    for value in values:
        some: list[Any] = value if isinstance(value, list) else [value]
        for one in some:
            if isinstance(one, Path):
                read |= {_real(one), *map(_real, glob(str(one), recursive=True))}
            elif isinstance(one, str) and Path(one).is_file():
                read.add(_real(one))
    return read


def _real(path: str | Path) -> Path:
    return Path(os.path.realpath(path))


def _own(path: Path) -> bool:
    """Return whether a path is free, or of a file that sketchlasso wrote, by how it begins."""
    if path.is_dir():
        return (path / "topics.json").exists() or not any(path.iterdir())
    if not path.is_file() or path.stat().st_size == 0:
        return True
    try:
        with gzip.open(path) if path.suffix.lower() == ".gz" else open(path, "rb") as file:
            content = file.read(-1 if path.suffix.lower() == ".pdf" else BEGINNING)
        first = content.partition(b"\n")[0].decode(errors="replace").strip()
        heading = set(first.replace('"', "").replace("\t", ",").split(","))
        if any(mark in content for mark in OWN_MARKS):
            return True
        if any(head <= heading for head in OWN_HEADS):
            return True
        sl.io.stored_info(path)
    except (SketchlassoError, OSError, EOFError):
        return False
    return True


def check_table(path: Path | None) -> None:
    """Refuse, before the work, a file name that does not end like a table."""
    if path is None or str(path) == "-":
        return
    ending = _ending(path)
    if ending not in TEXT and (ending not in BINARY or path.suffix.lower() in COMPRESSED):
        _refuse(path, "a table", ".csv, .tsv, .parquet, .feather, .npz, .npy or .mtx")


def _numbers(values: Any) -> Any:
    """Return a column of text (m,) as numbers, if all of it is; codes such as 007 stay text."""
    if values.dtype.kind not in "UO" or not all(map(NUMBER.fullmatch, values)):
        return values
    return values.astype(np.float64)


def write_columns(path: Path | None, columns: Mapping[str, Any]) -> str:
    """Write columns (m,) of numbers, text or yes and no as a table; return it for stdout.

    A path of - stands for stdout.
    """
    if path is None:
        return ""
    arrays = {name: np.asarray(values) for name, values in columns.items()}
    ending = _ending(path)
    if str(path) == "-" or ending in TEXT:
        text = as_csv(arrays, "\t" if ending in TEXT[1:] else ",")
        if str(path) == "-":
            return text
        with replacing(path, compress=True) as file:
            file.write(text.encode())
    elif ending in (".parquet", ".pq", ".feather", ".arrow", ".ipc"):
        pa, feather, parquet = map(import_module, ("pyarrow", "pyarrow.feather", "pyarrow.parquet"))
        table = pa.table({name: _numbers(values) for name, values in arrays.items()})
        with replacing(path) as file:
            if ending.startswith(".p"):
                parquet.write_table(table, file)
            else:
                feather.write_feather(table, file)
    else:
        texts = [name for name, values in arrays.items() if values.dtype.kind in "UO"]
        numbers = {name: values for name, values in arrays.items() if name not in texts}
        if len(texts) > 1:
            raise InvalidInputError(
                f"{path} holds numbers, but {', '.join(texts)} are text; end the name in .csv."
            )
        X = np.column_stack([values.astype(np.float64) for values in numbers.values()])
        y = arrays[texts[0]] if texts else None
        sl.io.write_table(path, sl.io.Table(X, y, tuple(numbers), texts[0] if texts else None))
    return ""


def as_csv(columns: Mapping[str, Any], separator: str = ",", header: bool = True) -> str:
    """Return columns as lines for programs, numbers with all digits, booleans as true and false."""
    lists = [
        ["true" if value else "false" for value in values]
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
    suffix = path.suffix.lower()
    return (Path(path.stem).suffix if suffix in COMPRESSED else suffix).lower()


def panels(names: list[Any], height: float | None = None) -> dict[str, Any]:
    """Return the axes of a figure, by name; a name in several places is one panel.

    `names` lists the panels of each row, from left to right; `height` is in inches.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as missing:
        raise MissingExtraError("--plot", "matplotlib", "plot") from missing
    width, each = PANEL
    size = (width * len(names[0]), height or 0.8 + (each - 0.8) * len(names))
    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)  # measures text
    axes: dict[str, Any] = figure.subplot_mosaic(names)
    return axes


def save_picture(axes: Any, path: Path) -> None:
    """Write the figure of axes to a checked path, completely or not at all, and close it."""
    kind = path.suffix[1:].lower()
    mark = {"Software" if kind == "png" else "Creator": CREATOR}
    try:
        with replacing(path) as file:
            axes.figure.savefig(file, format=kind, dpi=150, metadata=mark)
    finally:
        # pyplot would keep the figure until the process ends.
        pyplot = sys.modules.get("matplotlib.pyplot")
        if pyplot is not None:
            pyplot.close(axes.figure)


def check_graph_file(output: Path, communities: bool) -> None:
    """Refuse, before the work, a file that cannot hold its result."""
    if sl.graphs.graph_ending(output) == ".csv" and communities:
        raise InvalidInputError(
            f"--communities was given, but {output} is a list of links without a place for them; "
            "write .graphml, .gexf or .json."
        )


def write_graph(
    graph: Any, output: Path, communities: bool, seed: int, *, noun: str, verb: str
) -> Report:
    """Write a graph, with its communities if asked; report its size and the communities.

    A node is called a `noun`, and linked if it `verb` the other.
    """
    nodes, links = "words" if noun == "word" else "nodes", dict(graph.degree)
    alone = sum(number == 0 for number in links.values())
    either = "either" if graph.graph["rule"] == "or" else "each"
    data = {
        "rule": graph.graph["rule"],
        f"n_{nodes}": len(graph),
        "n_links": len(graph.edges),
        "n_isolated": alone,
        "communities": None,
    }
    facts = (
        (f"{noun}s", f"{len(graph)}, {alone} of them without links"),
        ("links", f"{len(graph.edges)}, if {either} {noun} {verb} the other"),
    )
    if not communities:
        sl.graphs.write_graph(output, graph)
        return Report(data, facts=facts)
    groups = sl.graphs.communities(graph, random_state=seed)
    for name, label in groups.items():
        graph.nodes[name]["community"] = label
    sl.graphs.write_graph(output, graph)
    found: list[dict[str, Any]] = []
    for label in range(max(groups.values(), default=-1) + 1):
        inside = [name for name, own in groups.items() if own == label]
        best = sorted(inside, key=links.__getitem__, reverse=True)[:MEMBERS_SHOWN]
        found.append({"size": len(inside), nodes: best})
    shown = found[:COMMUNITIES_SHOWN]
    title = f"{len(shown)} of {len(found)} communities, the most linked {nodes} of each"
    rows = tuple((one["size"], ", ".join(one[nodes])) for one in shown)
    return Report(
        {**data, "communities": found},
        facts=(*facts, ("communities", str(len(found)))),
        sheets=(Sheet(title, (nodes, "such as"), rows),),
    )


def _refuse(path: Path, what: str, endings: str) -> None:
    raise InvalidInputError(
        f"unknown format {path.suffix!r} of {what} in {path}; end the name in {endings}."
    )
