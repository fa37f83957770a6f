"""Programs that end badly, for the tests of the runner. They are read in the child through ``child_of_tests``."""

from __future__ import annotations

import os
import signal
import sys
import time

from troubleshoot.lab.verify.outcomes import Program, Setting
from troubleshoot.lab.verify.registry import case


@case(issues=("tests/hangs",), timeout=30.0)
def hangs(setting: Setting) -> Program:
    """Never ends."""
    return Program(None, {}, lambda model, inputs: time.sleep(600))


@case(issues=("tests/crashes",))
def crashes(setting: Setting) -> Program:
    """Ends by SIGSEGV."""
    return Program(None, {}, lambda model, inputs: os.kill(os.getpid(), signal.SIGSEGV))


@case(issues=("tests/leaves",))
def leaves(setting: Setting) -> Program:
    """Ends the process without a word."""
    return Program(None, {}, lambda model, inputs: os._exit(7))


@case(issues=("tests/eats",), memory_mib=600)
def eats(setting: Setting) -> Program:
    """Takes more and more memory."""

    def call(model: object, inputs: object) -> None:
        held = []
        while True:
            held.append(bytearray(os.urandom(1024) * 1024 * 8))
            time.sleep(0.01)

    return Program(None, {}, call)


@case(issues=("tests/asserts",))
def asserts(setting: Setting) -> Program:
    """Fails as CUDA does after a device-side assert."""

    def call(model: object, inputs: object) -> None:
        raise RuntimeError("CUDA error: device-side assert triggered")

    return Program(None, {}, call)


@case(issues=("tests/runs-out",))
def runs_out(setting: Setting) -> Program:
    """Asks the allocator for more than there is."""
    import torch

    return Program(None, {}, lambda model, inputs: torch.empty(2**60, dtype=torch.uint8))


@case(issues=("tests/lacks",))
def lacks(setting: Setting) -> Program:
    """Imports what is not there."""
    import a_package_that_does_not_exist  # type: ignore[import-not-found]

    return Program(a_package_that_does_not_exist, {})


@case(issues=("tests/prints",))
def prints(setting: Setting) -> Program:
    """Prints 20 MB and starts a process that would outlive it."""
    import subprocess

    import torch

    def call(model: object, inputs: object) -> torch.Tensor:
        if setting.faulty:
            subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
            for _ in range(200):
                print("x" * 100_000)
        return torch.ones(2)

    return Program(None, {}, call)
