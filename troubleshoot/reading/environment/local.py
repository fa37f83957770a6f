"""The packages of this interpreter and the accelerators of this machine, read without importing torch.

Versions come from the names of the metadata directories: ``importlib.metadata`` would cost more than the whole reading of a report.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from troubleshoot.reading.environment.machine import Accelerator, Environment, Package


def local_environment(*, accelerators: bool = False, path: Sequence[str] | None = None) -> Environment:
    """Return what this interpreter has installed; with ``accelerators`` also the GPUs that a program started here would see.

    ``path`` stands for ``sys.path``. torch is not imported and no driver is initialised unless ``accelerators`` is given.
    """
    entries = list(sys.path if path is None else path)
    packages, places = _installed(entries)
    details = _torch_build(places.get("torch"))
    details["machine"] = _machine()
    details["cpu.dtypes"] = _cpu_dtypes()
    system = _system()
    if system == "macos":
        details["os.version"] = _macos_version()
    devices: tuple[Accelerator, ...] = ()
    closed = False
    warnings: tuple[str, ...] = ()
    if accelerators:
        from troubleshoot.reading.environment.devices import local_accelerators

        found = local_accelerators()
        devices, closed, warnings = found.accelerators, found.closed, found.warnings
        details.update(found.details)
    return Environment(
        packages=packages,
        accelerators=devices,
        python=".".join(map(str, sys.version_info[:3])),
        os=system,
        closed_packages=True,
        closed_accelerators=closed,
        details={name: value for name, value in details.items() if value},
        source="local",
        warnings=warnings,
    )


def _installed(entries: Sequence[str]) -> tuple[tuple[Package, ...], dict[str, str]]:
    """The first of several versions on the path counts, as for the import system."""
    from troubleshoot.reading.environment.package_names import normalise_name

    found: dict[str, Package] = {}
    places: dict[str, str] = {}
    seen: set[str] = set()
    for entry in entries:
        directory = entry or "."
        if directory in seen or directory.endswith(".zip"):
            continue
        seen.add(directory)
        try:
            with os.scandir(directory) as listing:
                names = [one.name for one in listing if one.name.endswith(("-info", ".egg", ".egg-link"))]
        except OSError:
            continue
        for name in names:
            stem, _, suffix = name.rpartition(".")
            if suffix == "dist-info" or suffix in ("egg-info", "egg"):
                project, _, version = stem.partition("-")
                # zope.interface-5.0-py3.9-linux-x86_64.egg-info: the version ends at the next dash.
                version = version.partition("-")[0] if suffix != "dist-info" else version
            else:
                continue
            project = normalise_name(project)
            if project and project not in found:
                found[project] = Package(project, version, "local")
                places[project] = directory
    return tuple(found.values()), places


def _torch_build(directory: str | None) -> dict[str, str]:
    """What torch/version.py says the build is for."""
    if directory is None:
        return {}
    try:
        with open(os.path.join(directory, "torch", "version.py"), encoding="utf-8", errors="replace") as file:  # noqa: PTH118, PTH123
            text = file.read(4096)
    except OSError:
        return {}
    details: dict[str, str] = {}
    for line in text.splitlines():
        name, _, value = line.partition("=")
        name = name.partition(":")[0].strip()
        value = value.strip().strip("'\"")
        if name == "cuda":
            details["torch.cuda"] = "" if value == "None" else value
        elif name == "hip" and value != "None":
            details["torch.rocm"] = value
        elif name == "xpu" and value != "None":
            details["torch.xpu"] = value
        elif name == "git_version":
            details["torch.git"] = value
    if details.get("torch.cuda") == "" and "torch.rocm" not in details and "torch.xpu" not in details and sys.platform != "darwin":
        details["torch.cuda"] = "cpu"
    return details


def _system() -> str:
    if sys.platform == "darwin":
        return "macos"
    if sys.platform in ("win32", "cygwin"):
        return "windows"
    if sys.platform == "linux" and "microsoft" in os.uname().release.lower():
        return "wsl"
    return "linux" if sys.platform == "linux" else sys.platform


def _machine() -> str:
    if hasattr(os, "uname"):
        return os.uname().machine
    return {"AMD64": "x86_64", "ARM64": "arm64"}.get(
        os.environ.get("PROCESSOR_ARCHITECTURE", ""), os.environ.get("PROCESSOR_ARCHITECTURE", "")
    )


def _cpu_dtypes() -> str:
    """What the kernel says of the first processor: the others are alike."""
    from troubleshoot.reading.environment.dumps import cpu_dtypes

    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:  # noqa: PTH123
            text = file.read(8192)
    except OSError:
        return ""
    flags = next((line for line in text.splitlines() if line.startswith(("flags", "Features"))), "")
    return cpu_dtypes(flags.partition(":")[2])


def _macos_version() -> str:
    import platform

    return platform.mac_ver()[0]
