"""The batched Newton method on PyTorch tensors: a GPU solves its instances in lock-step."""

from sketchlasso.solvers.device.run import DeviceRun, solve_on_device

__all__ = ["DeviceRun", "solve_on_device"]
