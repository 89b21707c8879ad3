"""What many regressions together say: errors of estimates, graphs, stability."""

from sketchlasso.inference.error_control import ErrorControl, error_control
from sketchlasso.inference.stability import StabilitySelection

__all__ = ["ErrorControl", "StabilitySelection", "error_control"]
