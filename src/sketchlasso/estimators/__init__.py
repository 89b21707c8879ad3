"""scikit-learn estimators over the engine."""

from sketchlasso.estimators.classification import SqrtLassoClassifier, SqrtLassoClassifierCV
from sketchlasso.estimators.fit import automatic_method
from sketchlasso.estimators.penalty import convert_alpha, pivotal_alpha
from sketchlasso.estimators.regression import SqrtLasso, SqrtLassoCV
from sketchlasso.estimators.store import load_model, save_model
from sketchlasso.estimators.summary import ModelSummary
from sketchlasso.estimators.transformer import SketchTransformer

__all__ = [
    "ModelSummary",
    "SketchTransformer",
    "SqrtLasso",
    "SqrtLassoCV",
    "SqrtLassoClassifier",
    "SqrtLassoClassifierCV",
    "automatic_method",
    "convert_alpha",
    "load_model",
    "pivotal_alpha",
    "save_model",
]
