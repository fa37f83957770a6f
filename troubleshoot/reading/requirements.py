"""What a refusal accepts and what it got, as sets, whatever library says it and in whatever words.

A statement is read in three steps: the architectures and dtypes that it names (with "or newer", ">=", "below"), the words that govern
them (what is accepted, what is refused, what was there), and for each name the word that governs it: the last one before it in its
clause, else the next one behind it. A statement without such a word (a build flag, a listing, praise) is no requirement.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice

import msgspec

from troubleshoot.basics.dtypes import parse_device, parse_dtype
from troubleshoot.basics.patterns import anchored, searched
from troubleshoot.reading.environment.gpus import GFX
from troubleshoot.reading.environment.machine import Accelerator, Environment
from troubleshoot.reading.quantities import dtypes_in, sentences

#: Statements that are kept of a report, and characters of a line that is read at all.
MOST, LONGEST = 200, 4000
#: Names and governing words of a sentence that are held against each other.
_MOST_NAMES = 48

#: The dtypes of operands have to be equal, and no set is named.
SAME = "same"


class Arch(msgspec.Struct, frozen=True):
    """An architecture: ``exact`` that one; ``min`` and ``max`` inclusive bounds, ``below`` an exclusive one."""

    exact: str | None = None
    min: str | None = None
    max: str | None = None
    below: str | None = None

    def __str__(self) -> str:
        """Tell it as people write it."""
        if self.exact:
            return self.exact
        if self.below:
            return f"below {self.below}"
        return f"{self.min} to {self.max}" if self.min and self.max else f"{self.min} or newer" if self.min else f"up to {self.max}"


class Requirement(msgspec.Struct, frozen=True):
    """What one statement accepts, refuses and got, with its line. Several architectures are alternatives."""

    line: int
    text: str
    accepts_arch: tuple[Arch, ...] = ()
    accepts_dtypes: tuple[str, ...] = ()
    refuses_arch: tuple[Arch, ...] = ()
    refuses_dtypes: tuple[str, ...] = ()
    got_arch: tuple[Arch, ...] = ()
    got_dtypes: tuple[str, ...] = ()
    got_device: str | None = None

    @property
    def states(self) -> bool:
        """Tell whether anything is accepted or refused, or whether it only tells what was there."""
        return bool(self.accepts_arch or self.accepts_dtypes or self.refuses_arch or self.refuses_dtypes)


#: What governs the names around it. Of two that begin at one place the first in this list is taken.
_GOVERNING: tuple[tuple[str, str], ...] = (
    ("accept", r"except (?:on|for|with)|minimum and maximum|supported (?:types|dtypes)|其他.{0,8}不支持"),
    ("same",
     r"(?:must|should|have to|to|requires?|expected to) (?:all )?(?:be (?:of )?|have |share |"
     r"match)?(?:the )?same(?: data| d)? ?(?:type|dtype)?|"
     r"must be (?:the )?same|must share same|(?:does not|do not|don't|doesn't) (?:match|equal)|dtypes? (?:must )?match|"
     r"types? are not equal|"
     r"must be equal|dtypes? mismatch|to be equal|(?:must|should|has to|have to) match [^.]{0,30}type|uniform dtype|"
     r"same (?:data ?type|dtype)|类型不(?:一致|匹配|同)|必须(?:相同|一致)"),
    ("met", r"un-?supported(?! operand)|is(?: an)? invalid|trying to convert"),
    ("got",
     r"\bgot\b(?! unsupported)|\bfound\b|unrecogni[sz]ed|unknown|\bbut (?:your|is|was|the|this|not|input)|"
     r"\byour (?:[\w-]{1,30} ){0,4}?(?:gpu|card|device|hardware|system|setup)\b|(?:device|gpu|card|hardware) is\b|"
     r"attempt(?:ing|ed) to|\bbut (?:are|has|have)\b|current(?:ly)?\b(?! (?:only|supported|not))|"
     r"detected|\bactual\b|received|which is of|has (?:d?type|scalar type|data type)\b|has (?:cuda |"
     r"compute )?capability|(?:is|are) of (?:cuda |compute )?capability|"
     r"with cuda capability|\bgiven\b|can'?t convert|dtype=(?=torch)|!=|当前|实际|检测到|识别成|识别为|你的|传入"),
    ("refuse",
     r"\bno longer support\w*|\bno (?:\w{1,40} )?kernel for|not a? ?(?:recogni[sz]ed|valid)|(?:\bnot|n't|\bnever) (?:be |"
     r"currently |yet |been |officially )?(?:support|implement|"
     r"compatib|allow|cover|available|compiled|enabled|work|usable|run)\w*|"
     r"not have support|no support|incompatible|\bcannot\b|\bcan't\b|lacks?\b|work(?:ing)? in progress|refus\w+|"
     r"reject\w+|不支持|不能|无法|不兼容|没有实现|未实现|不可用|跑不了|用不了|"
     r"没有(?=[^。]{0,12}实现)|unavailable|\bnot (?:among|one of|in (?:the |[\[(]))"),
    ("accept",
     r"requires?\b|required\b|\bneed(?:s|ed)?\b|\bonly\b|supported\b|supports?\b(?! for\b| is\b)|\bmust\b|\bexpect(?:s|ed)?\b|should be|"
     r"\bmin(?:imum)?\b|\bmax(?:imum)?\b(?= (?:cuda|comp|cap))|at least|allowed|ask(?:s)? for|"
     r"takes?\b(?=[^.]{0,40}(?:\bonly\b|nothing else|alone\b))|one of|wants\b|(?:has|have|needs?) to be|(?:made|built|"
     r"meant|intended|written|designed) for|"
     r"use (?:an? |the )?gpu with|restricted to|limited to|exclusive(?:ly)? (?:to|for)|exists? for|"
     r"only\b|仅|只支持|只能|只有|支持|需要|要求|必须|最低|至少|期望|才能|限于"),
)  # fmt: skip
#: A line without one of these names no architecture and no dtype.
_NAMING = (
    "sm", "capab", "gfx", "arch", "ampere", "hopper", "turing", "volta", "blackwell", "pascal", "maxwell", "kepler", "ada", "major", "a100",
    "h100", "v100", "b200", "mi", "compute", "算力", "type", "float", "half", "f16", "p16", "f32", "p32", "f64", "p64", "fp8", "e4m3",
    "e5m2", "int", "i8", "i16", "i32", "i64", "u8", "double", "long", "bool", "byte", "char", "short", "complex", "精度", "类型",
)  # fmt: skip
_CUE = "|".join(f"(?P<g{at}>{pattern})" for at, (_, pattern) in enumerate(_GOVERNING))
_GATE = searched("|".join(f"(?:{pattern})" for _, pattern in _GOVERNING) + r"|capability <|too old|算力")

_NAMES = {
    "kepler": "sm_35", "maxwell": "sm_50", "pascal": "sm_60", "volta": "sm_70", "turing": "sm_75", "ampere": "sm_80", "ada": "sm_89",
    "hopper": "sm_90", "blackwell": "sm_100", "v100": "sm_70", "a100": "sm_80", "h100": "sm_90", "b200": "sm_100",
}  # fmt: skip
#: Generations of one chip are written as numbers; the others have several.
_SINGLE = {"volta": "sm_70", "turing": "sm_75", "ada": "sm_89", "hopper": "sm_90"}
_CAPABILITIES = frozenset(
    [
        "30",
        "32",
        "35",
        "37",
        "50",
        "52",
        "53",
        "60",
        "61",
        "62",
        "70",
        "72",
        "75",
        "80",
        "86",
        "87",
        "88",
        "89",
        "90",
        "100",
        "101",
        "103",
        "110",
        "120",
        "121",
    ]
)

_ARCH = searched(
    r"(?<=capability )(?P<split>\d{1,2} \d)(?![\d.])|(?<![\d.])(?P<family>\d{1,2})\.x(?![a-z])|(?:(?<=major >= )|"
    r"(?<=major == )|(?<=major>=)|(?<=major==))(?P<big>\d{1,2})(?!\d)|(?<![a-z0-9])sm[ _-]?(?P<dotted>\d{1,2}\.\d)(?!\d)|"
    r"(?<![a-z0-9])(?:sm|compute)[ _-]?(?P<sm>\d{2,3}|\dx)(?P<kind>[af]?)(?![0-9a-z])|(?<![a-z0-9])(?P<gfx>gfx[0-9a-f]{3,4})(?![0-9a-z])|"
    r"(?<![a-z])(?P<generation>kepler|maxwell|pascal|volta|turing|ampere|ada(?: lovelace)?|hopper|blackwell)(?![a-z])|"
    r"(?<![a-z0-9])(?P<card>[vah]100|b200|mi\d{3})x?(?= ?\+| (?:or|and) (?:newer|later|above|higher|up)|/|\s?(?:以上|及以上))|"
    r"(?<![0-9.])\(?(?P<major>\d{1,2})(?:\.|, )(?P<minor>\d)\)?(?!\.?[0-9])|(?<![0-9.a-z_])(?P<whole>[3-9][0-9]0?|"
    r"1[0-2][0-9])(?!\.?[0-9]|[a-z_%])"
)
_CAPABLE = searched(r"capabilit|\bcc\b|compute cap|cuda arch|算力|\barch <|\barch >|\barch(?:itecture)?s? \d")
_RELEASE = searched(r"(?:cuda|torch|toolkit|rocm|driver|version|python|triton|cann|v)[ :=>]{0,4}$")

_RANGE = searched(r"minimum and maximum|\brange\b|\bbetween\b")
_AT_LEAST = searched(
    r"(?:>=?|< required|≥|at least|no less than|minimum(?: cuda| compute)?(?: capability)?:?|min(?:\.| cap\w*):?|newer than|"
    r"starting (?:with|from)|最低|至少|不低于|高于)\s?(?:an? |the |of )?\(?$"
)
_BELOW = searched(r"(?:<|below|lower than|less than|older than|before|under|pre-|低于|小于)\s?(?:an? |the )?\(?$")
_UP_TO = searched(r"(?:<=|≤|up to|at most|maximum(?: cuda| compute)?(?: capability)?:?|不高于)\s?\(?$")
_OR_NEWER = anchored(
    r"[)`'\"*]{0,2}(?: ?\([^()]{1,20}\))?(?: lovelace)?(?: (?:gpus?|cards?|arch(?:itecture)?s?|class|series|generation|"
    r"capability|hardware|devices?)){0,2}"
    r"(?:\s?\+|[, ]{1,2}(?:or|and) (?:an? )?(?:newer|later|above|higher|greater|better|up|more recent|beyond)|\s?[及或]?以上|\s?或更[高新])"
)
_MINIMUM = searched(r"(?:minimum|最低)[^.;,，]{0,45}$")
_OWN = searched(r"(?:\bis|\bwas|\bhas|\ba|是|为|成|到|算力|capability|(?<![=<>])=)\s{0,2}(?:only )?\(?$")


class _Cue(msgspec.Struct, frozen=True):
    """A governing word: its place, what it does, and the word."""

    start: int
    end: int
    kind: str
    word: str


class _Name(msgspec.Struct):
    """An architecture or a dtype that a sentence names, with its place."""

    start: int
    end: int
    arch: Arch | None = None
    dtype: str | None = None


def read_requirements(lines: Sequence[str], numbers: Sequence[int] | None = None) -> tuple[Requirement, ...]:
    """Return what the lines require, one requirement for each line that states any. ``numbers`` are the lines' own (None: from 1)."""
    found: list[tuple[int, Requirement]] = []
    met: list[tuple[int, Requirement]] = []
    for at, line in enumerate(lines):
        low = line.lower()
        if len(line) > LONGEST or not any(name in low for name in _NAMING) or _GATE.search(low) is None:
            continue
        if len(found) + len(met) == MOST:
            break
        if at + 1 < len(lines) and _goes_on(low, lines[at + 1]):
            line = f"{line.rstrip()} {lines[at + 1].strip()}"
        one = _read(line, numbers[at] if numbers else at + 1)
        if one is not None:
            (found if one.states else met).append((at, one))
    return tuple(_completed(at, one, met, lines) for at, one in found)


def _completed(at: int, one: Requirement, met: list[tuple[int, Requirement]], lines: Sequence[str]) -> Requirement:
    """A requirement with what the lines beside it tell of the card and the dtype that were there."""
    for other, told in met:
        if abs(other - at) <= 2:
            one = msgspec.structs.replace(
                one,
                got_arch=one.got_arch or told.got_arch,
                got_dtypes=one.got_dtypes or told.got_dtypes,
                got_device=one.got_device or told.got_device,
            )
    if one.got_device is None and (name := _card_beside(lines, at)):
        one = msgspec.structs.replace(one, got_device=name)
    return one


def _goes_on(low: str, following: str) -> bool:
    """Tell whether a sentence goes on in the following line."""
    return (low.rstrip().endswith((" is", " are", " of", ":", ",", " or", " and")) and following.lstrip()[:1] in ("(", "[", "{")) or (
        "not equal" in low and following.lstrip().startswith("(")
    )


def _read(line: str, number: int) -> Requirement | None:
    sets: dict[str, list[_Name]] = {"accept": [], "refuse": [], "got": []}
    same = False
    about = _ABOUT_DTYPES.search(line.lower()) is not None
    for sentence in sentences(line):
        same = _sentence(sentence, sets, about) or same
    accepts_arch, got_arch = _bounds(sets["accept"]), _bounds(sets["got"])
    same = same and ("mismatch" not in line.lower() or len(_dtypes(sets["got"])) > 1)
    accepts, got_dtypes = (SAME,) if same else _dtypes(sets["accept"]), _dtypes(sets["got"])
    refuses_arch, refuses = _bounds(sets["refuse"]), _dtypes(sets["refuse"])
    # "detected pre-SM100": what is named is the first that will do.
    accepts_arch = tuple(
        Arch(min=one.exact) if one.exact and any(got.below == one.exact for got in got_arch) else one for one in accepts_arch
    )
    if got_dtypes and not (accepts_arch or accepts or refuses_arch or refuses) and _NO_SUCH.search(line.lower()):
        refuses = got_dtypes
    if not (accepts_arch or accepts or refuses_arch or refuses or got_arch or got_dtypes):
        return None
    device = _device(line, bool(accepts or refuses))
    return Requirement(number, line.strip(), accepts_arch, accepts, refuses_arch, refuses, got_arch, got_dtypes, device)


_NO_SUCH = searched(r"d?types? (?:is |are )?not (?:supported|implemented|allowed)|不支持.{0,12}(?:类型|精度)")


def _bounds(names: list[_Name]) -> tuple[Arch, ...]:
    found = dict.fromkeys(one.arch for one in names if one.arch is not None)
    # A minimum and a maximum of one statement are one range.
    low, high = [one for one in found if one.min and not one.max], [one for one in found if one.max and not one.min]
    if len(low) == 1 and len(high) == 1 and len(found) == 2:
        return (Arch(min=low[0].min, max=high[0].max),)
    return tuple(found)


def _dtypes(names: list[_Name]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one.dtype for one in names if one.dtype is not None))


_CLAUSE = searched(r";(?=\s)|；|\((?=[^()]{0,60}progress)|, (?:so|while|whereas|and (?:there|those|then|an?|the))\b|，")
_ADVICE = searched(r"^\W*(?:please|you should|use|try|convert|consider|switch|cast|set|请|建议|可以)|\bplease\b")
_SUPPORT = searched(r"support\w*|仅|支持")


def _sentence(text: str, sets: dict[str, list[_Name]], about: bool) -> bool:
    """Sort the names of a sentence by what governs them; return whether it asks for equal dtypes."""
    low = text.lower()
    cues = [
        _Cue(match.start(), match.end(), _GOVERNING[int(match.lastgroup[1:])][0], match[0])
        for match in islice(searched(_CUE).finditer(low), _MOST_NAMES)
        if match.lastgroup
    ]
    if not cues and "capability <" not in low:
        return False
    ends = [match.start() for match in _CLAUSE.finditer(low)]
    same = any(cue.kind == "same" for cue in cues)
    archs = _archs(low)[:_MOST_NAMES]
    dtypes = [] if _ADVICE.search(low) and not same else _named_dtypes(text, low, about)[:_MOST_NAMES]
    range_ = len(archs) == 2 and _RANGE.search(low) is not None
    last: tuple[_Name, tuple[str, ...]] | None = None
    for order, name in enumerate([*archs, *dtypes]):
        if range_ and name.arch is not None:
            value = name.arch.exact or name.arch.min or name.arch.max
            sets["accept"].append(_Name(name.start, name.end, Arch(min=value) if order == 0 else Arch(max=value)))
            continue
        roles = _roles(name, low, cues, ends)
        if (
            last is not None
            and not any(last[0].end <= cue.start < name.start for cue in cues)
            and (last[0].arch is None) == (name.arch is None)
        ):
            # A list goes on with commas and "or"; what comes behind other words is told of something else.
            if roles == ("got",) and last[1] == ("accept",):
                pass
            elif _LIST.match(low[last[0].end : name.start]) is not None:
                roles = last[1] if name.arch is None or last[1] == ("accept",) else roles
            elif last[1] == roles == ("accept",):
                continue
        for role in roles:
            sets[role].append(name)
        last = (name, roles) if roles else last
    if same and (sets["got"] or sets["accept"]):
        # Operands that have to be equal: what is named was there.
        sets["got"] = sorted({id(one): one for one in [*sets["got"], *sets["accept"]] if one.dtype}.values(), key=lambda one: one.start)
        sets["accept"] = [one for one in sets["accept"] if one.dtype is None]
    return same and _ABOUT_DTYPES.search(low) is not None


_LIST = anchored(
    r"(?:[\s,;/|&'\"`{}\[\]()+:<>=*]|\b(?:or|and|either|torch|at|c10|tensors?|gpus?|cards?|newer|later|above|higher|is_|"
    r"lovelace|ada|hopper|blackwell|ampere|turing|volta|only|compute|cuda|capability|rocm|"
    r"arch(?:itecture)?s?|devices?|on|with|class|nvidia|amd|data|types?|also|the)\b|(?<=torch)\.|(?<=at)::|(?<=c10)::|"
    r"及以上|以上|或|和|、|与){0,40}+$"
)
_ABOUT_DTYPES = searched(r"d?type|datatype|scalar|element|精度|类型|operand")


def _roles(name: _Name, low: str, cues: list[_Cue], ends: list[int]) -> tuple[str, ...]:
    """Return the sets that a name of a sentence belongs to: the last governing word before it in its clause decides, else the next one."""
    clause = max((end for end in ends if end <= name.start), default=0)
    until = min((end for end in ends if end >= name.end), default=len(low))
    before = [cue for cue in cues if cue.end <= name.start + 1 and cue.start >= clause]
    behind = [cue for cue in cues if name.end - 1 <= cue.start <= until]
    if (name.arch is None or not name.arch.below) and _MET.match(low[name.end : name.end + 24]) is not None:
        return ("got",)
    if name.arch is not None:
        roles = _own_roles(name, name.arch, low, before, behind, cues)
        if roles is not None:
            return roles
    return _roles_before(name, low, before[-1], behind) if before else _roles_behind(name, low, behind, cues, until)


_MET = anchored(r"[)'\"`]{0,2} (?:(?:was|were|is) )?(?:found|detected|received|given|passed|supplied)\b")


def _own_roles(name: _Name, arch: Arch, low: str, before: list[_Cue], behind: list[_Cue], cues: list[_Cue]) -> tuple[str, ...] | None:
    """The sets of an architecture that tells them itself: "below 7.5" and "is 6.1"."""
    if arch.below:
        detected = not before and (not behind or behind[0].kind == "got")
        if detected or (any(cue.kind in ("refuse", "met", "accept") for cue in cues) and not (before and before[-1].kind == "got")):
            # What is below a bound is refused: from the bound on it is accepted.
            name.arch = Arch(min=arch.below)
            return ("accept",)
    number = arch.exact is not None and arch.exact.startswith("sm_") and not low[name.start].isalpha()
    if number and "minim" not in low and _OWN.search(low[max(0, name.start - 16) : name.start]):
        if before and before[-1].kind == "accept" and before[-1].end > name.start - 32:
            return None
        return ("got", "refuse") if any(cue.kind == "refuse" and cue.start > name.start for cue in cues) else ("got",)
    return None


def _roles_before(name: _Name, low: str, cue: _Cue, behind: list[_Cue]) -> tuple[str, ...]:
    if cue.kind == "same":
        return ("got",)
    if cue.kind == "met":
        return ("got", "refuse")
    if cue.kind == "got" and name.arch is not None and any(one.kind == "refuse" and one.start - name.end <= 20 for one in behind):
        return ("got", "refuse")
    gap, left, right = low[cue.end : name.start], low[max(0, cue.start - 12) : cue.start], low[name.end : name.end + 60]
    return (cue.kind,) if _governs(cue, gap, left, name, right) else ()


def _roles_behind(name: _Name, low: str, behind: list[_Cue], cues: list[_Cue], until: int) -> tuple[str, ...]:
    arch = name.arch
    if not behind:
        if arch is None:
            return ()
        # The name of a file that was compiled for it.
        if low[name.start - 1 : name.start] in ("_", ".", "/") and any(cue.word.startswith("requir") for cue in cues):
            return ("got",)
        following = next((cue for cue in cues if cue.start >= name.end), None)
        return ("got", "refuse") if following is not None and following.kind == "refuse" and until < len(low) else ()
    cue = behind[0]
    if cue.kind == "same" or cue.word == "!=":
        return ("got",)
    if cue.kind == "met":
        return ("got", "refuse") if cue.word.startswith("is") else ()
    if cue.kind == "refuse":
        if not _governs(cue, low[name.end : cue.start], "", name, ""):
            return ()
        return ("got", "refuse") if "trying" in low or (arch is not None and "with cuda capability" in low) else ("refuse",)
    if cue.kind == "accept":
        if low[name.end : cue.start] in (" ", " is ", " are ") and cue.word in (
            ("required", "needed") if arch is not None else ("required",)
        ):
            if arch is not None and arch.exact:
                name.arch = Arch(min=arch.exact)
            return ("accept",)
        if arch is None:
            return ("got",) if _ONLY_ON.search(low[name.end : name.end + 40]) is not None else ()
        if cue.word == "only" or (arch.min and not arch.exact):
            return ("accept",)
        return ("got",) if cue.word.startswith("requir") else ()
    return ()


_ONLY_ON = searched(r"only (?:be )?(?:supported|available|implemented|allowed) (?:on|with|by)")

#: Words that govern only what stands right beside them: people use them for anything.
_WEAK = anchored(r"can|.*(?:work|run|allow|avail|enabl|usab|compil)|refus|reject|lack|不能|无法|不可|跑不|用不")
_HAPPENED = searched(r"work|run|usab|compil|跑|用")
_OF_TYPE = searched(r"type|scalar|tensor|element|storage|[:=\[{(<]|operand")
_ONLY = anchored(
    r"(?:[\s'\"`(:]|(?:support|accept|work|take|allow|run|implement|available|tensor|of|with|for|in|on)\w*|dtypes?|"
    r"types?|data|torch\.|the|a){0,12}+$"
)


def _governs(cue: _Cue, gap: str, before: str, name: _Name, after: str) -> bool:
    """Tell whether a word governs a name so far away: "only supports fp16" is a demand, "only bf16 fails" and "supports bf16" are none."""
    kind, word = cue.kind, cue.word
    if ". " in gap:
        return False
    if kind == "refuse":
        if _WEAK.match(word) is None or word.endswith("progress"):
            return len(gap) <= 90
        # "does not work after .half()" tells what happened.
        return len(gap) <= (24 if name.arch is not None else 10) and (name.arch is not None or _HAPPENED.search(word) is None)
    if kind != "accept":
        return True
    if name.arch is not None:
        if word == "one of":
            return _OF_TYPE.search(gap) is not None
        if word in ("support", "supports") and "capability " in gap and "only" not in before:
            # "the RTX 3060 supports compute capability 8.6" tells of the card.
            return False
        return name.arch.exact is None or word != "only" or len(gap) <= 40
    if word in ("only", "仅", "只支持", "只能", "只有"):
        return (
            _ONLY.match(gap) is not None
            and ((word != "只有" and word != "只能") or len(gap) < 4)
            and (word != "only" or gap.strip() != "" or _SUPPORT.search(before + after.partition(". ")[0]) is not None)
        )
    if word in ("supported types", "supported dtypes"):
        return len(gap) <= 20
    if word.startswith("support") or word == "支持":
        return (
            "only" in before
            or "仅" in before
            or "只" in before
            or before.endswith("(")
            or gap.lstrip()[:1] == ":"
            or _TYPES.match(gap) is not None
        )
    if word.startswith(("ask", "need", "requir", "min", "max", "at least", "exist", "use")) or word in ("才能", "至少", "最低"):
        return False
    if before.endswith(("i ", "we ", "would ")):
        return False
    return (
        len(gap) <= 90
        and (len(gap) <= 14 or _OF_TYPE.search(gap) is not None)
        and (word not in ("one of", "allowed") or _OF_TYPE.search(gap) is not None)
    )


_TYPES = anchored(r" (?:fp8 )?(?:d?types|data types|list|formats)\b")


def _archs(low: str) -> list[_Name]:
    capable = _CAPABLE.search(low)
    found: list[_Name] = []
    for match in _ARCH.finditer(low):
        name = _arch_name(match, low, capable)
        if name is None:
            continue
        before, after = low[max(0, match.start() - 40) : match.start()], low[match.end() : match.end() + 60]
        opened = low[match.start() : match.start() + 1] == "("
        prefix = before + "(" if opened else before
        newest = _NAMES.get(name, name)
        bound: Arch
        if _UP_TO.search(prefix):
            bound = Arch(max=newest)
        elif _BELOW.search(prefix):
            # xformers prints its largest capability behind "<".
            bound = Arch(max=newest) if "capability <" in before and "too new" in low else Arch(below=newest)
        elif _AT_LEAST.search(prefix) or _MINIMUM.search(low[max(0, match.start() - 60) : match.start()]) or _OR_NEWER.match(after):
            bound = Arch(min=newest)
        elif found and _alias(found[-1], match, low):
            last = found[-1].arch
            if last is not None and match["generation"] is None and last.exact and not last.exact.startswith(("sm_", "gfx")):
                found[-1].arch, found[-1].end = Arch(exact=name), match.end()
            continue
        else:
            bound = Arch(exact=_SINGLE.get(name, name))
        found.append(_Name(match.start(), match.end(), bound))
    if any(low.startswith("sm", one.start) for one in found):
        # compute_90 in a list of sm_ is what may be compiled later.
        found = [one for one in found if not low.startswith("compute_", one.start) or len(found) == 1 or "error" in low]
    return found


def _arch_name(match: re.Match[str], low: str, capable: re.Match[str] | None) -> str | None:
    if match["sm"]:
        return f"sm_{match['sm']}{match['kind']}"
    if match["big"] or match["dotted"]:
        return f"sm_{match['dotted'].replace('.', '') if match['dotted'] else match['big'] + '0'}"
    if match["split"]:
        return f"sm_{match['split'].replace(' ', '')}"
    if match["family"]:
        return f"sm_{match['family']}x" if capable is not None else None
    if match["gfx"]:
        return match["gfx"]
    if match["generation"]:
        return match["generation"].split()[0]
    if match["card"]:
        return match["card"].upper() if match["card"].startswith("mi") else match["card"]
    if capable is None:
        return None
    digits = match["whole"] or f"{match['major']}{match['minor']}"
    if match["whole"]:
        if digits not in _CAPABILITIES and digits.removesuffix("0") in _CAPABILITIES:
            digits = digits.removesuffix("0")
        if match.start() < capable.start() or match.start() - capable.end() > 60 or digits not in _CAPABILITIES:
            return None
    elif digits not in _CAPABILITIES or _RELEASE.search(low[max(0, match.start() - 12) : match.start()]):
        return None
    return f"sm_{digits}"


_OPENS = anchored(r"(?: (?:gpus?|cards?|arch\w{0,12}|class|series|devices?))? ?\($")


def _alias(last: _Name, match: re.Match[str], low: str) -> bool:
    """Tell whether a name in brackets says again what stands before them: ``SM100 (Blackwell)``, ``MI350 (gfx950)``."""
    between = low[last.end : match.start()]
    if "(" not in between or ")" in between[between.rfind("(") :]:
        return False
    # SM100 (Blackwell), >= 8.9 (Ada, Hopper, Blackwell), MI350 (gfx950); no list of its own.
    return match["generation"] is not None or _OPENS.match(between) is not None


_WORDS = searched(
    r"(?:c10::|at::|torch\.|ScalarType::|at::k|np\.)?(?:cuda\.)?k?(?:Half|Float|Double|Long|Int|Short|Char|Byte|Bool|"
    r"BFloat16|ComplexFloat|ComplexDouble)"
    r"(?:Tensor|Type)?(?:8_e\w{4,8})?(?![A-Za-z0-9_])|"
    r"\bFloat8_e\w{4,8}"
)
_PLAIN = searched(
    r"(?:(?<=[(<'\"])|(?<=type )|(?<=types )|(?<=be )|(?<=either )|(?<=or )|(?<=, )|(?<=and )|(?<=: )|(?<=!= )|"
    r"(?<=got )|(?<=found )|(?<= is )|(?<=[\[{]))(?P<name>float|double|long int|long|int|byte|bool|half|signed char|"
    r"unsigned char)(?![\w:(])|\ba (?P<tensor>float|double|half|long|int|byte|bool)(?= tensor)"
)
_CLASS = searched(r"floating[ -]point|浮点|(?P<complex>\bcomplex)(?= d?types?\b| tensors?\b)")
_SHORT = searched(r"(?<![a-z0-9_])(?P<name>[iu](?:8|16|32|64)|bool(?=ean|[,\]} ]))(?![a-z0-9_])")


def _named_dtypes(text: str, low: str, about: bool) -> list[_Name]:
    found: dict[int, _Name] = {}

    def add(start: int, end: int, dtype: str | None) -> None:
        if dtype and all(not (one.start < end and start < one.end) for one in found.values()):
            found[start] = _Name(start, end, dtype=dtype)

    for one in dtypes_in(low):
        if one.dtype not in ("tf32", "float8"):
            add(one.start, one.end, one.dtype)
    about = about or "不支持" in low or "not implemented for" in low or "tensor" in low
    if about:
        for match in _WORDS.finditer(text):
            word = match[0].rpartition("::")[2].removeprefix("torch.").removeprefix("cuda.")
            add(match.start(), match.end(), parse_dtype(word.removeprefix("k").removesuffix("Tensor").removesuffix("Type")))
        for match in _PLAIN.finditer(low):
            word = match["name"] or match["tensor"]
            add(match.start(), match.end(), parse_dtype(word.removesuffix(" int")))
    if about or "support" in low or "prc" in low:
        for match in _SHORT.finditer(low):
            add(match.start(), match.end(), parse_dtype(match["name"]))
        for match in _CLASS.finditer(low):
            add(match.start(), match.end(), "complex" if match["complex"] else "floating")
    return sorted(found.values(), key=lambda one: one.start)


_KERNEL = searched(r"\"\w{0,80}_(cpu|cuda|mps|xpu)_?\"")
_PLACE = searched(
    r"(?<![a-z0-9_(])(?P<name>mps|hpu|xpu|npu|cpu)(?: (?:backend|plugin|device|autocast|framework|tensor)| ?上|(?=[.,]|$))|"
    r"cuda device (?=does|do\b|doesn)"
)


def _device(line: str, about_dtypes: bool) -> str | None:
    """The card that a statement names, or the device."""
    card = _card(line)
    if card:
        return card
    low = line.lower()
    kernel = _KERNEL.search(low)
    if kernel:
        return kernel[1]
    match = _PLACE.search(low) if about_dtypes else None
    return parse_device(match["name"] or "cuda") if match else None


_BOUND_CARD = anchored(r"\s?\+|/| (?:or|and) (?:newer|later|above|higher)|\s?以上|\s?及以上| \(gfx")
_SPOKEN = searched(r"(?<![\w.])(?P<card>[2-5]0[5-9]0(?: ?ti)?|gb10)(?=[ 加上算的在，（(]|$)")


def _card(line: str) -> str | None:
    from troubleshoot.reading.mention_models import gpus
    from troubleshoot.reading.mentions import Found

    found = Found(line, [0], [1], set())
    gpus(found)
    for one in found.seen.values():
        if one.kind == "gpu":
            at = line.find(one.value)
            if at >= 0 and _BOUND_CARD.match(line[at + len(one.value) :]) is None:
                return one.value
    match = _SPOKEN.search(line.lower())
    return match["card"] if match else None


def _card_beside(lines: Sequence[str], at: int) -> str | None:
    """The card that the line above or below names, where that line requires nothing itself."""
    for other in (at - 1, at + 1):
        if 0 <= other < len(lines) and len(lines[other]) < 300 and _GATE.search(lines[other].lower()) is None:
            card = _card(lines[other])
            if card:
                return card
    return None


# -- holding a requirement against what is known


def fits(requirement: Requirement, environment: Environment, dtype: str | None = None) -> bool | None:
    """Tell whether the card (and the dtype, where one is given) is among what a requirement accepts; None where that cannot be told.

    Newer is not always more: a list holds what is in it, and ``sm_90a`` is Hopper alone.
    """
    answers: list[bool | None] = []
    if dtype is not None and requirement.accepts_dtypes not in ((), (SAME,)):
        answers.append(dtype in requirement.accepts_dtypes or ("floating" in requirement.accepts_dtypes and "float" in dtype))
    if dtype is not None and dtype in requirement.refuses_dtypes:
        answers.append(False)
    if requirement.accepts_arch or requirement.refuses_arch:
        card = environment.accelerators[0] if environment.accelerators else None
        refused = [holds(one, card) for one in requirement.refuses_arch]
        accepted = [holds(one, card) for one in requirement.accepts_arch]
        if True in refused:
            answers.append(False)
        elif requirement.accepts_arch:
            answers.append(True if True in accepted else None if None in accepted else False)
        else:
            answers.append(None)
    if False in answers:
        return False
    return None if None in answers or not answers else True


_SM = anchored(r"sm_(\d{1,2})(\d|x)([af]?)$")


def holds(arch: Arch, card: Accelerator | None) -> bool | None:
    """Tell whether a card is of an architecture, or within its bounds; None where that is unknown."""
    if card is None:
        return None
    if arch.exact:
        return _is(arch.exact, card)
    low, high = arch.min, arch.max or arch.below
    answers = [_compare(low, card, lambda order: order >= 0)] if low else []
    if high:
        answers.append(_compare(high, card, (lambda order: order <= 0) if arch.max else (lambda order: order < 0)))
    return False if False in answers else None if None in answers else True


def _is(name: str, card: Accelerator) -> bool | None:
    match = _SM.match(name)
    if match is not None:
        if card.capability is None:
            return False if card.kind != "cuda" else None
        major, minor = card.capability
        if match[2] == "x" or match[3] == "f":
            return major == int(match[1]) and (match[2] == "x" or minor >= int(match[2]))
        return card.capability == (int(match[1]), int(match[2]))
    if name.startswith("gfx"):
        if card.kind == "cuda" and card.capability:
            return False
        family = GFX.get(name)
        if name in card.name:
            return True
        if card.architecture is None or family is None:
            return None
        # Several targets of one family are not the same.
        alone = sum(one == family for one in GFX.values()) == 1
        return False if card.architecture != family else True if alone else None
    if name in ("kepler", "maxwell", "pascal", "volta", "turing", "ampere", "ada", "hopper", "blackwell"):
        if card.architecture is None:
            return None
        if name == "blackwell" and card.architecture == name and card.capability and card.capability[0] != 10:
            # Kernels for the data centre's Blackwell do not run on the consumer's, which bears the same name.
            return None
        return card.architecture == name
    return True if name.lower() in card.name.lower() else None


def _compare(name: str, card: Accelerator, test: object) -> bool | None:
    assert callable(test)
    match = _SM.match(name)
    if match is not None:
        if card.capability is None:
            return False if card.kind not in ("cuda", "rocm") else None
        bound = (int(match[1]), 0 if match[2] == "x" else int(match[2]))
        if match[3] == "a":
            return card.capability == bound
        return bool(test((card.capability > bound) - (card.capability < bound)))
    if name.startswith("gfx"):
        return _is(name, card) or None
    number = searched(r"\d{3}").search(name)
    own = searched(r"\bmi ?(\d{3})").search(card.name.lower())
    if name.startswith("MI") and number and own:
        return bool(test((int(own[1]) > int(number[0])) - (int(own[1]) < int(number[0]))))
    return None
