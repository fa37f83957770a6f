"""Which accelerator has which dtype: natively, emulated, slowly or not at all; and how people write its name.

The rules are in :mod:`troubleshoot.reading.environment.dtype_rules`, the names in :mod:`troubleshoot.reading.environment.gpus`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise

from troubleshoot.basics.errors import InputError
from troubleshoot.basics.patterns import anchored, searched
from troubleshoot.reading.environment import gpus
from troubleshoot.reading.environment.machine import Accelerator


@dataclass(frozen=True)
class Gpu:
    """One model of accelerator.

    ``kind`` is as in :class:`~troubleshoot.reading.environment.machine.Accelerator`, ``memory`` in GiB or None where the name leaves it
    open, ``laptop`` True for the mobile chip of that name.
    """

    name: str
    kind: str
    capability: tuple[int, int] | None
    architecture: str
    memory: float | None = None
    laptop: bool = False

    def accelerator(self, source: str, *, count: int = 1, line: int | None = None) -> Accelerator:
        """Return the accelerator that this is, as one fact of an environment."""
        return Accelerator(
            name=self.name,
            kind=self.kind,
            source=source,
            capability=self.capability,
            architecture=self.architecture,
            memory=self.memory,
            count=count,
            line=line,
        )


#: Words around a name that do not belong to it.
_VENDOR = frozenset({
    "nvidia", "geforce", "tesla", "amd", "radeon", "instinct", "intel", "apple", "huawei", "habana", "graphics", "gpu", "gpus", "card",
    "series", "generation", "gen", "blackwell", "workstation", "server", "edition", "silicon", "chip", "google", "cloud", "colab",
    "kaggle", "single", "a", "an", "one", "the", "my", "on", "dual", "tm", "r", "oam", "lc", "fhfl", "dgx", "hgx", "mig", "laptop",
    "mobile", "notebook", "with", "design", "pci",
})  # fmt: skip
_FORM = ("sxm", "hbm", "nvl", "gddr", "ddr", "pcie")
_SPACED = str.maketrans(dict.fromkeys("-_/,;:()[]'\"`™®\t\n", " "))


def _words(text: str) -> list[str]:
    return text.lower().translate(_SPACED).split()


def _size(word: str) -> float | None:
    """The number in 80gb, 16g or 24gib; None for another word."""
    for unit in ("gib", "gb", "g"):
        number = word.removesuffix(unit)
        if number != word:
            return float(number) if number.isdecimal() and len(number) <= 3 and number.isascii() else None
    return None


def _is_laptop(words: list[str]) -> bool:
    mobile = any(word in ("laptop", "mobile", "notebook", "maxq") for word in words)
    return mobile or ("max", "q") in pairwise(words)


def _name_words(words: list[str]) -> list[str]:
    """The words without vendor, form factor, memory (``80gb``, ``80 gb``), MIG profile (``1g.10gb``) and the marks of laptops."""
    kept = []
    for index, word in enumerate(words):
        after = words[index + 1] if index + 1 < len(words) else ""
        if word in _VENDOR or word.startswith(_FORM) or word in ("gb", "gib", "maxq"):
            continue
        if _size(word) is not None or ("g." in word and word.endswith("gb")):
            continue
        if (
            (word.isdecimal() and after in ("gb", "gib", "g"))
            or (word == "max" and after == "q")
            or (word == "q" and words[index - 1] == "max")
        ):
            continue
        kept.append(word)
    return kept


def normalise(text: str) -> str:
    """Return the name without vendor, form factor, memory and punctuation: ``NVIDIA A100-SXM4-80GB`` is ``a100``."""
    return _joined(_name_words(_words(text)))


def _joined(words: list[str]) -> str:
    return "".join(one for one in "".join(words) if one == "." or (one.isalnum() and one.isascii()))


def _entries() -> dict[str, Gpu]:
    found: dict[str, Gpu] = {}
    for kind, capability, architecture, names in gpus.GENERATIONS:
        for name, memory in names:
            gpu = Gpu(name.strip(), kind, capability, architecture, float(memory[0]) if len(memory) == 1 else None)
            found.setdefault(_key(gpu), gpu)
    return found


def _key(gpu: Gpu) -> str:
    # Form factors are dropped by normalise(); the few cards that differ by them are found by _variant().
    return ("apple" if gpu.kind == "mps" else "") + searched(r"[^a-z0-9]+").sub("", gpu.name.lower())


@lru_cache(maxsize=1)
def table() -> dict[str, Gpu]:
    """Return every known accelerator by its key."""
    return _entries()


@lru_cache(maxsize=1)
def _spellings() -> dict[str, str]:
    """Every normalised spelling -> key. A bare number (``4090``) stands for the card if only one bears it."""
    known = table()
    spellings: dict[str, str] = {}
    bare: dict[str, list[str]] = {}
    for key, gpu in known.items():
        spellings.setdefault(normalise(gpu.name), key)
        spellings[key] = key
        stem = searched(r"^(?:rtx|gtx|gt|quadro|rx|pro|jetson|ascend|arc|gtxtitan|cmp)+").sub("", normalise(gpu.name))
        if len(stem) >= 3:
            bare.setdefault(stem, []).append(key)
        if "super" in key:
            spellings.setdefault(normalise(gpu.name).replace("super", "s"), key)
            bare.setdefault(stem.replace("super", "s"), []).append(key)
    by_name = {gpu.name: key for key, gpu in known.items()}
    for alias, name in gpus.ALIASES.items():
        spellings.setdefault(alias, by_name[name])
    for stem, keys in bare.items():
        if len(keys) == 1:
            spellings.setdefault(stem, keys[0])
        else:
            # Of several the consumer card is meant: nobody calls a Quadro RTX 4000 "4000" and means a GTX.
            first = [key for key in keys if key.startswith(("rtx", "gtx"))]
            if len(first) == 1:
                spellings.setdefault(stem, first[0])
    return spellings


def split_count(text: str) -> tuple[int, str]:
    """Return (how many, the rest): ``8x A100`` is (8, "A100"), ``4090 x2`` (2, "4090")."""
    text = " ".join(text.split())
    if text[:1].isdecimal():
        match = anchored(r"(\d{1,3}) ?[x×*] ?(?=[A-Za-z0-9])(.+)$").match(text) or anchored(r"(\d{1,2}) (?=[A-Za-z])(.+)$").match(text)
        if match and int(match[1]) > 0:
            return int(match[1]), match[2]
    if text[-1:].isdecimal() and any(one in text for one in "x×*"):
        match = anchored(r"(.*\S)(?: [x×*] ?| ?[×*] ?)(\d{1,3})$").match(text)
        if match and int(match[2]) > 0:
            return int(match[2]), match[1]
    return 1, text


def find_gpu(text: str, memory: float | None = None) -> Gpu | None:
    """Return the accelerator that ``text`` names as people write it, or None.

    ``memory`` (GiB, as a tool reports it) tells variants apart where the name does not.

    >>> find_gpu("Tesla V100-SXM2-16GB").memory, find_gpu("2080ti").name, find_gpu("RTX PRO 6000 Blackwell").capability
    (16.0, 'RTX 2080 Ti', (12, 0))
    """
    text = split_count(text)[1]
    if not text or len(text) > 120:
        return None
    return _find(text, memory)


@lru_cache(maxsize=256)
def _find(text: str, memory: float | None) -> Gpu | None:
    words = _words(text)
    if len(words) >= 3 and words[0] in ("grid", "nvidia") and words[-1][-1] in "qcab" and words[-1][:-1].isdecimal():
        # A vGPU is named after the card and its share of the memory: GRID V100D-16Q is 16 GB of a 32 GB V100.
        card = words[1][:-1] if words[1][-1] in "dlsx" else words[1]
        words = [card, words[-1][:-1] + "gb"]
    stated = _stated_memory(words)
    key = _lookup(words)
    if key is None:
        return None
    gpu = table()[key]
    sizes = _sizes(gpu)
    laptop = _is_laptop(words) and gpu.kind == "cuda" and not gpu.name.startswith("RTX PRO")
    if laptop:
        sizes = gpus.LAPTOP_MEMORY.get(gpu.name, sizes)
    chosen = stated
    if chosen is None and memory is not None:
        chosen = next((size for size in sizes if abs(size - memory) <= 0.1 * size), memory)
    if chosen is None and len(sizes) == 1:
        chosen = sizes[0]
    return replace(gpu, memory=float(chosen) if chosen is not None else None, laptop=laptop)


def _stated_memory(words: list[str]) -> float | None:
    for index, word in enumerate(words):
        size = _size(word)
        if size is None and word.isdecimal() and len(word) <= 3 and words[index + 1 : index + 2] in (["gb"], ["gib"]):
            size = float(word)
        if size is not None:
            return size
    return None


def memory_sizes(text: str) -> tuple[float, ...]:
    """Return the memories in GiB with which the named card is made; none for an unknown one."""
    gpu = find_gpu(text)
    return _sizes(gpu) if gpu is not None else ()


def _sizes(gpu: Gpu) -> tuple[float, ...]:
    for kind, _, architecture, names in gpus.GENERATIONS:
        if kind == gpu.kind and architecture == gpu.architecture:
            for name, sizes in names:
                if name.strip() == gpu.name:
                    return sizes
    return ()


def _lookup(words: list[str]) -> str | None:
    spellings = _spellings()
    kept = _name_words(words)
    whole = _joined(kept)
    if not whole:
        return None
    if whole == "h100":
        # The form factors differ in memory.
        return next((whole + form for form in ("pcie", "sxm5", "nvl") if form in words), whole)
    # The same letters name a Tesla M4 and an Apple M4.
    if any(len(word) == 2 and word[0] == "m" and word[1].isdecimal() for word in kept) and not {"tesla", "nvidia"} & set(words):
        apple = "apple" + _joined(_without_mac(kept))
        if apple in table():
            return apple
    whole = whole.replace("developerkit", "").replace("nvgpu", "")
    if whole in spellings:
        return spellings[whole]
    return None if "gfx" in whole else _longest_window(words, spellings)


def _without_mac(words: list[str]) -> list[str]:
    """Without ``MacBook Pro``, whose Pro is not that of an M1 Pro."""
    kept = []
    for index, word in enumerate(words):
        before = words[index - 1] if index else ""
        of_mac = before in ("macbook", "mac") and word in ("pro", "air", "mini", "studio")
        if not of_mac and word not in ("macbook", "mac", "imac", "mps", "core") and not (word.isdecimal() and "core" in words):
            kept.append(word)
    return kept


def _longest_window(words: list[str], spellings: dict[str, str]) -> str | None:
    """The longest run of words that is a name; a run of one short word is not enough to go by."""
    for length in range(min(5, len(words)), 0, -1):
        for start in range(len(words) - length + 1):
            candidate = _joined(_name_words(words[start : start + length]))
            known = candidate in spellings and any(one.isdecimal() for one in candidate)
            if known and (len(candidate) >= 3 or length == len(words) or candidate in ("t4", "l4", "a2", "p4")):
                return spellings[candidate]
    return None


def gpus_starting(prefix: str, memory: float | None = None) -> tuple[Gpu, ...]:
    """Return the accelerators whose name begins as ``prefix`` does (``nvidia-smi`` cuts long names: ``GeForce GTX 108...``)."""
    start = normalise(prefix.rstrip(". "))
    if len(start) < 3:
        return ()
    found = [gpu for gpu in table().values() if normalise(gpu.name).startswith(start)]
    if memory is not None:
        sizes = {gpu.name: (*_sizes(gpu), *gpus.LAPTOP_MEMORY.get(gpu.name, ())) for gpu in found}
        fitting = [gpu for gpu in found if any(abs(size - memory) <= 0.1 * size for size in sizes[gpu.name])]
        found = fitting or found
    return tuple(found)


def capability_from_text(text: str) -> tuple[int, int] | None:
    """Return the compute capability in ``sm_86``, ``compute capability 8.6`` or ``8.6``, or None."""
    match = anchored(
        r"(?:sm|compute|cc|capability|compute capability)?[ _:=]*+\(?(\d{1,2}) ?[.,] ?(\d)\)?$"
        r"|(?:sm|compute)[ _-]?(\d{1,2})(\d)[af]?$",
        re.IGNORECASE,
    ).match(" ".join(text.split()))
    if not match:
        return None
    major, minor = (match[1], match[2]) if match[1] else (match[3], match[4])
    return (int(major), int(minor)) if 1 <= int(major) <= 15 else None


def architecture_of(capability: tuple[int, int]) -> str | None:
    """Return the architecture that a compute capability belongs to."""
    for kind, known, architecture, _ in gpus.GENERATIONS:
        if kind == "cuda" and known == capability:
            return architecture
    major, minor = capability
    if (major, minor) == (8, 9):
        return "ada"
    return {
        3: "kepler",
        5: "maxwell",
        6: "pascal",
        7: "volta",
        8: "ampere",
        9: "hopper",
        10: "blackwell",
        11: "blackwell",
        12: "blackwell",
    }.get(major)


def accelerator_named(
    name: str, source: str, *, kind: str = "cuda", memory: float | None = None, count: int = 1, line: int | None = None
) -> Accelerator:
    """Return the accelerator that a tool reports by ``name``; one that the table does not hold keeps its name alone."""
    target = searched(r"\((gfx[0-9a-f]{3,4})[^)]{0,100}+\)").search(name)
    if target:
        # collect_env of a ROCm build: AMD Instinct MI250X/MI250 (gfx90a:sramecc+:xnack-).
        bare = " ".join(name.replace(target[0], "").split())
        known = find_gpu(bare, memory)
        size = memory if memory is not None else (known.memory if known else None)
        return Accelerator(bare, "rocm", source, architecture=gpus.GFX.get(target[1]), memory=size, count=count, line=line)
    cut = name.rstrip().endswith("...")
    gpu = None if cut else find_gpu(name, memory)
    if gpu is not None:
        return replace(
            gpu.accelerator(source, count=count, line=line), name=name.strip(), memory=memory if memory is not None else gpu.memory
        )
    alike = gpus_starting(name, memory) if cut else ()
    capabilities = {one.capability for one in alike}
    architectures = {one.architecture for one in alike}
    return Accelerator(
        name=alike[0].name if len(alike) == 1 else name.strip(),
        kind=kind,
        source=source,
        capability=capabilities.pop() if len(capabilities) == 1 else None,
        architecture=architectures.pop() if len(architectures) == 1 else None,
        memory=memory if memory is not None else (alike[0].memory if len(alike) == 1 else None),
        count=count,
        line=line,
    )


_NOTHING = frozenset({"none", "no", "cpu", "nogpu", "cpuonly", "nothing", "0"})
_ARCHITECTURES = ("kepler", "maxwell", "pascal", "volta", "turing", "ampere", "ada", "hopper", "blackwell")


def accelerator_from_text(text: str, source: str = "answer") -> Accelerator | None:
    """Return the accelerator that an answer such as ``V100-16GB``, ``sm_86`` or ``gfx90a`` names; None for ``cpu`` and ``none``.

    Raises :class:`~troubleshoot.basics.errors.InputError` with the names spelled most alike where it names nothing known.
    """
    count, rest = split_count(text)
    bare = searched(r"[^a-z0-9]+").sub("", rest.lower())
    if bare in _NOTHING:
        return None
    capability = capability_from_text(rest)
    if capability is not None:
        name = f"sm_{capability[0]}{capability[1]}"
        return Accelerator(name, "cuda", source, capability=capability, architecture=architecture_of(capability), count=count)
    gfx = anchored(r"gfx[0-9a-f]{3,4}").match(rest.strip().lower())
    if gfx:
        return Accelerator(gfx[0], "rocm", source, architecture=gpus.GFX.get(gfx[0]), count=count)
    if bare.removesuffix("lovelace") in _ARCHITECTURES:
        return Accelerator(rest.strip(), "cuda", source, architecture=bare.removesuffix("lovelace"), count=count)
    if bare in ("mps", "applesilicon", "metal"):
        return Accelerator("Apple silicon", "mps", source, count=count)
    gpu = find_gpu(rest)
    if gpu is not None:
        return gpu.accelerator(source, count=count)
    from difflib import get_close_matches

    names = [one.name for one in table().values()]
    by_key = {normalise(name): name for name in names}
    alike = [by_key[key] for key in get_close_matches(normalise(rest), by_key, n=4, cutoff=0.5)]
    hint = f" Did you mean: {', '.join(alike)}?" if alike else ""
    raise InputError(
        f"no GPU is known as {text!r}.{hint} Give a name such as V100-16GB or RTX 4090, a compute capability such as sm_86, or none."
    )
