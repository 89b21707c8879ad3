"""scikit-learn estimators over the engine."""

from sketchlasso.estimators.classification import SqrtLassoClassifier, SqrtLassoClassifierCV
from sketchlasso.estimators.penalty import convert_alpha, pivotal_alpha
from sketchlasso.estimators.regression import SqrtLasso, SqrtLassoCV
from sketchlasso.estimators.transformer import SketchTransformer

__all__ = [
    "SketchTransformer",
    "SqrtLasso",
    "SqrtLassoCV",
    "SqrtLassoClassifier",
    "SqrtLassoClassifierCV",
    "convert_alpha",
    "pivotal_alpha",
]
