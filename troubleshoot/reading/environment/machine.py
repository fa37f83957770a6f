"""What is known of the machine and its packages, as frozen dataclasses. Unknown stays unknown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from troubleshoot.basics.versions import Releases

#: Where a fact was learned, strongest last. ``inferred``: from frames (a package seen);
#: ``lines``: the release, from the frames' lines of code (:mod:`troubleshoot.engine.lines`);
#: ``report``: stated in the pasted text; ``file``: from a pasted or given environment dump; ``local``: probed on this machine;
#: ``answer``: the user said so when asked.
SOURCES = ("inferred", "lines", "report", "file", "local", "answer")


@dataclass(frozen=True)
class Package:
    """A distribution: its PEP 503 name, its version ("" where only its presence is known, None where it is known to be absent).

    ``releases`` are those of which it is one, where its version is "" and lines of code tell that much.
    """

    name: str
    version: str | None
    source: str
    line: int | None = None
    releases: Releases | None = None

    @property
    def absent(self) -> bool:
        """True where the package is known not to be installed."""
        return self.version is None

    @property
    def told(self) -> str:
        """The version, or the releases that it is one of; "" where neither is known."""
        text = self.version or ("" if self.releases is None else str(self.releases))
        return f"{text}, from line numbers" if self.source == "lines" and text else text

    @property
    def told_zh(self) -> str:
        """The same in Chinese."""
        text = self.version or ("" if self.releases is None else self.releases.zh)
        return f"{text}（由行号推断）" if self.source == "lines" and text else text

    def holds(self, test: Callable[[str], bool | None]) -> bool | None:
        """Hold a condition against the version, or against all releases that it may be; None where that cannot be told."""
        if self.version:
            return test(self.version)
        return None if self.releases is None else self.releases.hold(test)


@dataclass(frozen=True)
class Accelerator:
    """A GPU or another accelerator.

    ``kind`` is cuda, rocm, mps, xpu, npu, hpu or xla; ``capability`` the CUDA compute capability as (major, minor); ``memory`` in GiB.
    Unknown members are None.
    """

    name: str
    kind: str
    source: str
    capability: tuple[int, int] | None = None
    architecture: str | None = None
    memory: float | None = None
    count: int = 1
    line: int | None = None


@dataclass(frozen=True)
class Environment:
    """Packages and accelerators, each with its source.

    ``closed_packages`` is True where the list of packages is complete (``pip freeze``, a local probe): a package that is
    not in it is absent. ``closed_accelerators`` likewise: with no accelerator listed there is none.
    ``details`` holds further facts by name: ``torch.cuda`` (the CUDA version torch was built for, or "cpu"; missing for ROCm, XPU and macOS
    builds), ``torch.rocm``, ``torch.xpu``, ``torch.archs``, ``torch.version`` (as torch itself says), ``cuda`` (the toolkit), ``driver``,
    ``driver.cuda`` (the highest CUDA version the driver takes), ``cudnn``, ``rocm``, ``miopen``, ``machine`` (x86_64), ``os.version``,
    ``prefix``, ``cpu.dtypes`` ("bf16" where the CPU has instructions for it), and what torch answered: ``cuda.available``,
    ``mps.available``, ``xpu.available``, ``bf16.native``, ``bf16.supported`` ("true" or "false").
    ``warnings`` says what could not be read.
    """

    packages: tuple[Package, ...] = ()
    accelerators: tuple[Accelerator, ...] = ()
    python: str | None = None
    os: str | None = None
    closed_packages: bool = False
    closed_accelerators: bool = False
    details: dict[str, str] = field(default_factory=dict)
    source: str = "report"
    warnings: tuple[str, ...] = ()

    def package(self, name: str) -> Package | None:
        """Return what is known of a distribution: a Package (absent ones too), or None where nothing is."""
        for one in self.packages:
            if one.name == name:
                return one
        if self.closed_packages:
            return Package(name, None, self.source)
        return None
