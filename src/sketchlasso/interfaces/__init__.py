"""Ways in for people: command line, plots, pages. They use public names only."""

from typing import Any, TypeAlias

import sketchlasso as sl

__all__ = ["Classifier", "Model", "Regressor", "Search", "class_signs"]

# The estimators that commands and plots take.
Regressor: TypeAlias = "sl.SqrtLasso | sl.SqrtLassoCV"
Classifier: TypeAlias = "sl.SqrtLassoClassifier | sl.SqrtLassoClassifierCV"
# With a penalty chosen by cross-validation.
Search: TypeAlias = "sl.SqrtLassoCV | sl.SqrtLassoClassifierCV"
Model: TypeAlias = "Regressor | Classifier"


def class_signs(y: Any, classes: Any) -> Any:
    """Return what a classifier regresses on: +1 for its class and -1 for the others.

    Shape (m,) for the second of two classes, and (m, t) for t classes, one column each.
    """
    import numpy as np  # the help pages of the command line do without it

    return np.where(y == classes[1] if len(classes) == 2 else y[:, None] == classes, 1.0, -1.0)
