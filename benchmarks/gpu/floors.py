"""What the device can do at best: bandwidth and rates, measured."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from sketchlasso.linalg.device import Device


@dataclass(frozen=True)
class Floors:
    """Bytes per second of a copy (read and written), operations per second of dense products."""

    name: str
    bandwidth: float
    single: float
    double: float

    @classmethod
    def measured(cls, device: Device, quick: bool) -> Floors:
        torch = device.torch
        size = 2**22 if quick or device.name == "cpu" else 2**31
        side = 512 if quick or device.name == "cpu" else 8192
        block = torch.rand(size // 4, device=device.name)
        other = torch.empty_like(block)
        copy = _fastest(device, lambda: other.copy_(block))
        rates = []
        for dtype in (torch.float32, torch.float64):
            A = torch.rand((side, side), device=device.name, dtype=dtype)
            rates.append(2.0 * side**3 / _fastest(device, lambda A=A: A @ A))
        name = "PyTorch on the CPU"
        if device.name != "cpu":
            name = torch.cuda.get_device_name(device.name)
        return cls(name, 2.0 * size / copy, *rates)

    def seconds(self, moved: float, operations: float, double: bool = False) -> float:
        """The floor of work that moves so many bytes and does so many operations."""
        return max(moved / self.bandwidth, operations / (self.double if double else self.single))

    def words(self) -> str:
        return (
            f"{self.name}: copies {self.bandwidth / 1e12:.2f} TB/s, float32 products "
            f"{self.single / 1e12:.1f} TFLOP/s, float64 {self.double / 1e12:.1f} TFLOP/s, measured"
        )


def wait(device: Device) -> None:
    """Wait until the device has done all it was given."""
    if device.name != "cpu":
        device.torch.cuda.synchronize()


def _fastest(device: Device, work: Any) -> float:
    work()
    times = []
    for _ in range(5):
        wait(device)
        start = perf_counter()
        work()
        wait(device)
        times.append(perf_counter() - start)
    return float(np.min(times))
