"""`sketchlasso path`: many penalties at once."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

import sketchlasso as sl
from sketchlasso.interfaces.commands import options
from sketchlasso.interfaces.commands.data import Given, at_work, read_given
from sketchlasso.interfaces.commands.describe import EFFECT, all_names, feature_name
from sketchlasso.interfaces.commands.outputs import PlotOptions, TableOptions, panels
from sketchlasso.interfaces.commands.screen import Report, Screen, Sheet, evenly
from sketchlasso.interfaces.commands.sketch import sketch_words


@dataclass(frozen=True)
class GridOptions:
    """Which penalties."""

    alphas: options.Alphas = "100"
    alpha_min_ratio: options.AlphaMinRatio = None

    def __post_init__(self) -> None:
        options.alphas_of(self.alphas)


def path(
    file: options.Files,
    data: options.BlockOptions,
    model: options.ModelOptions,
    grid: GridOptions,
    table: TableOptions,
    picture: PlotOptions,
    screen: Screen,
    verbose: options.Verbose = False,
) -> Report:
    """Solve for many penalties at once.

    Lists how many features each penalty leaves, and which ones are new. The table has penalties,
    intercepts and the coefficients of features ever used.
    """
    model.refuse_relaxed("path")
    given = read_given(file, data, needs_target=True)
    y, classes = given.signs(model.classify, single=False)
    X, scales = model.scaled(given.X)
    start = perf_counter()
    with screen.watching("solving the path") as watch, at_work(given, data, watch):
        sketch = model.make_sketch(X, y, needed=False)
        found = sl.sqrt_lasso_path(
            X,
            y,
            sketch,
            alphas=options.alphas_of(grid.alphas),
            alpha_min_ratio=grid.alpha_min_ratio,
            radius=model.radii(),
            fit_intercept=model.intercept,
            positive=model.positive,
            solver=model.solver,
            settings=model.settings(watch),
        )
        full_gap = found.certificate(X, y).relative_gap
    seconds = perf_counter() - start
    is_empty = not np.any(found.models.n_nonzero)
    if is_empty:
        words = "no feature is used at any of these penalties"
        warnings.warn(sl.errors.EmptyModelWarning(words), stacklevel=2)
    targets, *rest = found.alphas.shape
    several = {"response": np.repeat(np.arange(1, targets + 1), np.prod(rest))}
    columns = {
        **(several if targets > 1 else {}),
        "alpha": found.alphas.ravel(),
        "radius": found.radius,
        "nonzero": found.models.n_nonzero,
        "objective": found.primal,
        "gap": found.relative_gap,
        "full_gap": full_gap,
    }
    printed = table.write(_coefficient_columns(found, columns, scales, given))
    if picture.plot is not None:
        axes = panels([["path"]])["path"]
        sl.plots.plot_path(found, feature_names=all_names(given.names, X.shape[1]), ax=axes)
        if scales is not None:
            axes.set_ylabel(EFFECT)
        picture.save(axes)
    details = (("sketch", sketch_words(sketch)), ("seconds", f"{seconds:.2f}"))
    return Report(
        data={
            "n_samples": given.X.shape[0],
            "n_features": given.X.shape[1],
            "target": given.target_name,
            **columns,
            "seconds": seconds,
        },
        facts=(*given.facts(classes), *(details if verbose else ())),
        sheets=_sheets(found, columns, given.names, verbose),
        outcome=printed,
        fell_short=is_empty,
    )


def _sheets(
    found: sl.Path, columns: dict[str, Any], names: Sequence[str] | None, verbose: bool
) -> tuple[Sheet, ...]:
    """List penalties of every target that are evenly spaced, with the first and the last."""
    numbers = columns.get("response", np.ones(len(columns["alpha"]), dtype=int))
    several = len(np.unique(columns["radius"])) > 1
    kept = ("alpha", "radius", "nonzero") if several else ("alpha", "nonzero")
    sheets = []
    for t in range(1, numbers[-1] + 1):
        among = np.flatnonzero(numbers == t)
        places = among[evenly(len(among), 20)]
        shown = {
            name.replace("_", " "): column[places]
            for name, column in columns.items()
            if name in kept or (verbose and name != "response")
        }
        if not verbose:
            shown["new features"] = _new_features(found.models.coef, places, names)
        some = f"{len(places)} of {len(among)}" if len(places) < len(among) else str(len(among))
        title = f"{some} penalties" + (f" of target {t}" if numbers[-1] > 1 else "")
        sheets.append(Sheet(title, tuple(shown), tuple(zip(*shown.values(), strict=True))))
    return tuple(sheets)


def _new_features(coef: Any, places: Any, names: Sequence[str] | None) -> list[str]:
    """Name features of the models `places` of coef (B, n) that the model listed before lacks."""
    found, before = [], np.array([], dtype=np.intp)
    for k in places:
        row = coef[[k]]
        used = row.indices[row.data != 0]
        size = np.abs(row.data[row.data != 0])
        order = [j for j in used[np.argsort(-size, kind="stable")] if j not in before]
        listed = [feature_name(names, int(j)) for j in order[:4]]
        found.append(", ".join([*listed, *(["..."] if len(order) > 4 else [])]))
        before = used
    return found


def _coefficient_columns(
    found: sl.Path, columns: dict[str, Any], scales: Any, given: Given
) -> dict[str, Any]:
    """Return a table of the penalties, intercepts and coefficients of features ever used."""
    coef = found.models.coef
    used = np.unique(coef.indices[coef.data != 0])
    values = coef[:, used].toarray() / (1.0 if scales is None else scales[used])
    table: dict[str, Any] = {
        name: columns[name] for name in ("response", "alpha") if name in columns
    }
    table["intercept"] = found.models.intercept
    for j, column in zip(used, values.T, strict=True):
        name = feature_name(given.names, int(j))
        table[f"{name} (feature)" if name in table else name] = column
    return table
