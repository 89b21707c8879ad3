"""`sketchlasso fit` and `sketchlasso cv`: a model of one penalty, given or chosen."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import numpy as np
from scipy import sparse

import sketchlasso as sl
from sketchlasso.errors import InvalidInputError
from sketchlasso.interfaces import Model
from sketchlasso.interfaces.commands.data import Given, at_work, read_given
from sketchlasso.interfaces.commands.describe import (
    draw_model,
    effect_sheet,
    listed_coefficients,
    model_data,
    model_words,
    score_of,
    solver_facts,
)
from sketchlasso.interfaces.commands.folds import (
    SearchOptions,
    chosen_words,
    curve_sheet,
    held_out_scores,
    score_curves,
)
from sketchlasso.interfaces.commands.options import (
    BlockOptions,
    DataOptions,
    Files,
    ModelOptions,
    Top,
    Verbose,
    alphas_of,
    check_choice,
    penalty_of,
)
from sketchlasso.interfaces.commands.report import Facts, Report
from sketchlasso.interfaces.commands.screen import Screen


@dataclass(frozen=True)
class ResultOptions:
    """What to do with a fitted model, and what to report of it."""

    calibrate: Annotated[
        str | None,
        "Keep what predict --interval needs: jackknife+ (each row left out) or cv+ (ten folds). "
        "The fit is repeated without these rows.",
    ] = None
    output: Annotated[Path | None, "The model file to write."] = None
    plot: Annotated[
        Path | None,
        "Picture of the path and the effects, in cv of the scores too (.png, .svg, .pdf).",
    ] = None
    top: Top = 10
    verbose: Verbose = False

    def check(self, given: Given, classes: bool) -> None:
        """Refuse, before the fit, a calibration that is impossible after it."""
        method = self.calibrate
        if method is None:
            return
        check_choice("--calibrate", method, ("jackknife+", "cv+"))
        if classes:
            raise InvalidInputError(
                "--calibrate was given for classes, but intervals are of numbers; leave it out, or "
                "give --regress."
            )
        if given.in_blocks:
            raise InvalidInputError(
                f"--calibrate {method} was given for data in blocks, but rows are left out of data "
                "in memory; leave it out, or read one file without --memory."
            )

    def finish(self, estimator: Model, given: Given) -> Facts:
        """Calibrate, draw and save a fitted model as asked; return facts about the calibration."""
        facts: Facts = ()
        method: Any = self.calibrate
        if method is not None:
            estimator.calibrate(given.X, given.response, method=method)
            given.note_on_gaps("--calibrate left rows out after gaps were filled from all rows")
            facts = (("calibrated", f"by {method} on {given.X.shape[0]} rows"),)
        draw_model(estimator, given, self.plot)
        if self.output is not None:
            estimator.set_params(verbose=False)
            if given.names is not None and not sparse.issparse(given.X):
                # In Python the model then asks for a table with these columns, in this order.
                estimator.feature_names_in_ = np.array(given.names, dtype=object)
            sl.save_model(
                self.output,
                estimator,
                X=given.X,
                feature_names=given.names,
                target_name=given.target_name,
                encoding=given.encoding,
            )
        return facts


def fit(
    file: Files,
    data: DataOptions,
    blocks: BlockOptions,
    model: ModelOptions,
    result: ResultOptions,
    screen: Screen,
    alpha: Annotated[
        str,
        "Penalty: a number, or pivotal, rigorous or rigorous-robust, which need no "
        "cross-validation.",
    ] = "pivotal",
) -> Report:
    """Fit one penalty and write a model file.

    The square-root LASSO, or its classifier where the target means classes.
    """
    given = read_given(file, data, blocks, needs_target=True)
    classes = given.is_classification(model.classify)
    result.check(given, classes)
    kind = sl.SqrtLassoClassifier if classes else sl.SqrtLasso
    start = perf_counter()
    with screen.watching("fitting") as watch, at_work(given, blocks, watch):
        estimator: Model = kind(
            alpha=penalty_of(alpha, "rigorous", "rigorous-robust"),
            **model.estimator_parameters(given.X, watch),
        ).fit(given.X, given.response)
        seconds = perf_counter() - start
        name, value = score_of(estimator, given)
        finished = result.finish(estimator, given)
    return Report(
        data={
            **_data(estimator, given),
            "training_score": {"name": name, "value": value},
            "seconds": seconds,
        },
        facts=(
            (name, f"{value:.4f} on the rows of the fit (cv judges by other rows)"),
            *_facts(estimator, given),
            *((*solver_facts(estimator), ("seconds", f"{seconds:.2f}")) if result.verbose else ()),
            *finished,
        ),
        sheets=effect_sheet(estimator, given, result.top),
    )


def cv(
    file: Files,
    data: DataOptions,
    blocks: BlockOptions,
    model: ModelOptions,
    search: SearchOptions,
    result: ResultOptions,
    screen: Screen,
) -> Report:
    """Choose penalty and radius by cross-validation.

    Then fit on all rows and write a model file.
    """
    given = read_given(file, data, blocks, needs_target=True)
    classes = given.is_classification(model.classify)
    result.check(given, classes)
    kind: Any = sl.SqrtLassoClassifierCV if classes else sl.SqrtLassoCV
    metric = search.scoring or ("accuracy" if classes else "mse")
    rows = search.split_rows(given.response, classes, model.seed)
    start = perf_counter()
    words = f"{search.folds}-fold cross-validation"
    with screen.watching(words) as watch, at_work(given, blocks, watch):
        estimator = kind(
            alphas=alphas_of(search.alphas),
            alpha_min_ratio=search.alpha_min_ratio,
            cv=rows,
            scoring=metric,
            selection=search.selection,
            **model.estimator_parameters(given.X, watch),
        ).fit(given.X, given.response)
        seconds = perf_counter() - start
        estimator.set_params(cv=search.folds)
        finished = result.finish(estimator, given)
    scores, curves = held_out_scores(estimator, given, rows), score_curves(estimator)
    folds = f"{search.folds} folds, {search.split}"
    scored = result.verbose or search.scoring is not None
    return Report(
        data={
            **_data(estimator, given),
            **search.data(estimator, scores),
            "curves": curves,
            "seconds": seconds,
        },
        facts=(
            *((score.name, f"{score} on held-out rows ({folds})") for score in scores),
            *_facts(estimator, given),
            *(((metric, chosen_words(curves)),) if scored else ()),
            *((*solver_facts(estimator), ("seconds", f"{seconds:.2f}")) if result.verbose else ()),
            *finished,
        ),
        sheets=(
            *effect_sheet(estimator, given, result.top),
            *((curve_sheet(curves[0], metric),) if result.verbose else ()),
        ),
    )


def _data(estimator: Model, given: Given) -> dict[str, Any]:
    return {
        "n_samples": given.X.shape[0],
        "target": given.target_name,
        **model_data(estimator),
        "coefficients": listed_coefficients(estimator, given.names, given.X),
    }


def _facts(estimator: Model, given: Given) -> Facts:
    return (
        *given.facts(getattr(estimator, "classes_", None)),
        ("model", model_words(estimator)),
    )
