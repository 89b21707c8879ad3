"""`sketchlasso cv`: the penalty that does best on rows it has not seen."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from time import perf_counter
from typing import Annotated, Any

import numpy as np
import typer

import sketchlasso as sl
from sketchlasso.errors import InvalidInputError
from sketchlasso.interfaces.commands.calibrating import Calibrate, calibrate, check_calibrate
from sketchlasso.interfaces.commands.data import at_work, read_given
from sketchlasso.interfaces.commands.describe import model_data, model_words, solver_facts
from sketchlasso.interfaces.commands.drawing import Picture, draw_model
from sketchlasso.interfaces.commands.effects import effect_data, effect_sheet
from sketchlasso.interfaces.commands.fitting import Output, save, target_words
from sketchlasso.interfaces.commands.given import Given
from sketchlasso.interfaces.commands.held_out import HeldOut, held_out_scores
from sketchlasso.interfaces.commands.options import (
    AlphaMinRatio,
    Alphas,
    BlockOptions,
    DataOptions,
    Files,
    ModelOptions,
    Top,
    Verbose,
    alphas_of,
)
from sketchlasso.interfaces.commands.outputs import check_outputs
from sketchlasso.interfaces.commands.report import Report, Sheet
from sketchlasso.interfaces.commands.screen import Screen
from sketchlasso.interfaces.models import Search

__all__ = ["cv"]

SPLITS = ("shuffled", "ordered", "time")


@dataclass(frozen=True)
class SearchOptions:
    """What is searched, and on which folds it is judged."""

    alphas: Alphas = "100"
    alpha_min_ratio: AlphaMinRatio = None
    folds: Annotated[int, typer.Option(help="Number of folds.")] = 5
    split: Annotated[
        str,
        typer.Option(
            help="How rows are cut into folds: shuffled (classes in equal shares), ordered "
            "(consecutive rows), or time (trained on earlier rows only)."
        ),
    ] = "shuffled"
    selection: Annotated[
        str, typer.Option(help="min: the best score; 1se: the sparsest within a standard error.")
    ] = "min"
    scoring: Annotated[
        str | None,
        typer.Option(help="mse, mae or r2; for classes accuracy, f1, auc or mse."),
    ] = None

    def split_rows(self, y: Any, classes: bool, seed: int) -> list[tuple[Any, Any]]:
        """Return the training and test rows of each fold, for responses y (m,)."""
        splitter = self._splitter(y, classes, seed)
        if classes and self.split != "time":
            labels, counts = np.unique(y, return_counts=True)
            if counts.min() < self.folds:
                warnings.warn(
                    f"class {labels[[counts.argmin()]].tolist()[0]!r} has {counts.min()} of the "
                    f"rows, but --folds is {self.folds}, so some folds hold out none of its rows; "
                    "give fewer folds, or more rows of this class.",
                    stacklevel=2,
                )
        with warnings.catch_warnings():
            # Reported above, in the words of the shell.
            warnings.filterwarnings("ignore", "The least populated class", UserWarning)
            return list(splitter.split(np.zeros((len(y), 1)), y))

    def _splitter(self, y: Any, classes: bool, seed: int) -> Any:
        from sklearn.model_selection import KFold, StratifiedKFold, TimeSeriesSplit

        if self.split not in SPLITS:
            raise InvalidInputError(
                f"--split {self.split} was given, but {', '.join(SPLITS[:-1])} or {SPLITS[-1]} is "
                "accepted; give one of them."
            )
        most, what = len(y), f"the data have {len(y)} rows"
        if classes and self.split != "time":
            most = int(np.unique(y, return_counts=True)[1].max())
            what = f"no class has more than {most} rows"
        if most < 2:
            raise InvalidInputError(
                "every row has a class of its own, but folds need classes of at least 2 rows; "
                "give more rows, or --split time."
            )
        if not 2 <= self.folds <= most:
            raise InvalidInputError(
                f"--folds {self.folds} was given, but {what}; give from 2 to {most}."
            )
        if self.split == "time":
            return TimeSeriesSplit(self.folds)
        kind = StratifiedKFold if classes else KFold
        if self.split == "ordered":
            return kind(self.folds)
        return kind(self.folds, shuffle=True, random_state=seed)


def cv(
    file: Files,
    data: DataOptions,
    blocks: BlockOptions,
    model: ModelOptions,
    search: SearchOptions,
    screen: Screen,
    calibrated: Calibrate = None,
    output: Output = None,
    plot: Picture = None,
    top: Top = 10,
    verbose: Verbose = False,
) -> Report:
    """Choose penalty and radius by cross-validation.

    Then fit on all rows and write a model file.
    """
    check_outputs(None, plot)
    given = read_given(file, data, blocks, needs_target=True)
    classes = given.is_classification(model.classify)
    check_calibrate(calibrated, given.X, classes)
    kind: Any = sl.SqrtLassoClassifierCV if classes else sl.SqrtLassoCV
    metric = search.scoring or ("accuracy" if classes else "mse")
    folds = search.split_rows(given.response, classes, model.seed)
    start = perf_counter()
    words = f"{search.folds}-fold cross-validation"
    with screen.watching(words) as watch, at_work(given, blocks, watch):
        estimator = kind(
            alphas=alphas_of(search.alphas),
            alpha_min_ratio=search.alpha_min_ratio,
            cv=folds,
            scoring=metric,
            selection=search.selection,
            **model.estimator_parameters(given.X, watch),
        ).fit(given.X, given.response)
        seconds = perf_counter() - start
        estimator.set_params(cv=search.folds)
        notes = calibrate(estimator, given, calibrated)
        drawn = draw_model(estimator, given, plot)
        written = save(estimator, given, output)
    scores = held_out_scores(estimator, given, folds)
    found = _Search(estimator, given, scores, _curves(estimator), search.split, seconds)
    return Report(
        data={"command": "cv", "output": output, **found.data()},
        facts=(
            *found.facts(verbose or search.scoring is not None, verbose),
            *notes,
            *written,
            *drawn,
        ),
        sheets=(
            *effect_sheet(estimator, given, top),
            *((_curve_sheet(found.curves[0], metric),) if verbose else ()),
        ),
    )


@dataclass(frozen=True)
class _Search:
    """What cross-validation found, for people and for machines."""

    estimator: Search
    given: Given
    scores: tuple[HeldOut, ...]
    curves: list[dict[str, Any]]
    split: str
    seconds: float

    def data(self) -> dict[str, Any]:
        """Return the document of --json."""
        return {
            "n_samples": self.given.X.shape[0],
            "target": self.given.target_name,
            **model_data(self.estimator),
            "coefficients": effect_data(self.estimator, self.given),
            "held_out": {
                score.name: {"mean": score.mean, "standard_error": score.standard_error}
                for score in self.scores
            },
            "folds": self.estimator.cv,
            "split": self.split,
            "scoring": self.estimator.scoring,
            "selection": self.estimator.selection,
            "alpha_min": self.estimator.alpha_min_,
            "alpha_1se": self.estimator.alpha_1se_,
            "curves": self.curves,
            "seconds": self.seconds,
        }

    def facts(self, scored: bool, verbose: bool) -> tuple[tuple[str, str], ...]:
        """Return the scores and the model; what decided where `scored`, the solver's if verbose."""
        estimator, given = self.estimator, self.given
        folds = f"{estimator.cv} folds, {self.split}"
        return (
            *((score.name, f"{score} on held-out rows ({folds})") for score in self.scores),
            ("data", given.words()),
            ("target", target_words(given, getattr(estimator, "classes_", None))),
            ("model", model_words(estimator)),
            *(((estimator.scoring, _chosen_words(estimator, self.curves)),) if scored else ()),
            *((*solver_facts(estimator), ("seconds", f"{self.seconds:.2f}")) if verbose else ()),
        )


def _curves(estimator: Search) -> list[dict[str, Any]]:
    """Penalties, mean scores and standard errors of every response; less those left out."""
    single = np.ndim(estimator.alphas_) == 1
    alphas = estimator.alphas_[None] if single else estimator.alphas_
    scores = estimator.score_path_[None] if single else estimator.score_path_
    used = np.atleast_1d(estimator.alpha_)
    curves = []
    for response in range(len(alphas)):
        tried = ~np.isnan(scores[response]).all(axis=1)  # squared errors may overflow
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


def _chosen_words(estimator: Search, curves: list[dict[str, Any]]) -> str:
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
