"""`sketchlasso cv`: the penalty that does best on rows it has not seen."""

from __future__ import annotations

from time import perf_counter
from typing import Annotated, Any

import numpy as np
import typer

import sketchlasso as sl
from sketchlasso.interfaces.commands.calibrating import Calibrate, calibrate, check_calibrate
from sketchlasso.interfaces.commands.data import Given, at_work, read_given
from sketchlasso.interfaces.commands.describe import coefficient_sheet, model_data, model_facts
from sketchlasso.interfaces.commands.fitting import Output, save, target_words
from sketchlasso.interfaces.commands.options import (
    AlphaMinRatio,
    Alphas,
    BlockOptions,
    DataOptions,
    Files,
    ModelOptions,
    Top,
    alphas_of,
)
from sketchlasso.interfaces.commands.report import Report, Sheet
from sketchlasso.interfaces.commands.screen import Screen

__all__ = ["cv"]


def cv(
    file: Files,
    data: DataOptions,
    blocks: BlockOptions,
    model: ModelOptions,
    screen: Screen,
    alphas: Alphas = "100",
    alpha_min_ratio: AlphaMinRatio = None,
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
    calibrated: Calibrate = None,
    output: Output = None,
    top: Top = 10,
) -> Report:
    """Choose penalty and radius by cross-validation.

    Then fit on all rows and write a model file.
    """
    given = read_given(file, data, blocks)
    classes = given.is_classification(model.classify)
    check_calibrate(calibrated, given.X, classes)
    kind: Any = sl.SqrtLassoClassifierCV if classes else sl.SqrtLassoCV
    metric = scoring or ("accuracy" if classes else "mse")
    start = perf_counter()
    words = f"{folds}-fold cross-validation"
    with screen.watching(words) as watch, at_work(given, blocks, watch):
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
        notes = calibrate(estimator, given.X, given.response, calibrated)
        wrote = save(estimator, given, output)
    curves = _curves(estimator)
    return Report(
        data={
            "command": "cv",
            "output": None if output is None else str(output),
            **_cv_data(estimator, given),
            "curves": curves,
            "seconds": seconds,
        },
        facts=(
            *_cv_facts(estimator, given, curves),
            ("seconds", f"{seconds:.2f}"),
            *notes,
            *wrote,
        ),
        sheets=(_curve_sheet(curves[0], metric), *coefficient_sheet(estimator, given.names, top)),
    )


def _cv_data(estimator: Any, given: Given) -> dict[str, Any]:
    return {
        "n_samples": given.X.shape[0],
        "target": given.target_name,
        **model_data(estimator, given.names),
        "folds": estimator.cv,
        "scoring": estimator.scoring,
        "selection": estimator.selection,
        "alpha_min": estimator.alpha_min_,
        "alpha_1se": estimator.alpha_1se_,
    }


def _cv_facts(
    estimator: Any, given: Given, curves: list[dict[str, Any]]
) -> tuple[tuple[str, str], ...]:
    return (
        ("data", given.words()),
        ("target", target_words(given)),
        *model_facts(estimator),
        (estimator.scoring, f"{_chosen_words(estimator, curves)}, {estimator.cv} folds"),
    )


def _splitter(folds: int, classes: bool, shuffle: bool, seed: int) -> Any:
    if not shuffle:
        return folds
    from sklearn.model_selection import KFold, StratifiedKFold

    kind = StratifiedKFold if classes else KFold
    return kind(folds, shuffle=True, random_state=seed)


def _curves(estimator: Any) -> list[dict[str, Any]]:
    """Penalties, mean scores and standard errors of every response; less those left out."""
    single = np.ndim(estimator.alphas_) == 1
    alphas = estimator.alphas_[None] if single else estimator.alphas_
    scores = estimator.score_path_[None] if single else estimator.score_path_
    used = np.atleast_1d(estimator.alpha_)
    curves = []
    for response in range(len(alphas)):
        tried = np.isfinite(scores[response]).any(axis=1)
        each, penalties = scores[response][tried], alphas[response][tried]
        spread = each.std(axis=1, ddof=1) / np.sqrt(each.shape[1])
        curves.append(
            {
                "alphas": penalties,
                "mean": each.mean(axis=1),
                "standard_error": spread,
                "chosen": int(np.argmin(np.abs(penalties - used[response]))),
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
