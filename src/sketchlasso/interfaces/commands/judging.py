"""`sketchlasso cv` and `sketchlasso loo`: how models do on rows they have not seen."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import numpy as np
import typer
from sklearn.model_selection import KFold, StratifiedKFold

import sketchlasso as sl
from sketchlasso.interfaces.commands.data import read_given
from sketchlasso.interfaces.commands.describe import coefficient_sheet, model_data, model_facts
from sketchlasso.interfaces.commands.fitting import Output, save, target_words
from sketchlasso.interfaces.commands.options import (
    DataOptions,
    File,
    ModelOptions,
    Top,
    alphas_of,
    penalty_of,
)
from sketchlasso.interfaces.commands.report import Report, Sheet
from sketchlasso.interfaces.commands.screen import Screen

__all__ = ["cv", "loo"]

# Left-out rows move the solution little: a coarse gap would not see it.
FINE = 1e-9


def cv(
    file: File,
    data: DataOptions,
    model: ModelOptions,
    screen: Screen,
    alphas: Annotated[
        str, typer.Option(help="How many penalties, or which ones, separated by commas.")
    ] = "100",
    alpha_min_ratio: Annotated[
        float | None, typer.Option(help="Smallest over largest automatic penalty.")
    ] = None,
    folds: Annotated[int, typer.Option(help="Number of folds.")] = 5,
    shuffle: Annotated[
        bool, typer.Option("--shuffle", help="Shuffle the rows before they are cut into folds.")
    ] = False,
    selection: Annotated[
        str, typer.Option(help="min: the best score; 1se: the sparsest within a standard error.")
    ] = "min",
    scoring: Annotated[
        str | None,
        typer.Option(help="mse, mae or r2; for classes accuracy, f1, auc or mse."),
    ] = None,
    output: Output = None,
    top: Top = 10,
) -> Report:
    """Choose penalty and radius by cross-validation.

    Then fit on all rows and write a model file.
    """
    given = read_given(file, data)
    classes = given.is_classification(model.classify)
    kind: Any = sl.SqrtLassoClassifierCV if classes else sl.SqrtLassoCV
    metric = scoring or ("accuracy" if classes else "mse")
    start = perf_counter()
    with screen.watching(f"{folds}-fold cross-validation") as watch:
        estimator = kind(
            alphas=alphas_of(alphas),
            alpha_min_ratio=alpha_min_ratio,
            cv=_splitter(folds, classes, shuffle, model.seed),
            scoring=metric,
            selection=selection,
            **model.estimator_parameters(given.X, watch),
        ).fit(given.X, given.response)
    seconds = perf_counter() - start
    estimator.set_params(cv=folds)
    curves = _curves(estimator)
    return Report(
        data={
            "command": "cv",
            "output": None if output is None else str(output),
            "n_samples": given.X.shape[0],
            "target": given.target_name,
            **model_data(estimator, given.names),
            "folds": folds,
            "scoring": metric,
            "selection": selection,
            "alpha_min": estimator.alpha_min_,
            "alpha_1se": estimator.alpha_1se_,
            "curves": curves,
            "seconds": seconds,
        },
        facts=(
            ("data", given.words()),
            ("target", target_words(given)),
            *model_facts(estimator),
            (metric, f"{_chosen_words(estimator, curves)}, {folds} folds"),
            ("seconds", f"{seconds:.2f}"),
            *save(estimator, given, output),
        ),
        sheets=(_curve_sheet(curves[0], metric), *coefficient_sheet(estimator, given.names, top)),
    )


def loo(
    file: File,
    data: DataOptions,
    model: ModelOptions,
    screen: Screen,
    alpha: Annotated[
        str | None, typer.Option(help="Penalty: a number, or pivotal (the default).")
    ] = None,
    from_model: Annotated[
        Path | None,
        typer.Option("--model", show_default=False, help="Take penalty and radius from a model."),
    ] = None,
    rows: Annotated[
        int | None, typer.Option(help="Leave out so many rows, drawn at random; all by default.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", show_default=False, help="Table to write, one row a left-out row."
        ),
    ] = None,
    top: Annotated[int, typer.Option(help="How many influential rows to show.", min=0)] = 5,
) -> Report:
    """Leave every row out once, and tell which rows matter.

    Each row is predicted by a model of its own that has not seen it.
    """
    model.refuse("loo", "relaxed", "refine")
    given = read_given(file, data)
    y, classes = given.signs(model.classify)
    X, _ = model.scaled(given.X)
    level, radius = _penalty(alpha, from_model, model, X)
    start = perf_counter()
    with screen.watching("leave-one-out") as watch:
        sketch = model.make_sketch(X, y, needed=True)
        assert sketch is not None
        found = sl.leave_one_out(
            sketch,
            X,
            y,
            alpha=level,
            radius=radius,
            rows=_drawn(rows, len(y), model.seed),
            fit_intercept=model.intercept,
            nonnegative=model.positive,
            solver=model.solver,  # type: ignore[arg-type]
            settings=model.settings(watch, min(model.tol, FINE)),
        )
    seconds = perf_counter() - start
    scores = _scores(found, y, classes)
    table = _loo_table(found)
    if output is not None:
        sl.write_table(output, table)
    return Report(
        data={
            "command": "loo",
            "output": None if output is None else str(output),
            "target": given.target_name,
            "alpha": level,
            "scores": scores,
            **{name: table.X[:, j] for j, name in enumerate(table.feature_names or ())},
            "worst_gap": float(found.relative_gap.max()),
            "seconds": seconds,
        },
        facts=(
            ("data", given.words()),
            ("target", target_words(given, classes)),
            ("sketch", repr(sketch)),
            ("alpha", f"{level:.4g}"),
            *((name, f"{value:.4f}") for name, value in scores.items()),
            ("rows", f"{len(found.rows)} left out, one at a time, in {seconds:.2f} s"),
            ("gap", f"{found.relative_gap.max():.1e} relative, at worst"),
            *((("wrote", str(output)),) if output else ()),
        ),
        sheets=_influence_sheet(found, top),
    )


def _splitter(folds: int, classes: bool, shuffle: bool, seed: int) -> Any:
    if not shuffle:
        return folds
    kind = StratifiedKFold if classes else KFold
    return kind(folds, shuffle=True, random_state=seed)


def _curves(estimator: Any) -> list[dict[str, Any]]:
    """Penalties, mean scores and standard errors of every response."""
    single = np.ndim(estimator.alphas_) == 1
    alphas = estimator.alphas_[None] if single else estimator.alphas_
    scores = estimator.score_path_[None] if single else estimator.score_path_
    used = np.atleast_1d(estimator.alpha_)
    curves = []
    for response in range(len(alphas)):
        each = scores[response]
        spread = each.std(axis=1, ddof=1) / np.sqrt(each.shape[1])
        curves.append(
            {
                "alphas": alphas[response],
                "mean": each.mean(axis=1),
                "standard_error": spread,
                "chosen": int(np.argmin(np.abs(alphas[response] - used[response]))),
            }
        )
    return curves


def _chosen_words(estimator: Any, curves: list[dict[str, Any]]) -> str:
    means = [curve["mean"][curve["chosen"]] for curve in curves]
    if len(means) > 1:
        return f"{np.mean(means):.4g} on average over {len(means)} classes or targets"
    error = curves[0]["standard_error"][curves[0]["chosen"]]
    return f"{means[0]:.4g} +- {error:.2g} on held-out rows"


def _curve_sheet(curve: dict[str, Any], metric: str) -> Sheet:
    """The scores of about ten penalties, the chosen one among them."""
    count = len(curve["alphas"])
    places = np.unique(np.linspace(0, count - 1, min(count, 10)).round().astype(int))
    places = np.union1d(places, [curve["chosen"]])
    rows = tuple(
        (
            float(curve["alphas"][k]),
            float(curve["mean"][k]),
            float(curve["standard_error"][k]),
            "chosen" if k == curve["chosen"] else "",
        )
        for k in places
    )
    title = f"{len(rows)} of {count} penalties"
    return Sheet(title, ("alpha", metric, "standard error", ""), rows)


def _penalty(
    alpha: str | None, from_model: Path | None, model: ModelOptions, X: Any
) -> tuple[float, Any]:
    """Penalty and radius of leave-one-out."""
    if from_model is None:
        level = penalty_of(alpha or "pivotal")
        if isinstance(level, str):
            level = sl.pivotal_alpha(X, fit_intercept=model.intercept)
        return level, model.radius
    if alpha is not None:
        raise sl.InvalidInputError(
            "--alpha and --model were given, but both name the penalty; give one of them."
        )
    stored = sl.load_model(from_model)
    if np.size(getattr(stored, "alpha_", ())) != 1:
        raise sl.InvalidInputError(
            f"{from_model} holds several models, but leave-one-out takes one penalty; give it by "
            "--alpha."
        )
    level = float(np.ravel(stored.alpha_)[0])
    return level, float(np.ravel(stored.radius_)[0]) if model.radius is None else model.radius


def _drawn(count: int | None, total: int, seed: int) -> Any:
    if count is None:
        return None
    if not 1 <= count <= total:
        raise sl.InvalidInputError(
            f"--rows {count} was given, but the data have {total} rows; give 1 to {total}."
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


def _loo_table(found: sl.LeaveOneOut) -> sl.Table:
    columns = {
        "row": found.rows,
        "prediction": found.predictions,
        "residual": found.residuals,
        "coefficient_shift": found.coefficient_shift,
        "features_gained": found.features_gained,
        "features_lost": found.features_lost,
    }
    values = np.column_stack([np.asarray(part, dtype=np.float64) for part in columns.values()])
    return sl.Table(values, None, tuple(columns))


def _influence_sheet(found: sl.LeaveOneOut, top: int) -> tuple[Sheet, ...]:
    order = np.argsort(-found.coefficient_shift, kind="stable")[:top]
    if len(order) == 0:
        return ()
    rows = tuple(
        (
            int(found.rows[k]),
            float(found.residuals[k]),
            float(found.coefficient_shift[k]),
            int(found.features_gained[k]),
            int(found.features_lost[k]),
        )
        for k in order
    )
    heads = ("row", "residual", "coefficient shift", "gained", "lost")
    return (Sheet("most influential rows", heads, rows),)
