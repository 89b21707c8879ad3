"""`sketchlasso demo` and `topics demo`, on data of scikit-learn and on a bundled corpus."""

from __future__ import annotations

import warnings
from pathlib import Path
from time import perf_counter
from typing import Annotated

import numpy as np
import typer

import sketchlasso as sl
from sketchlasso.interfaces.commands import images
from sketchlasso.interfaces.commands.explore import ViewOptions
from sketchlasso.interfaces.commands.screen import Report, Screen, Sheet, facts_of

WORDS = ("fourier", "matrix", "random", "cluster", "file")


def demo(screen: Screen) -> Report:
    """Demonstrate the package on bundled data.

    Cross-validation compared with scikit-learn's LassoCV, and the images of a few words in the
    documentation of scientific packages.
    """
    from sklearn.datasets import load_diabetes
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LassoCV
    from sklearn.model_selection import train_test_split
    from sklearn.preprocessing import PolynomialFeatures, StandardScaler

    X, y = load_diabetes(return_X_y=True)
    X = StandardScaler().fit_transform(PolynomialFeatures(3, include_bias=False).fit_transform(X))
    train, test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=0)
    sl.SqrtLassoCV(sketch=None, alphas=3).fit(train, y_train)
    ours = sl.SqrtLassoCV(sketch=None)
    models = {"sketchlasso SqrtLassoCV": ours, "scikit-learn LassoCV": LassoCV()}
    rows = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for name, model in models.items():
            start = perf_counter()
            model.fit(train, y_train)
            score = float(model.score(test, y_test))
            count = int(np.count_nonzero(model.coef_))
            rows.append((name, score, count, perf_counter() - start))
    unfinished = sum(issubclass(one.category, ConvergenceWarning) for one in caught)
    imager = _imager(screen)
    found, _ = images.ask(imager, list(WORDS[:3]), images.ImageOptions(n_words=6))
    heads = ("method", "test R2", "non-zeros", "seconds")
    words = [(images.name_of(one), ", ".join(one.words), one.quality) for one in found]
    return Report(
        {
            "methods": [dict(zip(heads, row, strict=True)) for row in rows],
            "lasso_cv_convergence_warnings": unfinished,
            "images": list(map(images.image_data, found)),
        },
        sheets=(
            Sheet(f"Diabetes: {len(train)} patients x {X.shape[1]} terms", heads, tuple(rows)),
            Sheet("Words of documentation", ("word", "explained by", "image"), tuple(words)),
        ),
        closing=(
            f"LassoCV warned {unfinished} times that a fit did not converge; our model is proved "
            f"to a gap of {ours.full_gap_:.0e}\n"
            "try your own table: sketchlasso cv FILE.csv --target COLUMN\n"
            "explore the words in the browser: sketchlasso topics demo --serve --open"
        ),
    )


def topics_demo(
    view: ViewOptions,
    screen: Screen,
    words: Annotated[
        list[str] | None, typer.Argument(metavar="WORD", help="Words to ask for.")
    ] = None,
    serve: Annotated[bool, "Open the explorer instead, with a map."] = False,
    output: Annotated[Path | None, "Keep the model in a file."] = None,
) -> Report:
    """Image words of the documentation of scientific packages.

    NumPy, SciPy, scikit-learn and others: a real corpus that comes with this package.
    """
    imager = _imager(screen)
    if output is not None:
        imager.save(output)
    if serve:
        with screen.counting("imaging every word for the map", "words") as count:
            stored = imager.image_all(progress=count)
        return view.serve(screen, {"n_words": len(imager.words_)}, imager, stored)
    with screen.watching("asking"):
        found, _ = images.ask(imager, words or list(WORDS), images.ImageOptions())
    documents, n_words = imager.corpus_.shape
    data = {"n_documents": documents, "n_words": n_words}
    return Report(
        {**data, "images": list(map(images.image_data, found))},
        facts_of(data),
        tuple(map(images.image_sheet, found)),
        closing="continue in the browser: sketchlasso topics demo --serve",
    )


def _imager(screen: Screen) -> sl.topics.TopicImager:
    with screen.watching("sketching the documentation"):
        corpus = sl.topics.embedded_corpus()
        # Its words were chosen when the corpus was made, and it covers many subjects.
        least = corpus.settings["min_documents"]
        return sl.topics.TopicImager(
            rank=200, min_documents=least, stop_words=None, random_state=0
        ).fit(corpus)
