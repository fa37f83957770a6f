"""What the live side costs: ``python tests/benchmarks/live.py``. Prints medians; nothing is asserted.

``install()`` is measured in fresh processes, with its imports, in a program without and with torch; the cost of an exception for a model of
many modules, in process: looking at the frames alone, and the whole diagnosis.
"""

from __future__ import annotations

import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

INSTALL = """
import sys, time
{first}
start = time.perf_counter()
{call}
troubleshoot.install()
print((time.perf_counter() - start) * 1e3)
"""


def install_cost(first: str, repeat: int = 9, call: str = "") -> float:
    """Milliseconds of ``call`` and ``troubleshoot.install()`` after ``first``."""
    code = INSTALL.format(first=first, call=call)
    return statistics.median(
        float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout) for _ in range(repeat)
    )


def median(work: Callable[[], object], repeat: int = 25) -> float:
    """Milliseconds of one call."""
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        work()
        times.append((time.perf_counter() - start) * 1e3)
    return statistics.median(times)


def failing_model(layers: int) -> BaseException:
    """Raise in the last of many blocks and return the exception with its frames."""
    import torch
    from torch import nn

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm = nn.LayerNorm(16)
            self.up = nn.Linear(16, 32)
            self.down = nn.Linear(32, 16)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + self.down(self.up(self.norm(x)))

    model = nn.Sequential(*(Block() for _ in range(layers))).bfloat16()
    model[-1].down.float()
    try:
        model(torch.randn(1, 16, dtype=torch.bfloat16))
    except RuntimeError as error:
        return error
    raise AssertionError("nothing was raised")


def main() -> None:
    """Print the table."""
    import torch

    import troubleshoot
    from troubleshoot.engine.live import look

    print(f"Python {platform.python_version()}, torch {torch.__version__}, {platform.machine()}; medians in ms")
    print(f"install(), a bare program                 {install_cost('import troubleshoot'):8.2f}")
    print(f"install() with import troubleshoot        {install_cost('', call='import troubleshoot'):8.2f}")
    print(f"install() after import torch              {install_cost('import torch, troubleshoot', 5):8.2f}")
    print(f"install() again                           {median(troubleshoot.install):8.4f}")
    troubleshoot.uninstall()
    for layers in (12, 80, 500):
        error = failing_model(layers)
        troubleshoot.diagnose(error)
        print(
            f"{layers * 4 + 1:5} modules: look {median(lambda error=error: look(error)):8.2f}, "  # type: ignore[misc]
            f"diagnose {median(lambda error=error: troubleshoot.diagnose(error)):8.2f}"  # type: ignore[misc]
        )
    plain = RuntimeError("expected scalar type Float but found Half")
    print(f"an exception without frames: diagnose     {median(lambda: troubleshoot.diagnose(plain)):8.2f}")


if __name__ == "__main__":
    main()
