"""The accelerators of this machine as a program started here would see them. nvidia-smi is never run, no context is created."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from troubleshoot.basics.numbers import whole_number
from troubleshoot.reading.environment.machine import Accelerator

_PROC = Path("/proc/driver/nvidia")
#: NVIDIA, Windows' GPUs in WSL, Jetson, Intel and AMD, Ascend, Gaudi and TPU.
_DEVICE_FILES = tuple(f"/dev/{name}" for name in ("nvidiactl", "dxg", "nvhost-gpu", "nvgpu", "dri", "kfd", "davinci_manager", "accel"))
_KFD = Path("/sys/class/kfd/kfd/topology/nodes")


@dataclass(frozen=True)
class Found:
    """The devices; ``closed`` tells that there are no others."""

    accelerators: tuple[Accelerator, ...] = ()
    closed: bool = False
    details: dict[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Device:
    """One NVIDIA device, or a MIG instance of one: memory in GiB."""

    name: str
    uuid: str
    memory: float | None = None
    capability: tuple[int, int] | None = None
    bus: str = ""
    instances: tuple[Device, ...] = ()


def local_accelerators(
    environ: Mapping[str, str] | None = None,
    *,
    load_nvml: Callable[[], Any] | None = None,
    proc: Path = _PROC,
    kfd: Path = _KFD,
    platform: tuple[str, str] | None = None,
) -> Found:
    """Return the accelerators that are visible under ``environ`` (default: the process's own).

    NVML answers with memory and capability; without nvidia-ml-py the kernel driver's files under ``proc`` give the names.
    """
    environ = os.environ if environ is None else environ
    system, machine = platform or (sys.platform, os.uname().machine if hasattr(os, "uname") else "")
    if system == "darwin":
        return _apple(machine)
    warnings: list[str] = []
    details: dict[str, str] = {}
    devices: list[Device] | None = None
    if load_nvml is not None or (proc / "version").exists() or system == "win32":
        devices = _nvml_devices(load_nvml or _pynvml, details, warnings)
    if devices is None:
        devices = _proc_devices(proc, details)
    if devices:
        visible = visible_devices(
            devices, environ.get("CUDA_VISIBLE_DEVICES"), order=environ.get("CUDA_DEVICE_ORDER", ""), warnings=warnings
        )
        return Found(_counted([_as_accelerator(one) for one in visible]), True, details, tuple(warnings))
    amd = _kfd_devices(kfd, environ)
    if amd is not None:
        return Found(amd, True, details, tuple(warnings))
    # Only where no device file of any vendor exists is it certain that there is nothing.
    nothing = system == "linux" and not warnings and not any(Path(one).exists() for one in _DEVICE_FILES)
    return Found((), nothing, details, tuple(warnings))


def _pynvml() -> Any:
    import pynvml

    return pynvml


def _nvml_devices(load: Callable[[], Any], details: dict[str, str], warnings: list[str]) -> list[Device] | None:
    try:
        nvml = load()
    except ImportError:
        return None
    try:
        nvml.nvmlInit()
    except Exception as error:
        if "DriverNotLoaded" in type(error).__name__ or "LibraryNotFound" in type(error).__name__:
            return None
        warnings.append(f"the NVIDIA driver does not answer: {error}")
        return None
    try:
        details["driver"] = _text(nvml.nvmlSystemGetDriverVersion())
        version = nvml.nvmlSystemGetCudaDriverVersion()
        details["driver.cuda"] = f"{version // 1000}.{version % 1000 // 10}"
        return [_nvml_device(nvml, index) for index in range(nvml.nvmlDeviceGetCount())]
    except Exception as error:
        warnings.append(f"the NVIDIA driver does not answer: {error}")
        return None
    finally:
        nvml.nvmlShutdown()


def _nvml_device(nvml: Any, index: int) -> Device:
    handle = nvml.nvmlDeviceGetHandleByIndex(index)
    name = _text(nvml.nvmlDeviceGetName(handle))
    major, minor = nvml.nvmlDeviceGetCudaComputeCapability(handle)
    bus = _text(nvml.nvmlDeviceGetPciInfo(handle).busId)
    return Device(
        name,
        _text(nvml.nvmlDeviceGetUUID(handle)),
        _memory(nvml, handle),
        (int(major), int(minor)),
        bus,
        _instances(nvml, handle, name, (int(major), int(minor))),
    )


def _instances(nvml: Any, handle: Any, name: str, capability: tuple[int, int]) -> tuple[Device, ...]:
    try:
        current, _ = nvml.nvmlDeviceGetMigMode(handle)
        if not current:
            return ()
        limit = nvml.nvmlDeviceGetMaxMigDeviceCount(handle)
    except Exception:
        return ()
    found = []
    for slot in range(limit):
        try:
            instance = nvml.nvmlDeviceGetMigDeviceHandleByIndex(handle, slot)
        except Exception:
            continue
        found.append(Device(name, _text(nvml.nvmlDeviceGetUUID(instance)), _memory(nvml, instance), capability))
    return tuple(found)


def _memory(nvml: Any, handle: Any) -> float | None:
    try:
        return round(float(nvml.nvmlDeviceGetMemoryInfo(handle).total) / 2**30, 1)
    except Exception:
        # Devices that share the host's memory (Jetson, GB10) report none of their own.
        return None


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _proc_devices(proc: Path, details: dict[str, str]) -> list[Device]:
    """The kernel driver's files: ``/proc/driver/nvidia/gpus/0000:07:00.0/information``."""
    devices = []
    try:
        folders = sorted((proc / "gpus").iterdir())
    except OSError:
        return []
    for folder in folders:
        try:
            text = (folder / "information").read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        facts = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in text.splitlines())}
        devices.append(Device(facts.get("Model", ""), facts.get("GPU UUID", ""), bus=folder.name))
    try:
        version = (proc / "version").read_text(encoding="utf-8", errors="replace")
    except OSError:
        version = ""
    for word in version.split():
        if word[:1].isdigit() and word.count(".") >= 1:
            details.setdefault("driver", word)
            break
    return [one for one in devices if one.name]


def visible_devices(devices: Sequence[Device], setting: str | None, *, order: str = "", warnings: list[str] | None = None) -> list[Device]:
    """Return the devices that CUDA would enumerate under ``CUDA_VISIBLE_DEVICES=setting``.

    As the CUDA programming guide says (https://docs.nvidia.com/cuda/cuda-c-programming-guide/#cuda-environment-variables): indices,
    UUIDs or unambiguous beginnings of them, MIG ids; the first entry that names nothing hides itself and all after it.
    A process sees one MIG instance at most.
    """
    if setting is None:
        return _unrestricted(devices)
    chosen: list[Device] = []
    for entry in (part.strip() for part in setting.split(",")):
        device = _named(devices, entry)
        if device is None or device in chosen:
            # A repeated device makes CUDA return no devices at all.
            if device is not None:
                return []
            break
        chosen.append(device)
    numbered = any(whole_number(part.strip()) is not None for part in setting.split(","))
    if numbered and order != "PCI_BUS_ID" and warnings is not None and len({(one.name, one.memory) for one in devices}) > 1:
        warnings.append(
            "the GPUs differ and CUDA_DEVICE_ORDER is not PCI_BUS_ID: CUDA numbers them by speed, so others than listed may be visible"
        )
    return chosen


def _unrestricted(devices: Sequence[Device]) -> list[Device]:
    found: list[Device] = []
    for device in devices:
        found.extend(device.instances[:1] if device.instances else (device,))
    return found


def _named(devices: Sequence[Device], entry: str) -> Device | None:
    index = whole_number(entry)
    if index is not None:
        if index >= len(devices):
            return None
        device = devices[index]
        return device.instances[0] if device.instances else device
    if entry.startswith("GPU-"):
        matching = [one for one in devices if one.uuid.lower().startswith(entry.lower())]
        return matching[0] if len(matching) == 1 else None
    if entry.startswith("MIG-"):
        return _instance_named(devices, entry)
    return None


def _instance_named(devices: Sequence[Device], entry: str) -> Device | None:
    if entry.startswith("MIG-GPU-"):
        # The form before driver 470: MIG-GPU-<uuid>/<gpu instance>/<compute instance>.
        parent = [one for one in devices if one.uuid == entry.removeprefix("MIG-").partition("/")[0]]
        exact = [instance for one in parent for instance in one.instances if instance.uuid == entry]
        return (exact or [instance for one in parent for instance in one.instances[:1]] or [None])[0]  # type: ignore[list-item]
    matching = [instance for one in devices for instance in one.instances if instance.uuid.lower().startswith(entry.lower())]
    return matching[0] if len(matching) == 1 else None


def _as_accelerator(device: Device) -> Accelerator:
    from troubleshoot.reading.environment.hardware import accelerator_named, architecture_of

    known = accelerator_named(device.name, "local", memory=device.memory)
    if device.capability is None:
        return known
    architecture = known.architecture or architecture_of(device.capability)
    return Accelerator(device.name, "cuda", "local", device.capability, architecture, known.memory)


def _counted(accelerators: Sequence[Accelerator]) -> tuple[Accelerator, ...]:
    from troubleshoot.reading.environment.gathering import Draft

    draft = Draft("local")
    for one in accelerators:
        draft.accelerator(one)
    return tuple(draft.accelerators)


def _apple(machine: str) -> Found:
    if machine != "arm64":
        return Found()
    name = "Apple silicon"
    try:
        import ctypes

        libc = ctypes.CDLL("libc.dylib")
        size = ctypes.c_size_t(128)
        buffer = ctypes.create_string_buffer(128)
        if libc.sysctlbyname(b"machdep.cpu.brand_string", buffer, ctypes.byref(size), None, 0) == 0:
            name = buffer.value.decode("ascii", "replace")
    except (OSError, AttributeError):
        pass
    from troubleshoot.reading.environment.hardware import find_gpu

    known = find_gpu(name)
    return Found((Accelerator(name, "mps", "local", architecture=known.architecture if known else None),), True)


def _kfd_devices(kfd: Path, environ: Mapping[str, str]) -> tuple[Accelerator, ...] | None:
    """ROCm's view in sysfs: a node with a gfx target version is a GPU, ``90010`` standing for gfx90a."""
    from troubleshoot.reading.environment import gpus

    try:
        nodes = sorted(kfd.iterdir(), key=lambda node: int(node.name) if node.name.isdigit() else 0)
    except OSError:
        return None
    found: list[Accelerator] = []
    for node in nodes:
        try:
            text = (node / "properties").read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        facts = dict(line.split(None, 1) for line in text.splitlines() if " " in line)
        version = facts.get("gfx_target_version", "0").strip()
        if not version.isdigit() or int(version) == 0:
            continue
        target = gfx_target(int(version))
        found.append(Accelerator(target, "rocm", "local", architecture=gpus.GFX.get(target), memory=_kfd_memory(node)))
    setting = environ.get("HIP_VISIBLE_DEVICES", environ.get("CUDA_VISIBLE_DEVICES"))
    if setting is not None:
        indices = [index for part in setting.split(",") if (index := whole_number(part.strip())) is not None]
        if indices or not setting.strip():
            found = [found[index] for index in indices if index < len(found)]
    return _counted(found)


def gfx_target(version: int) -> str:
    """Return the LLVM target of a ``gfx_target_version``: major, minor and stepping in two decimal digits each, printed in hexadecimal."""
    return f"gfx{version // 10000}{version // 100 % 100:x}{version % 100:x}"


def _kfd_memory(node: Path) -> float | None:
    sizes = []
    try:
        for bank in (node / "mem_banks").iterdir():
            for line in (bank / "properties").read_text(encoding="utf-8", errors="replace").splitlines():
                if line.startswith("size_in_bytes"):
                    sizes.append(int(line.split()[1]))
    except (OSError, ValueError, IndexError):
        return None
    return round(max(sizes) / 2**30, 1) if sizes else None
