"""Names and listings of packages: PEP 503 names, conda's names for the same thing, and when a listing is complete."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

#: Packages that bear another name on conda channels.
CONDA_NAMES: dict[str, str] = {
    "pytorch": "torch", "pytorch-gpu": "torch", "pytorch-cpu": "torch", "tensorflow-base": "tensorflow", "py-opencv": "opencv-python",
    "opencv": "opencv-python", "msgpack-python": "msgpack", "python-xxhash": "xxhash", "faiss-gpu": "faiss-gpu", "python-tzdata": "tzdata",
    "sentencepiece-python": "sentencepiece", "pytorch-triton": "pytorch-triton", "torchtriton": "triton", "matplotlib-base": "matplotlib",
}  # fmt: skip

#: Packages whose import name is not that of their distribution.
_IMPORTS = {"open_clip": "open-clip-torch"}

#: What a package has always required: a listing that names the first without the others was shortened.
_WITNESSES: dict[str, tuple[str, ...]] = {
    "torch": ("typing-extensions",),
    "transformers": ("tqdm", "packaging"),
    "accelerate": ("psutil",),
    "torchvision": ("torch",),
    "torchaudio": ("torch",),
    "pandas": ("python-dateutil",),
    "matplotlib": ("cycler",),
    "jinja2": ("markupsafe",),
    "sympy": ("mpmath",),
}
_TORCH_2 = ("filelock", "jinja2", "sympy", "networkx")

#: Shorter listings are taken for excerpts.
_SHORTEST = 8

_SAME = str.maketrans("_.", "--")


def normalise_name(name: str) -> str:
    """Return the PEP 503 name of a distribution: lower case, runs of ``-``, ``_`` and ``.`` as one ``-``."""
    name = name.lower().translate(_SAME)
    while "--" in name:
        name = name.replace("--", "-")
    return name


def distribution_of(import_name: str) -> str:
    """Return the PEP 503 name of the distribution that brings a package: ``open_clip`` is in open-clip-torch."""
    return _IMPORTS.get(import_name) or normalise_name(import_name)


def looks_complete(versions: Mapping[str, str | None]) -> bool:
    """Tell whether a listing names everything that is installed, judged by what its packages require.

    People paste the lines that they find interesting, or pins from a requirements file; concluding from those that a
    package is absent would be wrong. A listing without torch is not that of the program that failed.
    """
    if len(versions) < _SHORTEST or "torch" not in versions:
        return False
    wanted: Iterable[str] = (needed for name, all_ in _WITNESSES.items() if name in versions for needed in all_)
    if not all(needed in versions for needed in wanted):
        return False
    major = (versions["torch"] or "").partition(".")[0]
    return not (major.isdigit() and int(major) >= 2) or all(needed in versions for needed in _TORCH_2)
