"""The batched Newton method on PyTorch tensors: a GPU solves its instances in lock-step."""

from sketchlasso.solvers.device.run import solve_on_device
from sketchlasso.solvers.device.tensors import suits

__all__ = ["solve_on_device", "suits"]
