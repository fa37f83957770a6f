"""Pasted listings and dumps become an Environment: recorded output of the real tools, and properties of what is read."""

from __future__ import annotations

import string
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from troubleshoot.basics.errors import InputError
from troubleshoot.reading.environment import Environment, load_environment, parse_environment

DATA = Path(__file__).parents[1] / "data" / "environments"


def read(name: str) -> Environment:
    return parse_environment((DATA / name).read_text(encoding="utf-8").splitlines())


def versions(environment: Environment) -> dict[str, str | None]:
    return {one.name: one.version for one in environment.packages}


@pytest.mark.parametrize("name", ["pip_list.txt", "pip_freeze.txt", "pip_list.json", "uv_pip_list.txt", "one_line_probe.json"])
def test_a_complete_listing_names_every_package_and_closes_the_list(name: str) -> None:
    """What is not in pip's list is absent."""
    environment = read(name)
    assert environment.closed_packages
    assert versions(environment)["torch"] == "2.15.0"
    assert versions(environment)["my-proj"] == "0.1"
    assert versions(environment)["typing-extensions"] == "4.16.0"
    missing = environment.package("apex")
    assert missing is not None
    assert missing.absent


def test_all_listings_of_one_environment_agree() -> None:
    """Pip list, its JSON, uv and the probe were recorded from one environment and must say the same."""
    listed = versions(read("pip_list.txt"))
    assert versions(read("pip_list.json")) == listed == versions(read("uv_pip_list.txt")) == versions(read("one_line_probe.json"))
    frozen = versions(read("pip_freeze.txt"))
    assert frozen == {name: version for name, version in listed.items() if name in frozen}
    assert set(listed) - set(frozen) <= {"pip", "setuptools", "wheel"}


def test_an_editable_install_without_a_name_leaves_the_list_open() -> None:
    """Uv freeze writes only the directory of an editable install: the package may be any, so none is absent."""
    environment = read("uv_pip_freeze.txt")
    assert not environment.closed_packages
    assert environment.package("my-proj") is None


@pytest.mark.parametrize(("name", "build"), [("pip_freeze.txt", "13.2"), ("conda_list.txt", "10.1"), ("collect_env_2.4_wsl.txt", "12.1")])
def test_the_cuda_version_of_the_torch_build_is_found(name: str, build: str) -> None:
    """From the local version, from the CUDA runtime that the wheel requires, or from conda's build string."""
    assert read(name).details["torch.cuda"] == build


@pytest.mark.parametrize(
    ("lines", "closed"),
    [
        (["torch==2.3.0", "transformers==4.50.1", "accelerate==1.0.0"], False),
        (["$ pip list | grep -i torch", "torch 2.3.0", "torchvision 0.18.0"], False),
        (["Package Version", "------- -------", "torch 2.3.0", "numpy 1.26.4"], False),
        ([f"package{index}==1.{index}" for index in range(30)], False),
        (["$ pip freeze", *(f"package{index}==1.{index}" for index in range(30))], True),
        (["$ pip freeze | head -30", *(f"package{index}==1.{index}" for index in range(30))], False),
    ],
)
def test_an_excerpt_does_not_close_the_list(lines: list[str], closed: bool) -> None:
    """A few pins, a filtered list and a requirements file say nothing of what they leave out."""
    assert parse_environment(lines).closed_packages is closed


def test_a_listing_without_what_its_packages_require_was_shortened() -> None:
    """Without typing-extensions there is no torch, so a line is missing and the list stays open."""
    lines = (DATA / "pip_list.txt").read_text().splitlines()
    kept = [line for line in lines if not line.startswith("typing_extensions")]
    assert parse_environment(lines).closed_packages
    assert not parse_environment(kept).closed_packages


@pytest.mark.parametrize(
    ("line", "name", "version"),
    [
        ("torch==2.3.0+cu121", "torch", "2.3.0+cu121"),
        ("Flash_Attn==2.5.8", "flash-attn", "2.5.8"),
        (
            "numpy @ file:///croot/numpy_and_numpy_base_1682/work/dist/numpy-1.26.4-cp311-cp311-linux_x86_64.whl#sha256=ab",
            "numpy",
            "1.26.4",
        ),
        ("transformers @ git+https://github.com/huggingface/transformers@abc123", "transformers", ""),
        ("-e git+https://github.com/Dao-AILab/flash-attention.git@abc#egg=flash_attn", "flash-attn", ""),
        ("apex @ file:///home/user/apex", "apex", ""),
        ("vllm==0.6.1.post1", "vllm", "0.6.1.post1"),
        ("torch==2.3.0 ; python_version >= '3.8'", "torch", "2.3.0"),
        ("bitsandbytes==0.43.0 \\", "bitsandbytes", "0.43.0"),
        ("xformers[all]==0.0.26", "xformers", "0.0.26"),
    ],
)
def test_every_form_of_a_frozen_requirement_is_read(line: str, name: str, version: str) -> None:
    """Pins, direct references, wheels and editable installs."""
    assert versions(parse_environment(["nothing here", line])) == {name: version}


def test_conda_names_become_names_on_pypi() -> None:
    """Conda calls it pytorch; the knowledge base asks for torch."""
    environment = read("conda_list.txt")
    assert versions(environment)["torch"] == "1.4.0"
    assert environment.python == "3.7.7"
    assert environment.details["cuda"] == "10.1.243"
    assert environment.closed_packages


def test_conda_env_export_is_read() -> None:
    """Conda's pins with builds, and pip's below them."""
    lines = [
        "name: ml",
        "channels:",
        "  - pytorch",
        "dependencies:",
        "  - python=3.10.13=h955ad1f_0",
        "  - pytorch=2.1.0=py3.10_cuda12.1_cudnn8.9.2_0",
        "  - pip:",
        "      - transformers==4.36.0",
        "prefix: /home/user/ml",
    ]
    environment = parse_environment(lines)
    assert versions(environment)["torch"] == "2.1.0"
    assert versions(environment)["transformers"] == "4.36.0"
    assert environment.python == "3.10.13"
    assert environment.details["torch.cuda"] == "12.1"


@pytest.mark.parametrize(
    ("name", "python", "system", "torch"),
    [
        ("collect_env_1.4_conda.txt", "3.7", "linux", "1.4.0"),
        ("collect_env_2.4_wsl.txt", "3.12.3", "wsl", "2.4.0+cu121"),
        ("collect_env_2.7_xpu.txt", "3.13.4", "linux", "2.7.1+xpu"),
        ("collect_env_2.13_cpu.txt", "3.11.7", "linux", "2.13.0+cpu"),
        ("collect_env_macos.txt", "3.10.11", "macos", "2.0.1"),
        ("collect_env_rocm.txt", "3.10.12", "linux", "2.5.1+rocm6.2"),
        ("transformers_env.txt", "3.11.7", "linux", "2.15.0+cu132"),
        ("transformers_env_4.32.txt", "3.11.3", "macos", "2.0.1"),
        ("accelerate_env.txt", "3.11.7", "linux", "2.15.0+cu132"),
        ("diffusers_env.txt", "3.11.7", "linux", "2.15.0+cu132"),
    ],
)
def test_dumps_of_the_tools_are_read(name: str, python: str, system: str, torch: str) -> None:
    """Python, operating system and torch, from every layout; a dump is no complete list."""
    environment = read(name)
    assert (environment.python, environment.os, versions(environment)["torch"]) == (python, system, torch)
    assert not environment.closed_packages
    assert environment.warnings == ()


def test_what_a_dump_calls_not_installed_is_absent() -> None:
    """``PEFT version: not installed`` is a fact."""
    peft = read("diffusers_env.txt").package("peft")
    assert peft is not None
    assert peft.absent
    assert read("diffusers_env.txt").package("apex") is None


@pytest.mark.parametrize(
    ("name", "kind", "architecture", "memory", "count", "line"),
    [
        ("collect_env_1.4_conda.txt", "cuda", "turing", 11, 2, 14),
        ("collect_env_2.4_wsl.txt", "cuda", "ada", 8, 1, 18),
        ("collect_env_2.7_xpu.txt", "xpu", "xe-hpg", None, 1, 28),
        ("collect_env_macos.txt", "mps", "apple-m1", None, 1, 26),
        ("collect_env_rocm.txt", "rocm", "cdna2", 128, 1, 14),
        ("nvidia_smi_450.txt", "cuda", "pascal", 11.9, 1, 9),
        ("nvidia_smi_460_windows.txt", "cuda", "turing", 8, 1, 8),
        ("nvidia_smi_545_wsl.txt", "cuda", "ampere", 6, 1, 9),
        ("nvidia_smi_610.txt", "cuda", "blackwell", 179.1, 2, 9),
        ("nvidia_smi_L.txt", "cuda", "ampere", 40, 2, 1),
        ("nvidia_smi_q.txt", "cuda", "volta", 15.8, 1, 9),
        ("rocminfo.txt", "rocm", "cdna2", 128, 1, 19),
    ],
)
def test_accelerators_are_read(name: str, kind: str, architecture: str, memory: float | None, count: int, line: int) -> None:
    """Each with its generation, memory, number and the line that says so."""
    (found,) = read(name).accelerators
    assert (found.kind, found.architecture, found.memory, found.count, found.line) == (kind, architecture, memory, count, line)


def test_nvidia_smi_lists_different_gpus_and_closes_the_list() -> None:
    """Two A100 and a T4, driver and CUDA version."""
    environment = read("nvidia_smi_550.txt")
    assert [(one.name, one.count, one.capability) for one in environment.accelerators] == [
        ("NVIDIA A100-SXM4-80GB", 2, (8, 0)),
        ("Tesla T4", 1, (7, 5)),
    ]
    assert environment.closed_accelerators
    assert environment.details == {"driver": "550.40.07", "driver.cuda": "12.4"}


def test_nvidia_smi_that_failed_says_nothing_about_gpus() -> None:
    """An error message is no table."""
    environment = parse_environment(["NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver."])
    assert not environment.closed_accelerators
    assert environment.accelerators == ()


def test_a_name_cut_by_nvidia_smi_that_fits_nothing_stays_unknown() -> None:
    """``NVIDIA GeForce ...`` is some GPU."""
    lines = (DATA / "nvidia_smi_545_wsl.txt").read_text().replace("NVIDIA GeForce RTX 3060 ...", "NVIDIA GeForce ...         ").splitlines()
    (found,) = parse_environment(lines).accelerators
    assert (found.name, found.capability, found.memory) == ("NVIDIA GeForce ...", None, 6.0)


def test_two_versions_of_one_package_give_a_warning() -> None:
    """Pip and conda may disagree; the first is used and the user told."""
    environment = parse_environment(["torch==2.3.0", "torch==2.4.0"])
    assert versions(environment) == {"torch": "2.3.0"}
    assert "2.4.0" in environment.warnings[0]


def test_a_local_version_does_not_contradict() -> None:
    """2.3.0 and 2.3.0+cu121 are one release; the longer one tells the build."""
    environment = parse_environment(["torch==2.3.0", "torch==2.3.0+cu121"])
    assert versions(environment) == {"torch": "2.3.0+cu121"}
    assert environment.warnings == ()


@pytest.mark.parametrize("name", sorted(path.name for path in DATA.iterdir() if path.suffix == ".txt"))
def test_what_surrounds_a_dump_does_not_change_what_it_says(name: str) -> None:
    """Prose before and after shifts the lines and nothing else."""
    lines = (DATA / name).read_text(encoding="utf-8").splitlines()
    plain = parse_environment(lines)
    framed = parse_environment(["My environment:", "```", *lines, "```", "", "Thanks!"])
    assert versions(framed) == versions(plain)
    assert framed.details == plain.details
    assert [(one.line or 0) - 2 for one in framed.packages] == [one.line for one in plain.packages]
    assert [(one.name, (one.line or 0) - 2) for one in framed.accelerators] == [(one.name, one.line) for one in plain.accelerators]


def test_given_line_numbers_are_used() -> None:
    """The numbers are those of the original text, not of the cleaned one."""
    environment = parse_environment(["x", "torch==2.3.0"], [10, 42])
    assert environment.packages[0].line == 42


@pytest.mark.parametrize(
    "line",
    [
        "if x.dtype == torch.float16:",
        "assert a==b",
        "attn = q @ k.transpose(-1, -2)",
        "RuntimeError: expected scalar type Half but found Float",
        "version: 2",
    ],
)
def test_code_and_messages_are_no_packages(line: str) -> None:
    """Comparison and matrix product look a little like pins."""
    environment = parse_environment([line] * 3)
    assert (environment.packages, environment.accelerators, environment.python) == ((), (), None)


_NAMES = st.from_regex(r"[a-z][a-z0-9]{1,8}(-[a-z0-9]{1,5})?", fullmatch=True)
_VERSIONS = st.from_regex(r"[0-9]{1,2}\.[0-9]{1,2}(\.[0-9]{1,2})?(\.post1|rc1|\+cu118)?", fullmatch=True)


@given(st.dictionaries(_NAMES, _VERSIONS, min_size=1, max_size=30))
def test_a_frozen_environment_is_read_back(packages: dict[str, str]) -> None:
    """Whatever pip could freeze is found again, name by name."""
    environment = parse_environment([f"{name}=={version}" for name, version in packages.items()])
    assert versions(environment) == packages


@given(st.dictionaries(_NAMES, _VERSIONS, min_size=1, max_size=30))
def test_columns_and_pins_say_the_same(packages: dict[str, str]) -> None:
    """Pip list prints what pip freeze prints."""
    width = max(len("Package"), *map(len, packages))
    columns = [
        f"{'Package':{width}} Version",
        f"{'-' * width} -------",
        *(f"{name:{width}} {version}" for name, version in packages.items()),
    ]
    assert versions(parse_environment(columns)) == packages


@given(
    st.lists(st.text(alphabet=string.printable + "é你\u2028", max_size=80), max_size=40),
    st.sampled_from(sorted(path.name for path in DATA.glob("*.txt"))),
    st.randoms(),
)
def test_no_text_makes_it_fail(noise: list[str], name: str, random: object) -> None:
    """Damaged dumps, mixed with anything, are read as far as they go."""
    lines = (DATA / name).read_text(encoding="utf-8").splitlines() + noise
    random.shuffle(lines)  # type: ignore[attr-defined]
    environment = parse_environment([line[: 1 + index * 7 % 90] for index, line in enumerate(lines)])
    assert all(one.line is not None and 1 <= one.line <= len(lines) for one in environment.packages)


def test_a_utf16_file_from_powershell_is_read(tmp_path: Path) -> None:
    """``pip freeze > env.txt`` in PowerShell 5 writes UTF-16."""
    file = tmp_path / "env.txt"
    file.write_bytes("torch==2.3.0\r\nnumpy==1.26.4\r\n".encode("utf-16"))
    environment = load_environment(file)
    assert versions(environment) == {"torch": "2.3.0", "numpy": "1.26.4"}
    assert environment.packages[0].source == "file"


@pytest.mark.parametrize("content", ["", "hello world\n", '{"a": 1}'])
def test_a_file_without_an_environment_is_an_error_that_says_what_to_give(tmp_path: Path, content: str) -> None:
    """The message names the formats and the one-line probe."""
    file = tmp_path / "env.txt"
    file.write_text(content)
    with pytest.raises(InputError, match=r"pip freeze[\s\S]*python -c"):
        load_environment(file)


def test_a_missing_file_is_an_error_with_its_name(tmp_path: Path) -> None:
    """Not a bare OSError."""
    with pytest.raises(InputError, match=r"nowhere\.txt"):
        load_environment(tmp_path / "nowhere.txt")


def test_of_a_list_that_no_machine_has_the_first_packages_count() -> None:
    """What is left out may not be taken for absent."""
    lines = ["Package Version", "------- -------", *(f"package-{number} 1.0" for number in range(10_000)), "torch 2.5.1", "pip 24.0"]
    environment = parse_environment(lines)
    assert len(environment.packages) == 4_000
    assert not environment.closed_packages
    assert any("4,000 packages" in warning for warning in environment.warnings)
