"""`sketchlasso sketch`, `path` and `loo`: data compressed once, and many problems on them."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import numpy as np
import typer

import sketchlasso as sl
from sketchlasso.errors import InvalidInputError
from sketchlasso.interfaces.commands.data import Given, at_work, read_given
from sketchlasso.interfaces.commands.describe import feature_name
from sketchlasso.interfaces.commands.options import (
    AlphaMinRatio,
    Alphas,
    BlockOptions,
    DataOptions,
    Device,
    Files,
    ModelOptions,
    Seed,
    alphas_of,
    number_or_name,
    penalty_of,
    radii_of,
)
from sketchlasso.interfaces.commands.outputs import check_table, write_columns
from sketchlasso.interfaces.commands.report import Report, Sheet, evenly
from sketchlasso.interfaces.commands.screen import Screen, Watcher

# Penalties of a path that are listed.
SHOWN = 20
# Leaving a row out moves the solution little, which a coarse gap would not show.
FINE = 1e-9


def make_sketch(
    file: Files,
    data: DataOptions,
    blocks: BlockOptions,
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
    return Report(sketch_data(found), text=found.summary())


def sketch_words(found: sl.Sketch) -> str:
    """Describe a sketch in a few words."""
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
    file: Files,
    data: DataOptions,
    blocks: BlockOptions,
    model: ModelOptions,
    screen: Screen,
    alphas: Alphas = "100",
    alpha_min_ratio: AlphaMinRatio = None,
    output: Annotated[
        Path | None,
        "Table to write (.csv, .tsv, .parquet, .npz): alpha, intercept, features ever used.",
    ] = None,
) -> Report:
    """Solve for many penalties at once, each with its duality gap."""
    model.refuse("path", "relaxed")
    check_table(output)
    given = read_given(file, data, blocks, needs_target=True)
    y, classes = given.signs(model.classify)
    X, scales = model.scaled(given.X)
    start = perf_counter()
    with screen.watching("solving the path") as watch, at_work(given, blocks, watch):
        sketch = model.make_sketch(X, y, needed=False)
        found = sl.sqrt_lasso_path(
            X,
            y,
            sketch,
            alphas=alphas_of(alphas),
            alpha_min_ratio=alpha_min_ratio,
            radius=radii_of(model.radius),
            refine="exact" if model.refine and sketch is not None else None,
            fit_intercept=model.intercept,
            positive=model.positive,
            solver=model.solver,  # type: ignore[arg-type]
            settings=model.settings(watch),
        )
        columns = _columns(found)
    seconds = perf_counter() - start
    if output is not None:
        sl.io.write_table(output, _coefficient_table(found, scales, given))
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
            ("sketch", "none, the full problem" if sketch is None else sketch_words(sketch)),
            ("seconds", f"{seconds:.2f}"),
        ),
        sheets=(_thinned(columns),),
    )


def _columns(found: sl.Path) -> dict[str, Any]:
    """Return columns with one entry per instance, in the order of radii, then penalties."""
    return {
        "alpha": found.alphas.ravel(),
        "radius": found.radius,
        "nonzero": found.models.n_nonzero,
        "objective": found.primal,
        "gap": found.relative_gap,
        "full_gap": found.full_gap,
    }


def _thinned(columns: dict[str, Any]) -> Sheet:
    """List instances that are evenly spaced, with the first and the last."""
    rows = tuple(zip(*columns.values(), strict=True))
    places = evenly(len(rows), SHOWN)
    shown = f"{len(places)} of {len(rows)}" if len(places) < len(rows) else str(len(rows))
    heads = tuple(name.replace("_", " ") for name in columns)
    return Sheet(f"{shown} penalties", heads, tuple(rows[k] for k in places))


def _coefficient_table(found: sl.Path, scales: Any, given: Given) -> sl.io.Table:
    coef = found.models.coef
    used = np.unique(coef.indices[coef.data != 0])
    values = coef[:, used].toarray()
    if scales is not None:
        values = values / scales[used]
    names = (feature_name(given.names, int(j)) for j in used)
    first = ("alpha", "intercept")
    return sl.io.Table(
        np.column_stack([found.alphas.ravel(), found.models.intercept, values]),
        None,
        (*first, *(f"{name} (feature)" if name in first else name for name in names)),
    )


def loo(
    file: Files,
    data: DataOptions,
    blocks: BlockOptions,
    model: ModelOptions,
    screen: Screen,
    alpha: Annotated[str | None, "Penalty: a number, or pivotal (the default)."] = None,
    from_model: Annotated[
        Path | None, typer.Option("--model", help="Take penalty and radius from a model.")
    ] = None,
    rows: Annotated[
        int | None, "How many rows to leave out, drawn at random; all by default."
    ] = None,
    output: Annotated[Path | None, "Table to write, one row per left-out row."] = None,
    top: Annotated[int, typer.Option(help="How many influential rows to show.", min=0)] = 5,
) -> Report:
    """Leave every row out once, and report which rows matter.

    Each row is predicted by a model that was fitted without it.
    """
    model.refuse("loo", "relaxed", "refine")
    check_table(output)
    given = read_given(file, data, blocks, needs_target=True)
    y, classes = given.signs(model.classify)
    stored = None if from_model is None else _stored(from_model, alpha)
    X, _ = model.scaled(given.X, stored)
    chosen = _drawn(rows, len(y), model.seed)
    start = perf_counter()
    with screen.watching("leave-one-out") as watch, at_work(given, blocks, watch):
        level, radius = _penalty(alpha, stored, model, X)
        sketch, found = _leave_out(model, X, y, chosen, watch, alpha=level, radius=radius)
    seconds = perf_counter() - start
    given.note_on_gaps("gaps were filled from all rows before rows were left out")
    scores = _scores(found, y, classes)
    numbers = given.rows[found.rows] + 1
    columns = {
        "prediction": found.predictions,
        "residual": found.residuals,
        "coefficient_shift": found.coefficient_shift,
        "features_gained": found.features_gained.astype(np.float64),
        "features_lost": found.features_lost.astype(np.float64),
    }
    write_columns(output, columns, rows=numbers)
    return Report(
        data={
            "target": given.target_name,
            "alpha": level,
            "scores": scores,
            "row": numbers,
            **columns,
            "worst_gap": float(found.relative_gap.max()),
            "seconds": seconds,
        },
        facts=(
            *given.facts(classes),
            ("sketch", sketch_words(sketch)),
            ("alpha", f"{level:.4g}"),
            *((name, f"{value:.4f}") for name, value in scores.items()),
            ("rows", f"{len(found.rows)} left out, one at a time, in {seconds:.2f} s"),
            ("gap", f"{found.relative_gap.max():.1e} relative, at worst"),
        ),
        sheets=_influence_sheet(found, numbers, top),
    )


def _leave_out(
    model: ModelOptions, X: Any, y: Any, rows: Any, watch: Watcher | None, **level: Any
) -> tuple[sl.Sketch, sl.LeaveOneOut]:
    sketch = model.make_sketch(X, y, needed=True)
    assert sketch is not None
    found = sl.leave_one_out(
        sketch,
        X,
        y,
        rows=rows,
        fit_intercept=model.intercept,
        positive=model.positive,
        solver=model.solver,  # type: ignore[arg-type]
        settings=model.settings(watch, min(model.tol, FINE)),
        **level,
    )
    return sketch, found


def _penalty(alpha: str | None, stored: Any, model: ModelOptions, X: Any) -> tuple[float, Any]:
    """Return penalty and radius of leave-one-out."""
    if stored is None:
        level = penalty_of(alpha or "pivotal")
        if isinstance(level, str):
            level = sl.pivotal_alpha(X, fit_intercept=model.intercept)
        return level, model.radius
    level = float(np.ravel(stored.alpha_)[0])
    return level, float(np.ravel(stored.radius_)[0]) if model.radius is None else model.radius


def _stored(from_model: Path, alpha: str | None) -> Any:
    """Return the model that --model names, which must have one penalty for all features."""
    if alpha is not None:
        raise InvalidInputError(
            "--alpha and --model were given, but both name the penalty; give one of them."
        )
    stored = sl.load_model(from_model)
    if np.size(getattr(stored, "alpha_", ())) != 1:
        raise InvalidInputError(
            f"{from_model} holds several models, but leave-one-out takes one penalty; give it by "
            "--alpha."
        )
    if hasattr(stored, "loadings_"):
        raise InvalidInputError(
            f"{from_model} has a rigorous penalty, with a loading for each feature, but "
            "leave-one-out takes one penalty for all; give it by --alpha."
        )
    return stored


def _drawn(count: int | None, total: int, seed: int) -> Any:
    if count is None:
        return None
    if not 1 <= count <= total:
        raise InvalidInputError(
            f"--rows must be from 1 to {total}, the number of rows, not {count}."
        )
    return np.sort(np.random.default_rng(seed).choice(total, count, replace=False))


def _scores(found: sl.LeaveOneOut, y: Any, classes: Any) -> dict[str, float]:
    mean_square = float(np.mean(found.residuals**2))
    if classes is not None:
        right = (found.predictions > 0) == (y[found.rows] > 0)
        return {"accuracy": float(np.mean(right)), "rmse": float(np.sqrt(mean_square))}
    spread = float(np.var(y[found.rows]))
    return {
        "rmse": float(np.sqrt(mean_square)),
        "r2": 1.0 - mean_square / spread if spread > 0 else float("nan"),
    }


def _influence_sheet(found: sl.LeaveOneOut, numbers: Any, top: int) -> tuple[Sheet, ...]:
    order = np.argsort(-found.coefficient_shift, kind="stable")[:top]
    if len(order) == 0:
        return ()
    rows = tuple(
        (
            int(numbers[k]),
            float(found.residuals[k]),
            float(found.coefficient_shift[k]),
            int(found.features_gained[k]),
            int(found.features_lost[k]),
        )
        for k in order
    )
    heads = ("row", "residual", "coefficient shift", "gained", "lost")
    return (Sheet("most influential rows", heads, rows),)
