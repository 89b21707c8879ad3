"""`sketchlasso sketch` and `path`: data compressed once, and many penalties on them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import numpy as np

import sketchlasso as sl
from sketchlasso.interfaces.commands import options
from sketchlasso.interfaces.commands.data import Given, at_work, read_given
from sketchlasso.interfaces.commands.describe import EFFECT, all_names, feature_name
from sketchlasso.interfaces.commands.outputs import check_table, panels, save_picture, write_columns
from sketchlasso.interfaces.commands.report import Report, Sheet, evenly
from sketchlasso.interfaces.commands.screen import Screen
from sketchlasso.types import FloatArray, IntArray

# Penalties of a path that are listed.
SHOWN = 20
# Features listed per penalty.
NEW_SHOWN = 4


def make_sketch(
    file: options.Files,
    data: options.BlockOptions,
    screen: Screen,
    output: Annotated[Path, "The sketch file to write."],
    rank: Annotated[int | None, "Rank; 50, or what the data allow, by default."] = None,
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
    with screen.watching("sketching") as watch, at_work(given, data, watch):
        found = sl.sketch(
            given.X,
            y,
            method=method,  # type: ignore[arg-type]
            tol=tol,
            center=center,
            scale=scale,
            radius=options.number_or_name(radius),
            random_state=seed,
            **size,
        )
        found.save(output)
    return Report(sketch_data(found), text=found.summary())


def sketch_words(found: sl.Sketch | None) -> str:
    """Describe a sketch, or that there is none, in a few words."""
    if found is None:
        return "none, the full problem"
    return f"{found.method}, rank {found.rank}, radius {found.radius:.4g}"


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


def path(
    file: options.Files,
    data: options.BlockOptions,
    model: options.ModelOptions,
    screen: Screen,
    alphas: options.Alphas = "100",
    alpha_min_ratio: options.AlphaMinRatio = None,
    output: Annotated[
        Path | None,
        "Table to write (.csv, .tsv, .parquet, .npz): alpha, intercept, features ever used.",
    ] = None,
    plot: Annotated[
        Path | None, "Picture of the path, at the first radius (.png, .svg, .pdf)."
    ] = None,
    verbose: options.Verbose = False,
) -> Report:
    """Solve for many penalties at once.

    Lists how many features each penalty leaves, and which ones are new.
    """
    model.refuse("path", "relaxed")
    check_table(output)
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
            alphas=options.alphas_of(alphas),
            alpha_min_ratio=alpha_min_ratio,
            radius=options.radii_of(model.radius),
            fit_intercept=model.intercept,
            positive=model.positive,
            solver=model.solver,  # type: ignore[arg-type]
            settings=model.settings(watch),
        )
        columns = _columns(found, X, y)
    seconds = perf_counter() - start
    if not np.any(found.models.n_nonzero):
        warnings.warn(
            sl.errors.EmptyModelWarning("no feature is used at any of these penalties"),
            stacklevel=2,
        )
    printed = write_columns(output, _coefficient_columns(found, columns, scales, given))
    if plot is not None:
        axes = panels([["path"]])["path"]
        sl.plots.plot_path(found, feature_names=all_names(given.names, X.shape[1]), ax=axes)
        if scales is not None:
            axes.set_ylabel(EFFECT)
        save_picture(axes, plot)
    return Report(
        data={
            "n_samples": given.X.shape[0],
            "n_features": given.X.shape[1],
            "target": given.target_name,
            **columns,
            "seconds": seconds,
        },
        facts=(
            *given.facts(classes),
            *((("sketch", sketch_words(sketch)), ("seconds", f"{seconds:.2f}")) if verbose else ()),
        ),
        sheets=_sheets(found, columns, given.names, verbose),
        outcome=printed,
        fell_short=not np.any(found.models.n_nonzero),
    )


def _columns(found: sl.Path, X: Any, y: Any) -> dict[str, Any]:
    """Return columns with one entry per instance, in the order of targets, radii, penalties."""
    targets, *rest = found.alphas.shape
    several = {"response": np.repeat(np.arange(1, targets + 1), np.prod(rest))}
    return {
        **(several if targets > 1 else {}),
        "alpha": found.alphas.ravel(),
        "radius": found.radius,
        "nonzero": found.models.n_nonzero,
        "objective": found.primal,
        "gap": found.relative_gap,
        "full_gap": found.certificate(X, y).relative_gap,
    }


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
        places = among[evenly(len(among), SHOWN)]
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


def _new_features(coef: Any, places: IntArray, names: Sequence[str] | None) -> list[str]:
    """Name features of the models `places` of coef (B, n) that the model listed before lacks."""
    found, before = [], np.array([], dtype=np.intp)
    for k in places:
        row = coef[[k]]
        used = row.indices[row.data != 0]
        size = np.abs(row.data[row.data != 0])
        order = [j for j in used[np.argsort(-size, kind="stable")] if j not in before]
        listed = [feature_name(names, int(j)) for j in order[:NEW_SHOWN]]
        found.append(", ".join([*listed, *(["..."] if len(order) > NEW_SHOWN else [])]))
        before = used
    return found


def _coefficient_columns(
    found: sl.Path, columns: dict[str, Any], scales: FloatArray | None, given: Given
) -> dict[str, Any]:
    """Return a table of the penalties, intercepts and coefficients of features ever used."""
    coef = found.models.coef
    used = np.unique(coef.indices[coef.data != 0])
    values = coef[:, used].toarray() / (1.0 if scales is None else scales[used])
    first = ("response", "alpha")
    table: dict[str, Any] = {name: columns[name] for name in first if name in columns}
    table["intercept"] = found.models.intercept
    for j, column in zip(used, values.T, strict=True):
        name = feature_name(given.names, int(j))
        table[f"{name} (feature)" if name in table else name] = column
    return table
