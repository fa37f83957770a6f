"""The interpreter that runs this, other interpreters, and what NVML says of devices."""

from __future__ import annotations

import importlib.metadata
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from troubleshoot.basics.errors import EnvironmentProbeError
from troubleshoot.reading.environment import (
    ONE_LINE_PROBE,
    deep_environment,
    foreign_environment,
    load_environment,
    local_environment,
    to_json,
)
from troubleshoot.reading.environment.devices import Device, gfx_target, local_accelerators, visible_devices
from troubleshoot.reading.environment.package_names import normalise_name


def test_the_local_packages_are_those_that_importlib_metadata_finds() -> None:
    """The names of the metadata directories say the same as the metadata."""
    environment = local_environment()
    expected: dict[str, str] = {}
    for one in importlib.metadata.distributions():
        expected.setdefault(normalise_name(one.metadata["Name"]), one.version)
    assert {one.name: one.version for one in environment.packages} == expected
    assert environment.closed_packages
    assert environment.python == ".".join(map(str, sys.version_info[:3]))
    missing = environment.package("surely-not-installed")
    assert missing is not None
    assert missing.absent


def test_the_build_of_torch_is_known_without_importing_it() -> None:
    """torch/version.py is read as text."""
    torch = pytest.importorskip("torch")
    details = local_environment().details
    if torch.version.cuda:
        assert details["torch.cuda"] == torch.version.cuda
    elif not torch.version.hip and sys.platform != "darwin":
        assert details["torch.cuda"] == "cpu"


def test_the_first_of_two_installations_counts(tmp_path: Path) -> None:
    """As for the import system; a directory that is missing or unreadable is passed over."""
    for place, name in (
        ("one", "Torch-2.3.0.dist-info"),
        ("two", "torch-2.4.0.dist-info"),
        ("two", "zope.interface-5.0-py3.9-linux-x86_64.egg-info"),
    ):
        (tmp_path / place / name).mkdir(parents=True)
    environment = local_environment(path=[str(tmp_path / "none"), str(tmp_path / "one"), str(tmp_path / "two")])
    assert {one.name: one.version for one in environment.packages} == {"torch": "2.3.0", "zope-interface": "5.0"}


def test_probing_imports_nothing_heavy() -> None:
    """No torch, importlib.metadata, subprocess, email, logging or pathlib's friends in a start-up that must stay short."""
    code = (
        "import sys; before = set(sys.modules)\n"
        "from troubleshoot.reading.environment import local_environment, parse_environment\n"
        "local_environment(); parse_environment(['Traceback (most recent call last):'])\n"
        "print('\\n'.join(set(sys.modules) - before))"
    )
    loaded = set(
        subprocess.run(
            [sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2]
        ).stdout.split()
    )
    heavy = {
        "torch",
        "importlib.metadata",
        "subprocess",
        "email",
        "logging",
        "platform",
        "json",
        "pathlib",
        "rich",
        "yaml",
        "rapidfuzz",
        "asyncio",
        "difflib",
        "packaging",
    }
    assert not heavy & loaded
    assert "troubleshoot.reading.environment.gpus" not in loaded


def test_another_interpreter_is_asked() -> None:
    """The same interpreter asked from outside gives the same answer."""
    asked, local = foreign_environment(sys.executable), local_environment()
    assert {one.name: one.version for one in asked.packages} == {one.name: one.version for one in local.packages}
    assert asked.closed_packages
    assert (asked.python, asked.os, asked.details.get("torch.cuda")) == (local.python, local.os, local.details.get("torch.cuda"))


def test_a_virtual_environment_may_be_given_by_its_directory() -> None:
    """People name the folder."""
    assert foreign_environment(sys.prefix).python == local_environment().python


@pytest.mark.skipif(os.name == "nt", reason="shell scripts")
@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("#!/bin/sh\nsleep 30\n", "did not answer within"),
        ("#!/bin/sh\necho hello; exit 3\n", "exit code 3"),
        ("#!/bin/sh\nkill -SEGV $$\n", "signal 11"),
        ("not a program", "cannot be run|exit code"),
    ],
)
def test_an_interpreter_that_does_not_answer_is_an_error_that_says_why(tmp_path: Path, script: str, message: str) -> None:
    """Hanging, failing, crashing, or no interpreter at all."""
    file = tmp_path / "python"
    file.write_text(script)
    file.chmod(0o755)
    with pytest.raises(EnvironmentProbeError, match=message):
        foreign_environment(file, timeout=2)


def test_a_missing_interpreter_is_an_error_that_says_what_to_give(tmp_path: Path) -> None:
    """The path, and how to find the right one."""
    with pytest.raises(EnvironmentProbeError, match=r"sys\.executable"):
        foreign_environment(tmp_path / "python")
    with pytest.raises(EnvironmentProbeError, match=r"bin/python"):
        foreign_environment(tmp_path)


@pytest.mark.torch
def test_the_deep_probe_reports_what_torch_says() -> None:
    """Its version, build and devices, asked in another process."""
    torch = pytest.importorskip("torch")
    environment = deep_environment()
    assert environment.details["torch.version"] == torch.__version__
    assert environment.details["cuda.available"] == str(torch.cuda.is_available()).lower()
    if torch.cuda.is_available():
        assert environment.accelerators[0].capability == torch.cuda.get_device_capability(0)
    elif not environment.accelerators:
        assert environment.closed_accelerators


def test_the_one_line_probe_runs_in_a_shell_and_is_read_back(tmp_path: Path) -> None:
    """It needs nothing installed, and no character that a shell would change."""
    inside = ONE_LINE_PROBE.removeprefix('python -c "').removesuffix('"')
    assert not set(inside) & set('"$`\\!%\n')
    command = ONE_LINE_PROBE.replace("python", f'"{sys.executable}"', 1)
    output = subprocess.run(command, shell=True, capture_output=True, text=True, check=True).stdout
    (tmp_path / "env.json").write_text(output)
    environment = load_environment(tmp_path / "env.json")
    local = local_environment()
    assert {one.name: one.version for one in environment.packages} == {one.name: one.version for one in local.packages}
    assert environment.closed_packages
    assert (environment.python, environment.os) == (local.python, local.os)


@pytest.mark.parametrize("width", [80, 200, 1000])
def test_the_output_of_the_probe_may_be_wrapped(tmp_path: Path, width: int) -> None:
    """A terminal or an editor breaks the one line."""
    text = (Path(__file__).parents[1] / "data" / "environments" / "one_line_probe.json").read_text().strip()
    (tmp_path / "env").write_text("\n".join(text[start : start + width] for start in range(0, len(text), width)))
    assert len(load_environment(tmp_path / "env").packages) == 71


def test_the_tools_own_json_is_read_back(tmp_path: Path) -> None:
    """What one machine writes another reads."""
    environment = local_environment()
    (tmp_path / "env.json").write_text(json.dumps(to_json(environment), indent=1))
    again = load_environment(tmp_path / "env.json")
    assert {one.name: one.version for one in again.packages} == {one.name: one.version for one in environment.packages}
    assert (again.python, again.os, again.details, again.closed_packages) == (environment.python, environment.os, environment.details, True)


class FakeNvml:
    """Stands in for nvidia-ml-py where no GPU is: two A100 (the second split into two MIG instances) and a T4."""

    gpus = (
        ("NVIDIA A100-SXM4-80GB", "GPU-aaaa1111-0000", 80, (8, 0), ()),
        ("NVIDIA A100-SXM4-80GB", "GPU-aaaa2222-0000", 80, (8, 0), (("MIG-bbbb1111", 40), ("MIG-bbbb2222", 20))),
        ("Tesla T4", "GPU-cccc3333-0000", 15, (7, 5), ()),
    )

    def __init__(self, failing: str = "") -> None:
        self.failing = failing
        self.open = 0

    def __getattr__(self, name: str) -> Callable[..., Any]:
        raise AttributeError(name)

    def nvmlInit(self) -> None:  # noqa: N802
        if self.failing == "init":
            raise RuntimeError("Driver/library version mismatch")
        self.open += 1

    def nvmlShutdown(self) -> None:  # noqa: N802
        self.open -= 1

    def nvmlSystemGetDriverVersion(self) -> bytes:  # noqa: N802
        return b"550.54.15"

    def nvmlSystemGetCudaDriverVersion(self) -> int:  # noqa: N802
        return 12040

    def nvmlDeviceGetCount(self) -> int:  # noqa: N802
        return len(self.gpus)

    def nvmlDeviceGetHandleByIndex(self, index: int) -> tuple[int, int | None]:  # noqa: N802
        return index, None

    def nvmlDeviceGetName(self, handle: tuple[int, int | None]) -> str:  # noqa: N802
        return self.gpus[handle[0]][0]

    def nvmlDeviceGetUUID(self, handle: tuple[int, int | None]) -> str:  # noqa: N802
        gpu = self.gpus[handle[0]]
        return gpu[1] if handle[1] is None else gpu[4][handle[1]][0]

    def nvmlDeviceGetMemoryInfo(self, handle: tuple[int, int | None]) -> SimpleNamespace:  # noqa: N802
        gpu = self.gpus[handle[0]]
        if self.failing == "memory":
            raise RuntimeError("Not Supported")
        return SimpleNamespace(total=(gpu[2] if handle[1] is None else gpu[4][handle[1]][1]) * 2**30)

    def nvmlDeviceGetCudaComputeCapability(self, handle: tuple[int, int | None]) -> tuple[int, int]:  # noqa: N802
        return self.gpus[handle[0]][3]

    def nvmlDeviceGetPciInfo(self, handle: tuple[int, int | None]) -> SimpleNamespace:  # noqa: N802
        return SimpleNamespace(busId=f"0000:0{handle[0]}:00.0")

    def nvmlDeviceGetMigMode(self, handle: tuple[int, int | None]) -> tuple[int, int]:  # noqa: N802
        if not self.gpus[handle[0]][4]:
            raise RuntimeError("Not Supported")
        return 1, 1

    def nvmlDeviceGetMaxMigDeviceCount(self, handle: tuple[int, int | None]) -> int:  # noqa: N802
        return 7

    def nvmlDeviceGetMigDeviceHandleByIndex(self, handle: tuple[int, int | None], slot: int) -> tuple[int, int]:  # noqa: N802
        if slot >= len(self.gpus[handle[0]][4]):
            raise RuntimeError("Not Found")
        return handle[0], slot


A80, T4 = ("NVIDIA A100-SXM4-80GB", 80.0), ("Tesla T4", 15.0)
MIG40, MIG20 = ("NVIDIA A100-SXM4-80GB", 40.0), ("NVIDIA A100-SXM4-80GB", 20.0)


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        (None, [A80, MIG40, T4]),
        ("0", [A80]),
        ("2,0", [T4, A80]),
        ("", []),
        ("-1", []),
        ("0,-1,2", [A80]),
        ("7", []),
        ("GPU-cccc", [T4]),
        ("GPU-aaaa", []),
        ("GPU-aaaa1", [A80]),
        ("gpu-cccc", []),
        ("MIG-bbbb2", [MIG20]),
        ("MIG-GPU-aaaa2222-0000/1/0", [MIG40]),
        ("1", [MIG40]),
        ("nonsense", []),
        (" 2 ", [T4]),
        ("2,2", []),
        ("NoDevFiles", []),
    ],
)
def test_cuda_visible_devices_is_honoured(setting: str | None, expected: list[tuple[str, float]]) -> None:
    """Indices, UUIDs and beginnings of them, MIG ids; the first that names nothing ends the list."""
    nvml = FakeNvml()
    found = local_accelerators(
        {} if setting is None else {"CUDA_VISIBLE_DEVICES": setting}, load_nvml=lambda: nvml, platform=("linux", "x86_64")
    )
    assert [(one.name, one.memory) for one in found.accelerators] == expected
    assert found.closed
    assert found.details == {"driver": "550.54.15", "driver.cuda": "12.4"}
    assert nvml.open == 0


def test_equal_devices_are_counted() -> None:
    """Eight GPUs of a kind are one line."""
    devices = [Device("NVIDIA H100 80GB HBM3", f"GPU-{index}", 79.6, (9, 0)) for index in range(8)]
    assert len(visible_devices(devices, None)) == 8


@given(st.lists(st.sampled_from(["0", "1", "2", "3", "-1", "x", "GPU-a1", ""]), max_size=6))
def test_what_is_visible_is_a_selection_of_what_is_there(entries: list[str]) -> None:
    """In the order asked for, none twice, and never more after a wrong entry."""
    devices = [Device("T4", f"GPU-a{index}", 15.0, (7, 5)) for index in range(3)]
    visible = visible_devices(devices, ",".join(entries))
    assert len({one.uuid for one in visible}) == len(visible)
    assert set(visible) <= set(devices)
    assert len(visible) <= len(entries)


def test_a_driver_that_does_not_answer_gives_a_warning_and_no_conclusion() -> None:
    """Nothing is known then: the list stays open."""
    found = local_accelerators({}, load_nvml=lambda: FakeNvml("init"), platform=("linux", "x86_64"))
    assert found.accelerators == ()
    assert not found.closed
    assert "mismatch" in found.warnings[0]


def test_a_device_that_shares_the_hosts_memory_has_the_nominal_size() -> None:
    """Jetson and GB10 report no memory of their own."""
    found = local_accelerators({"CUDA_VISIBLE_DEVICES": "0"}, load_nvml=lambda: FakeNvml("memory"), platform=("linux", "x86_64"))
    assert found.accelerators[0].memory == 80


def test_without_nvml_the_kernel_driver_names_the_gpus(tmp_path: Path) -> None:
    """/proc/driver/nvidia is enough for names and generations."""
    for bus, model in (("0000:07:00.0", "NVIDIA A100-SXM4-40GB"), ("0000:0f:00.0", "NVIDIA A100-SXM4-40GB")):
        folder = tmp_path / "gpus" / bus
        folder.mkdir(parents=True)
        (folder / "information").write_text(
            f"Model: \t\t {model}\nIRQ:   \t\t 255\nGPU UUID: \t GPU-5a1b7c3d-{bus[5:7]}\nBus Type: \t PCIe\n"
        )
    (tmp_path / "version").write_text(
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 01:15:15 UTC 2023\nGCC version: gcc 12\n"
    )

    def missing() -> Any:
        raise ImportError("pynvml")

    found = local_accelerators({}, load_nvml=missing, proc=tmp_path, platform=("linux", "x86_64"))
    (gpu,) = found.accelerators
    assert (gpu.name, gpu.capability, gpu.memory, gpu.count) == ("NVIDIA A100-SXM4-40GB", (8, 0), 40.0, 2)
    assert found.details["driver"] == "535.104.05"
    assert (
        local_accelerators({"CUDA_VISIBLE_DEVICES": "GPU-5a1b7c3d-0f"}, load_nvml=missing, proc=tmp_path, platform=("linux", "x86_64"))
        .accelerators[0]
        .count
        == 1
    )


def test_an_amd_gpu_is_found_in_sysfs(tmp_path: Path) -> None:
    """The topology of the kernel driver names target and memory; processors are no accelerators."""
    for node, version in (("0", 0), ("1", 90010), ("2", 90010)):
        bank = tmp_path / node / "mem_banks" / "0"
        bank.mkdir(parents=True)
        (tmp_path / node / "properties").write_text(f"cpu_cores_count 0\nsimd_count 440\ngfx_target_version {version}\n")
        (bank / "properties").write_text("heap_type 1\nsize_in_bytes 68702699520\n")
    (gpu,) = local_accelerators({}, proc=tmp_path / "none", kfd=tmp_path, platform=("linux", "x86_64")).accelerators
    assert (gpu.name, gpu.kind, gpu.architecture, gpu.memory, gpu.count) == ("gfx90a", "rocm", "cdna2", 64.0, 2)
    hidden = local_accelerators({"HIP_VISIBLE_DEVICES": ""}, proc=tmp_path / "none", kfd=tmp_path, platform=("linux", "x86_64"))
    assert hidden.accelerators == ()
    assert hidden.closed


@pytest.mark.parametrize(
    ("version", "target"),
    [(90010, "gfx90a"), (90402, "gfx942"), (100300, "gfx1030"), (110501, "gfx1151"), (90006, "gfx906"), (120001, "gfx1201")],
)
def test_target_versions_are_spelled_as_llvm_does(version: int, target: str) -> None:
    """Stepping in hexadecimal."""
    assert gfx_target(version) == target


def test_an_intel_mac_has_no_accelerator_that_torch_would_use() -> None:
    """MPS is looked for on Apple silicon only."""
    assert local_accelerators({}, platform=("darwin", "x86_64")).accelerators == ()


def test_the_real_driver_is_asked_where_there_is_one() -> None:
    """Runs where NVML and a GPU exist."""
    nvml = pytest.importorskip("pynvml")
    try:
        nvml.nvmlInit()
    except Exception as error:
        pytest.skip(f"no NVIDIA driver: {error}")
    count = nvml.nvmlDeviceGetCount()
    nvml.nvmlShutdown()
    found = local_accelerators({})
    assert found.closed
    assert sum(one.count for one in found.accelerators) == count
    assert all(one.capability and one.memory for one in found.accelerators)
