"""Ways in for people: command line, plots, pages. They use public names only."""

from typing import TypeAlias

import sketchlasso as sl

__all__ = ["Classifier", "Model", "Regressor", "Search"]

# The estimators that commands and plots take.
Regressor: TypeAlias = "sl.SqrtLasso | sl.SqrtLassoCV"
Classifier: TypeAlias = "sl.SqrtLassoClassifier | sl.SqrtLassoClassifierCV"
# With a penalty chosen by cross-validation.
Search: TypeAlias = "sl.SqrtLassoCV | sl.SqrtLassoClassifierCV"
Model: TypeAlias = "Regressor | Classifier"
