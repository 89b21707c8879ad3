"""Types of the estimators that commands and plots take."""

from __future__ import annotations

from typing import TypeAlias

import sketchlasso as sl

__all__ = ["Classifier", "Model", "Regressor", "Search"]

Regressor: TypeAlias = "sl.SqrtLasso | sl.SqrtLassoCV"
Classifier: TypeAlias = "sl.SqrtLassoClassifier | sl.SqrtLassoClassifierCV"
# With a penalty chosen by cross-validation.
Search: TypeAlias = "sl.SqrtLassoCV | sl.SqrtLassoClassifierCV"
Model: TypeAlias = "Regressor | Classifier"
