"""PyTorch as the array library of a GPU: which device, and how much of its memory to use."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sketchlasso.errors import (
    DeviceWarning,
    InvalidInputError,
    MissingExtraError,
    unaccepted,
)
from sketchlasso.warn import warn_user

CPU = "cpu"


@dataclass(frozen=True)
class Device:
    """A device of PyTorch and the memory that may be used on it."""

    name: str  # in PyTorch
    budget: int  # bytes
    torch: Any  # the module
    label: str = "torch"  # the name that the user gave

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Force full float32 precision regardless of PyTorch's settings.

        Certificates rely on float32 rounding. Running out of memory raises one sentence.
        """
        torch = self.torch
        before = torch.get_float32_matmul_precision()
        torch.set_float32_matmul_precision("highest")
        try:
            with torch.autocast(self.name.partition(":")[0], enabled=False):
                yield
        except torch.OutOfMemoryError as problem:
            raise InvalidInputError(
                f"device {self.label!r} ran out of memory, although only "
                f"{self.budget / 2**20:.0f} MiB were planned; give a smaller device_memory."
            ) from problem
        finally:
            torch.set_float32_matmul_precision(before)

    def tensor(self, values: Any, dtype: Any = None) -> Any:
        """Copy an array to the device; on the CPU it may be the array itself, so only read it."""
        with warnings.catch_warnings():
            # PyTorch warns of arrays that must not be written to.
            warnings.simplefilter("ignore", UserWarning)
            return self.torch.as_tensor(values).to(self.name, dtype)


def check_device(name: object) -> str:
    """Return the name of a device; refuse an unknown one."""
    known = isinstance(name, str) and (
        name in (CPU, "cuda", "auto", "torch")
        or (name.startswith("cuda:") and name[5:].isdecimal())
    )
    if not known:
        accepted = "'cpu', 'cuda' (or 'cuda:1', ...), 'auto', or 'torch' (PyTorch on the CPU)"
        raise unaccepted("device", name, accepted)
    return str(name)


def open_device(name: str, budget: int | None = None) -> Device | None:
    """Return a device of PyTorch; None for the package's own code on the CPU.

    Without a GPU, "cuda" and "auto" warn and fall back to the CPU. The budget is in bytes; by
    default 70 % of the free memory of a GPU, or 1 GiB of PyTorch on the CPU.
    """
    if check_device(name) == CPU:
        return None
    try:
        import torch
    except ImportError as missing:
        if name == "auto":
            _warn_of_cpu("PyTorch is not installed")
            return None
        raise MissingExtraError(f"device={name!r}", "torch", "gpu") from missing
    if name == "torch":
        return Device("cpu", 2**30 if budget is None else budget, torch)
    number = int(name[5:]) if name.startswith("cuda:") else 0
    if torch.cuda.device_count() <= number:
        _warn_of_cpu(f"PyTorch sees {torch.cuda.device_count()} CUDA devices")
        return None
    # The libraries of the GPU need the rest as workspace.
    free = int(0.7 * torch.cuda.mem_get_info(number)[0])
    return Device(f"cuda:{number}", free if budget is None else budget, torch, name)


def _warn_of_cpu(why: str) -> None:
    warn_user(
        DeviceWarning(
            f"no GPU can be used ({why}), so the CPU does the work; pass device='cpu' to say so."
        ),
    )
