"""What another torch would download is told by the index before anything is loaded, and nothing is loaded without consent."""

from __future__ import annotations

import base64
import hashlib
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("pip")

from troubleshoot.lab.verify import installers, isolated, verify
from troubleshoot.lab.verify.installers import Download, IsolationError
from troubleshoot.lab.verify.signals import Stop

pytestmark = pytest.mark.torch


def _wheel(folder: Path, name: str, version: str, *, requires: str = "", filling: int = 0) -> Path:
    """Write a wheel that pip accepts."""
    info = f"{name}-{version}.dist-info"
    needs = f"Requires-Dist: {requires}\n" if requires else ""
    files = {
        f"{name}/__init__.py": f"__version__ = {version!r}\n" + "#" * filling,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needs}",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    rows = []
    path = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for inside, text in files.items():
            digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
            rows.append(f"{inside},sha256={digest},{len(text.encode())}")
            archive.writestr(inside, text)
        archive.writestr(f"{info}/RECORD", "\n".join([*rows, f"{info}/RECORD,,"]) + "\n")
    return path


@pytest.fixture
def wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of wheels that is pip's only source, and a cache folder of the test's own."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "cache"))
    return folder


def test_the_size_is_that_of_all_that_is_required(wheels: Path, tmp_path: Path) -> None:
    """The wheel and what it requires, by their real sizes; nothing is installed for it."""
    one = _wheel(wheels, "torch", "9.9.1", requires="companion", filling=3000)
    other = _wheel(wheels, "companion", "1.0", filling=500)
    environment = isolated.this_interpreter().environment()
    found = installers.planned({"torch": "9.9.1"}, tmp_path, Stop(), environment)
    assert found == Download(2, one.stat().st_size + other.stat().st_size)
    assert str(Download(25, 2_340_000_000)) == "2.3 GB in 25 files"
    assert str(Download(2, 5_200_000, 1)) == "5 MB in 2 files, and 1 of unknown size"


def test_a_release_without_a_wheel_is_told_apart_from_no_index(wheels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No wheel for this Python is no way; an index out of reach is `offline`."""
    environment = isolated.this_interpreter().environment()
    with pytest.raises(IsolationError, match=r"cannot install torch==1\.2\.3 for this Python") as caught:
        installers.planned({"torch": "1.2.3"}, tmp_path, Stop(), environment)
    assert not caught.value.offline
    monkeypatch.setenv("PIP_NO_INDEX", "0")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "1")
    with pytest.raises(IsolationError, match="offline") as caught:
        installers.planned({"torch": "1.2.3"}, tmp_path, Stop(), isolated.this_interpreter().environment())
    assert caught.value.offline


@pytest.mark.parametrize(
    "printed",
    [
        "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device\n",
        "ERROR: Exception:\nTraceback (most recent call last):\n"
        "pip._vendor.urllib3.exceptions.ProtocolError: (\"Connection broken: OSError(28, 'No space left on device')\", "
        "OSError(28, 'No space left on device'))\n",
    ],
)
def test_a_full_disk_is_told(printed: str) -> None:
    """As pip told it on a full disk, twice: the user learns what takes the space."""
    assert "no space is left on the disk for torch==2.0.1: remove environments" in str(installers._failed("torch==2.0.1", printed))


def test_without_consent_no_torch_is_downloaded(wheels: Path) -> None:
    """The size is told, the answer is no by default, and no environment is made."""
    _wheel(wheels, "torch", "2.0.1", filling=4000)
    asked: list[str] = []

    def no(text: str) -> bool:
        asked.append(text)
        return False

    result = verify("torch/half-on-cpu", case="half_conv_on_cpu", device="cpu", isolate=True, consent=no)
    assert result.verdict == "cannot-run"
    assert result.before.why.startswith("needs --yes: torch 2.0.1: ") and result.before.why.endswith("to download")
    assert len(asked) == 1 and "torch 2.0.1" in asked[0]
    assert not isolated.cache_root().exists() or list(isolated.cache_root().iterdir()) == []
    assert verify("torch/half-on-cpu", case="half_conv_on_cpu", device="cpu", isolate=True).before.why == result.before.why


def test_a_fault_of_other_releases_says_so() -> None:
    """On a torch that has repaired it, the case is not `not reproduced` but cannot be shown, with a way to see it."""
    why = verify("torch/half-on-cpu", case="half_conv_on_cpu", device="cpu").before.why
    assert "shows with torch <2.2 only" in why and "--isolated" in why


@pytest.mark.slow
def test_an_older_torch_shows_what_it_lacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Downloads torch 2.0.1 (2.3 GB) and sees the convolution refused in float16 and accepted in float32. Ask for it by name."""
    import os

    if not os.environ.get("TROUBLESHOOT_DOWNLOAD_TORCH"):
        pytest.skip("downloads 2.3 GB: set TROUBLESHOOT_DOWNLOAD_TORCH=1")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    result = verify("torch/half-on-cpu", case="half_conv_on_cpu", device="cpu", isolate=True, fixes=["float32"], consent=lambda text: True)
    assert result.before.outcome == "reproduced"
    assert result.environment["packages"]["torch"].startswith("2.0.1")
    assert [one.outcome for one in result.fixes] == ["works"]
