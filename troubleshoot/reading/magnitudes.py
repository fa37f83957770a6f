"""What the numbers of a report tell, by the dtypes' arithmetic: pairs, differences, sizes, ends of ranges, places where it begins.

Arithmetic decides, not wording: 515 and 516 beside "bfloat16" are a rounding because bfloat16 has no 515. Words are asked for only where
the same numbers may mean something else: a difference, a spacing, a place from which on it goes wrong, the size of a file.

Limits: a pair is a rounding where the cast gives exactly that value; a computed difference, up to 8 steps at the largest value named;
beyond rounding are 64 steps and more, or a difference as large as the value. What lies between is no fact.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import msgspec

from troubleshoot.basics.arithmetic import FORMATS, LARGEST_INTEGER, nearest, spacing, steps
from troubleshoot.basics.patterns import searched
from troubleshoot.reading.quantities import Named, Number, dtypes_in, labelled, numbers_in, sentences

ROUNDING, BEYOND = 8.0, 64.0

#: Lines with numbers that are reckoned with, and characters of a line that is read at all.
MOST, LONGEST = 2000, 4000
#: Numbers of a line that are held against each other.
MOST_NUMBERS = 64

#: Lines of context that may name the dtype or the magnitude of a printed difference.
_BEFORE, _AFTER = 8, 6


class Reckoned(msgspec.Struct, frozen=True):
    """What numbers of a report tell: ``verdict`` about ``of`` (a dtype, or bytes per value), the numbers used, line, and words for it."""

    verdict: str
    of: str
    numbers: tuple[float, ...]
    line: int
    text: str
    #: of a rounding: the cast gives exactly this value
    exact: bool = False


class _Statement(msgspec.Struct, frozen=True):
    """A sentence, or printed lines that belong together, with its numbers and the dtypes that it or its surroundings name."""

    text: str
    low: str
    line: int
    numbers: list[Number]
    named: list[Named]
    near: list[str]

    @property
    def dtypes(self) -> list[str]:
        """The float formats that are named, the coarsest first: those of the statement, else those around it."""
        names = [one.dtype for one in self.named] or self.near
        if "float8" in names:
            names = [*names, *(dtype for end, dtype in _FLOAT8_ENDS if any(one.value == end for one in self.numbers))]
        return _coarsest_first(names)


def _coarsest_first(names: Sequence[str]) -> list[str]:
    return [name for name in reversed(FORMATS) if name in names]


_FLOAT8_ENDS = ((448.0, "float8_e4m3fn"), (57344.0, "float8_e5m2"))

#: A report without one of these has no number to reckon with.
_WORDS = (
    "float", "bf16", "p16", "f16", "fp32", "tf32", "fp8", "e4m3", "e5m2", "half", "double", "精度", "diff", "error", "expected", "greatest",
    "误差", "相差", "tensor(", "array(", "actual", "int32", "int_max", "-rw", "size", "bytes", "2^24", "2**24", "param", "ulp",
)  # fmt: skip
_FIGURES = searched(
    r"16777216|16777217|65504|2147483|9007199|\d(?:\.\d{1,3})? ?(?:gi?b?|b)\b|\b(?:25[5-8]|20(?:4[789]|50))\b|^\d[\d.]{0,8}[kmg]\s"
)


def _may_tell(low: str) -> bool:
    return len(low) < LONGEST and (any(word in low for word in _WORDS) or _FIGURES.search(low) is not None)


#: Command lines, dumped settings, and what is about cards, shapes or counts: their numbers are chosen or counted, not computed.
_SETTINGS = searched(
    r"--[a-z][\w-]{1,40}.{1,200} --[a-z]|['\"]\w{1,40}['\"]: .{1,200}['\"]\w{1,40}['\"]: |finfo\(|\beps [\d.]{1,20}|capabilit|compute_cap|"
    r"shape (?:mismatch|\[)|numels out of|size of tensor|^\s*[\w-]{1,40}: \w{1,20}, [\w-]{1,40}: "
)


def reckon(lines: Sequence[str], numbers: Sequence[int] | None = None) -> tuple[Reckoned, ...]:
    """Return what the numbers of the lines tell, each fact once. ``numbers`` are the lines' own (None: from 1)."""
    lows = [line.lower() for line in lines]
    hits = [at for at, low in enumerate(lows) if _may_tell(low)]
    if not hits:
        return ()
    page = _Page(lines, lows, numbers)
    found: dict[tuple[str, str], Reckoned] = {}
    for at in hits[:MOST]:
        for one in page.told(at):
            found.setdefault((one.verdict, one.of), one)
    exact = [one for one in found.values() if one.exact]
    # What a cast explains to the digit needs no further explanation.
    return tuple(
        one
        for one in found.values()
        if one.exact or "rounding" not in one.verdict or not any(abs(one.line - by.line) <= 12 for by in exact)
    )


class _Page:
    """Lines with what was read of them, each once."""

    def __init__(self, lines: Sequence[str], lows: list[str], numbers: Sequence[int] | None) -> None:
        self.lines, self.lows = lines, lows
        self.numbers = numbers or range(1, len(lines) + 1)
        self._dtypes: dict[int, list[str]] = {}
        self._values: dict[int, list[Number]] = {}

    def dtypes(self, at: int) -> list[str]:
        """The dtypes that a line names."""
        found = self._dtypes.get(at)
        if found is None:
            found = self._dtypes[at] = [one.dtype for one in dtypes_in(self.lows[at])] if len(self.lows[at]) < LONGEST else []
        return found

    def values(self, at: int) -> list[Number]:
        """The numbers of a line."""
        found = self._values.get(at)
        if found is None:
            found = self._values[at] = numbers_in(self.lines[at])[:MOST_NUMBERS] if len(self.lines[at]) < LONGEST else []
        return found

    def around(self, at: int) -> range:
        """The lines that may belong to the same print."""
        return range(max(0, at - _BEFORE), min(len(self.lines), at + _AFTER + 1))

    def near(self, at: int) -> list[str]:
        """The dtypes that the lines around name."""
        return [dtype for other in self.around(at) for dtype in self.dtypes(other)]

    def told(self, at: int) -> Iterator[Reckoned]:
        """Yield what a line tells, alone and with those around it."""
        if not self.values(at) or _SETTINGS.search(self.lows[at]) is not None:
            return
        arrays = list(_two_arrays(self, at))
        yield from arrays
        yield from _stuck_column(self, at)
        yield from _listed_file(self, at)
        near = self.near(at)
        text = self.lines[at]
        if self._continues(at + 1):
            text = f"{text}\n{self.lines[at + 1]}"
        for part in [text] if "\n" in text or ">>>" in text else sentences(text):
            low = part.lower()
            statement = _Statement(part, low, self.numbers[at], numbers_in(part)[:MOST_NUMBERS], dtypes_in(low), near)
            if statement.numbers:
                yield from _statement(self, at, statement, bool(arrays))

    def _continues(self, at: int) -> bool:
        """Tell whether a line is what the line above printed."""
        return at < len(self.lines) and self.lows[at].lstrip().startswith(("tensor(", "array(", "[", "inf", "nan"))


def _statement(page: _Page, at: int, said: _Statement, paired: bool) -> Iterator[Reckoned]:
    if _SCALER.search(said.low):
        return
    whole = list(_whole_numbers(page, at, said))
    found = (
        list(_ends(said)) or ([] if paired or whole else list(_pairs(said))) or list(_spacings(said)) or whole or list(_named_ends(said))
    )
    if not found and not paired:
        found = list(_differences(page, at, said))
    yield from found
    yield from _sizes(said)


def _fact(said: _Statement | int, verdict: str, of: str, values: Sequence[float], text: str) -> Reckoned:
    return Reckoned(verdict, of, tuple(values), said if isinstance(said, int) else said.line, text)


def _show(value: float) -> str:
    return f"{value:.7g}" if abs(value) >= 1e16 or not value.is_integer() else f"{value:.0f}"


#: A GradScaler's scale goes up and down by powers of two, whatever the dtype.
_SCALER = searched(r"loss[ _-]?scal|grad[ _-]?scal|scaler|reducing|\bscale (?:starts|drops|falls|halves|goes)|initial scale")

# -- ends of ranges

_LOST_HIGH = searched(
    r"(?<![a-z_-])(?:[-+]?inf(?:inity|s)?|nans?|overflow\w*|saturat\w*|clamp\w*|clip\w*|out(?:side)? of|exceed\w*|too (?:large|big)|past|"
    r"largest|max(?:imum|imal)?|finite|ends? at|beyond)(?![a-z_-])|溢出|超出|无穷|最大|超过|上限"
)
_NOT_LOST = searched(
    r"(?:\bnot\b|\bno\b|n't|\bwithout\b|\binstead of\b|rather than|不是|没有|并非|不会|而非|无)\s{0,3}(?:an?\s|any\s|是\s?)?"
    r"(?:[-+]?inf\b|nans?\b|overflow\w*|溢出|无穷)(?: (?:or|nor) (?:inf|nans?|overflow\w*)\b)?"
)
_LOST_LOW = searched(
    r"(?<![\w.])[-+]?0\.?0{0,12}(?![\w.]*\d)|\bzeros?\b|underflow\w*|flush\w*|subnormal\w*|denormal\w*|vanish\w*|smallest|"
    r"\binf\b|\bnan\b|下溢|变成\s?0|变为\s?0|最小|为\s?零|归零"
)
_FLUSHED = searched(r"underflow|flush|subnormal|denormal|\bftz\b|下溢|次正规|非规格化")
#: The ends of ranges that name their dtype.
_OWN_ENDS = ((65504.0, "float16"), (3.4028235e38, "float32"), (3.3895314e38, "bfloat16"))


def _ends(said: _Statement) -> Iterator[Reckoned]:
    """Values past the end of a range, or below its smallest value, where the text tells that they were lost."""
    values = said.numbers
    if _LOST_HIGH.search(_NOT_LOST.sub("", said.low)) is not None:
        own = [dtype for end, dtype in _OWN_ENDS if any(_close(abs(one.value), end, 1e-4) for one in values)]
        for dtype in said.dtypes if said.named else own or said.dtypes:
            past = [one for one in values if (not one.unit and math.isinf(nearest(dtype, one.value))) or _over(dtype, one, values)]
            if past:
                largest = FORMATS[dtype].largest
                text = f"{_show(past[0].value)} is beyond the range of {dtype}, which ends at {_show(largest)}"
                yield _fact(said, "overflow", dtype, [past[0].value, largest], text)
                return
    if _LOST_LOW.search(said.low) is not None:
        flushed = _FLUSHED.search(said.low) is not None
        for dtype in said.dtypes:
            low = next((one for one in values if not one.unit and _vanishes(dtype, one.value, flushed)), None)
            if low is not None:
                smallest = FORMATS[dtype].smallest
                text = f"{_show(low.value)} is below what {dtype} can hold: its smallest value is {smallest:.3g}"
                yield _fact(said, "underflow", dtype, [low.value, smallest], text)
                return


def _over(dtype: str, one: Number, values: list[Number]) -> bool:
    """Tell whether a value is past the end and the end stands beside it."""
    largest = FORMATS[dtype].largest
    return not one.unit and abs(one.value) > largest and any(abs(other.value) == largest for other in values)


def _vanishes(dtype: str, value: float, flushed: bool) -> bool:
    held = FORMATS[dtype]
    edge = any(_close(abs(value), end, 0.01) for end in (held.smallest, held.smallest_normal))
    return value != 0 and (nearest(dtype, value) == 0 or (flushed and abs(value) < held.smallest_normal) or edge)


def _named_ends(said: _Statement) -> Iterator[Reckoned]:
    """The end of a range itself."""
    for one in said.numbers:
        size = abs(one.value)
        own = next((dtype for end, dtype in _OWN_ENDS if _close(size, end, 1e-4)), None)
        named = next((name for name in said.dtypes if said.named and _close(size, FORMATS[name].largest, 1e-4)), None)
        for dtype in (named or own,):
            # 448 is the side of an image as well.
            if dtype is not None and not one.unit and (size > 60000 or _LOST_HIGH.search(said.low) is not None):
                yield _fact(said, "overflow", dtype, [one.value], f"{_show(one.value)} is where the range of {dtype} ends")
                return


def _close(value: float, other: float, share: float) -> bool:
    return abs(value - other) <= share * other


# -- one value stored

_ADDED = searched(
    r"(?<![\w.*])(?P<a>\d[\d.]{0,30}(?:e[-+]?\d{1,3})?) ?(?:plus|\+|加上?) ?(?P<b>\d[\d.]{0,30}(?:e[-+]?\d{1,3})?)(?![\w*])|"
    r"\badd(?:ing|ed|s)? (?P<c>\d[\d.]{0,30}(?:e[-+]?\d{1,3})?) to (?P<d>\d[\d.]{0,30}(?:e[-+]?\d{1,3})?)(?!\w)"
)
_EXPLICIT = searched(
    r"expected|\bgot\b|\bactual|\bdesired|\bvs\b|!=|->|=>|→|becom\w+|comes? (?:out|back)|turn(?:s|ed) in|return(?:s|ed)?|giv(?:es|en)|"
    r"round(?:s|ed|ing)?|stored|cast|print(?:s|ed)?|show(?:s|n)?|read(?:s)? (?:back|as)|instead of|should be|变成|变为|得到|落到|"
    r"应为|应该是|实际|期望|返回|存成|存为|转成|打印|舍入"
)
_ANY = ("float32", "float16", "bfloat16")
_EXPECTED_GOT = searched(r"expected:? (?P<first>[-+\d.e]{1,40}+)[,;]?(?: but)? (?:got|actual|found|received):? (?P<second>[-+\d.e]{1,40}+)")


def _pairs(said: _Statement) -> Iterator[Reckoned]:
    """A number and what a dtype made of it: exact casts, among the numbers that stand close to each other."""
    values = [one for one in said.numbers if not one.unit][:24]
    explicit = _EXPLICIT.search(said.low) is not None
    whole = said.named and not said.dtypes
    for candidates in (said.dtypes, _ANY if explicit and not whole else ()):
        fitting = []
        for dtype in candidates:
            pair = _cast_pair(dtype, values, said, explicit, candidates is not _ANY)
            if pair is not None:
                fitting.append(_stored(said, dtype, *pair))
        if fitting:
            yield from fitting if candidates is _ANY else fitting[:1]
            return
    match = _EXPECTED_GOT.search(said.low)
    if match is not None:
        pair_ = numbers_in(f"{match['first'].rstrip('.')} ; {match['second'].rstrip('.')}")
        if len(pair_) == 2 and said.dtypes and (pair_[0].blur or pair_[1].blur or "." in match["first"]):
            yield from _held(said.line, said.dtypes[0], abs(pair_[0].value - pair_[1].value), max(abs(one.value) for one in pair_))


def _stored(said: _Statement | int, dtype: str, exact: float, kept: float) -> Reckoned:
    step = spacing(dtype, exact)
    text = f"{_show(exact)} became {_show(kept)}: {dtype} has steps of {_show(step)} there"
    return Reckoned("rounding", dtype, (exact, kept), said if isinstance(said, int) else said.line, text, True)


def _cast_pair(dtype: str, values: list[Number], said: _Statement, explicit: bool, named: bool) -> tuple[float, float] | None:
    for at, one in enumerate(values):
        others = values[at + 1 : at + 4]
        for other in others:
            for exact, kept in ((one, other), (other, one)):
                # 0.499878 where 0.5 was expected is no cast of 0.499878.
                if (named or kept.digits >= min(5, exact.digits) or not (exact.blur or kept.blur)) and _is_cast(
                    dtype, exact, kept, explicit
                ):
                    return exact.value, kept.value
    match = _ADDED.search(said.low)
    if match is not None:
        first, second = float(match["a"] or match["d"]), float(match["b"] or match["c"])
        large, small = (first, second) if abs(first) >= abs(second) else (second, first)
        kept_ = nearest(dtype, large)
        left = [value.value for value in values]
        if small and math.isfinite(kept_) and nearest(dtype, kept_ + small) == kept_ and (0.0 in left or left.count(large) > 1):
            return large + small, large
    return None


def _is_cast(dtype: str, exact: Number, kept: Number, explicit: bool) -> bool:
    """Tell whether a cast of the one gives the other, as far as it was printed, and that is no chance."""
    difference = abs(exact.value - kept.value)
    if difference <= exact.blur + kept.blur or not math.isfinite(difference) or difference > 0.26 * abs(exact.value):
        return False
    step = spacing(dtype, exact.value)
    if kept.blur > step / (8 if explicit else 64) or (exact.blur > step / 4 and exact.digits < 5):
        return False
    # Integers fit by chance: epochs, batch sizes. Those below the last exact one never do.
    return abs(nearest(dtype, exact.value) - kept.value) <= max(1.01 * kept.blur, abs(kept.value) * 1e-7)


# -- two arrays, or two labelled values

_ROLES = searched(
    r"^(?:x|y|z|a|b|actual|desired|expected|got|res|ref|out|output|result|results|reference|ours|theirs|golden|truth|target|"
    r"(?:.{0,20}(?:cpu|gpu|cuda|mps|fp32|fp16|bf16|float32|float16|bfloat16|eager|compiled|torch|numpy|onnx|jax|trt|tf)))$"
)
_BRACKET = searched(r"(?:tensor|array)\(|\[")
_OUTSIDE = searched(r"\)|dtype|device|atol|rtol|shape")


def _elements(page: _Page, at: int) -> tuple[str, list[Number]] | None:
    if at >= len(page.lines) or not page.values(at):
        return None
    said = labelled(page.lines[at])
    if said is None or _ROLES.search(said[0]) is None or _BRACKET.search(said[1]) is None:
        return None
    inside = _OUTSIDE.split(said[1].replace("tensor(", "").replace("array(", ""), maxsplit=1)[0]
    values = numbers_in(inside)[:64]
    return (said[0], values) if values else None


def _two_arrays(page: _Page, at: int) -> Iterator[Reckoned]:
    """Two printed arrays, compared element by element."""
    first = _elements(page, at)
    if first is None:
        return
    for other in range(at + 1, min(at + 7, len(page.lines))):
        second = _elements(page, other)
        if second is None or second[0] == first[0] or len(second[1]) != len(first[1]):
            continue
        pairs = list(zip(first[1], second[1], strict=True))
        unequal = [(one, two) for one, two in pairs if abs(one.value - two.value) > 2 * (one.blur + two.blur)]
        if unequal:
            yield from _compared(page.numbers[at], unequal, pairs, _coarsest_first(page.near(at)))
        return


def _compared(line: int, unequal: list[tuple[Number, Number]], pairs: list[tuple[Number, Number]], named: list[str]) -> Iterator[Reckoned]:
    for dtype in dict.fromkeys((*named, *_ANY)):
        for way in (unequal, [(two, one) for one, two in unequal]):
            if all((dtype in named or kept.digits >= 5) and _is_cast(dtype, exact, kept, True) for exact, kept in way):
                yield _stored(line, dtype, way[0][0].value, way[0][1].value)
                return
    magnitude = max(abs(one.value) for pair in pairs for one in pair)
    difference = max(abs(one.value - two.value) for one, two in unequal)
    yield from _held(line, named[0] if named else None, difference, magnitude)


def _held(line: int, dtype: str | None, difference: float, magnitude: float) -> Iterator[Reckoned]:
    """Hold a difference of computed values against a dtype, or against the finest that explains it where none is named."""
    if not (difference and magnitude and math.isfinite(difference) and math.isfinite(magnitude)):
        return
    if dtype is None:
        dtype = next((name for name in _ANY if steps(name, difference, magnitude) <= ROUNDING), _ANY[-1])
    count = steps(dtype, difference, magnitude)
    shown = f"{difference:.4g} at values of {magnitude:.4g} is {count:.2g} steps of {dtype}"
    if count <= ROUNDING:
        yield _fact(line, "rounding", dtype, [difference, magnitude], shown)
    elif count >= BEYOND or difference >= magnitude:
        yield _fact(line, "beyond-rounding", dtype, [difference, magnitude], f"{shown}: far more than rounding")


# -- differences that a sentence or a printed comparison states

_DIFFERENCE = searched(
    r"(?P<relative>\brel(?:ative)?(?![a-z])[ _.]?)?(?:diff(?:erences?|s)?(?![a-z])|(?<!type )errors?(?! code|"
    r" type)(?![a-z])|\berr(?![a-z])|deviation|discrepancy|delta|误差值?|差异|差值|偏差|相差)"
    r"(?:(?!expected|tolerance|\brel|loss)(?:[^0-9\n;.]|(?<=[a-z])(?:8|16|32|64)\b)){0,60}?(?:[=:]|\s|\b(?:is|was|are|"
    r"of|by|about|around|at most|to|up to|reaches|only|with)|"
    r"[为是约到达在~≈(|])\s{0,4}(?:about |around |some |~ ?|≈ ?|约 ?)?(?P<value>\d{1,20}(?:\.\d{0,40})?(?:e[-+]?\d{1,3})?)(?![\w%])"
)
_AWAY = searched(
    r"(?:(?:off|apart) by|differ(?:s|ed|ing)?(?: from \S{1,20})? by(?: up to| at most)?|deviates? by(?: up to| at most)?|"
    r"(?P<bound>at most|up to|"
    r"within))\s(?:about |around |some |~)?"
    r"(?P<value>\d{1,20}(?:\.\d{0,40})?(?:e[-+]?\d{1,3})?)(?![\w%.]| ?(?:allowed|%))(?(bound)(?=[^.]{0,40}(?:away|apart|"
    r"\boff\b|differ|diff|error)))"
)
_RELATIVE = searched(
    r"(?:\brel(?:ative)?(?![a-z])[ _.]{0,2}(?:diff(?:erence)?|err(?:or)?)?|相对误差)(?:(?!abs)[^0-9\n]){0,40}?(?<![a-z0-9_.])"
    r"(?P<value>\d{1,20}(?:\.\d{0,40})?(?:e[-+]?\d{1,3})?)(?![\w%])|"
    r"(?P<share>\d{1,20}(?:\.\d{0,40})?(?:e[-+]?\d{1,3})?) of the (?:mean|max|value|norm)"
)
_MAGNITUDE = searched(
    r"(?:max ?\|\w{0,12}\||\|\w{0,12}\|[_ ]?max|max[_ ]?abs(?![_ ]?(?:diff|err))|magnitudes?|values?|largest|output|"
    r"outputs|reference|range|\bnorm\b|"
    r"around|entries|elements|activations|logits|数值|量级|最大值|幅值|输出|左右)(?:(?!diff|err|tol)[^0-9\n]){0,24}?"
    r"(?<![a-z0-9_.])(?P<value>\d{1,20}(?:\.\d{0,40})?(?:e[-+]?\d{1,3})?)(?![\w%])"
)
_INDEX = searched(r"at index (\([\d, ]{0,60}\))")
_ULPS = searched(
    r"(?:max(?:imum)?(?: difference)?(?: is)?|differs? by|off by|of|"
    r"diff(?:erence)?[ :=]{1,3})\s{0,3}(?P<value>\d{1,12}(?:\.\d{1,6})?)(?: ulps?)?\b"
)
#: What has no step of a dtype: rates, losses, scores, tolerances.
_NO_STEP = searched(
    r"accuracy|\bmap\b|perplexity|\bppl\b|\bloss\b|\bscore|\bbleu|\bfps\b|tok(?:en)?s?/s|speed|\d ms\b|精度下降|准确率|困惑度"
)


def _differences(page: _Page, at: int, said: _Statement) -> Iterator[Reckoned]:
    if "ulp" in said.low and (match := _ULPS.search(said.low[said.low.find("ulp") + 3 :] or said.low) or _ULPS.search(said.low)):
        count, dtypes = float(match["value"]), said.dtypes
        if dtypes and (count <= ROUNDING or count >= BEYOND):
            text = f"{count:g} steps of {dtypes[0]}"
            yield _fact(said, "rounding" if count <= ROUNDING else "beyond-rounding", dtypes[0], [count], text)
        return
    if _NO_STEP.search(said.low) is not None:
        return
    match = _DIFFERENCE.search(said.low) or _AWAY.search(said.low)
    dtypes = said.dtypes
    dtype = dtypes[0] if dtypes else None
    if match is not None and not (match.groupdict().get("relative")):
        difference = float(match["value"])
        magnitude = _magnitude(page, at, said, match.start("value"), difference)
        if magnitude is not None:
            yield from _held(said.line, dtype, difference, magnitude)
            return
    relative = _RELATIVE.search(said.low)
    if relative is not None and dtype is not None:
        share = float(relative["value"] or relative["share"])
        if 0 < share <= ROUNDING * FORMATS[dtype].epsilon:
            count = share / FORMATS[dtype].epsilon
            yield _fact(said, "rounding", dtype, [share], f"a relative difference of {share:.3g} is {count:.2g} steps of {dtype}")


def _magnitude(page: _Page, at: int, said: _Statement, skip: int, difference: float) -> float | None:
    """Return the largest value that is named for the outputs: in the sentence, around it, or by a relative difference at one place."""
    for match in _MAGNITUDE.finditer(said.low):
        if match.start("value") != skip and float(match["value"]) != 0:
            return float(match["value"])
    for other in page.around(at):
        if other == at:
            continue
        low = page.lows[other]
        if len(low) < 400 and ("max|" in low or "|max" in low or "magnitude" in low or "max_abs" in low or "max abs of" in low):
            match_ = _MAGNITUDE.search(low)
            if match_ is not None:
                return float(match_["value"])
    sizes = [abs(one.value) for other in page.around(at) if _is_array(page, other) for one in page.values(other) if not one.unit]
    if sizes:
        return max(sizes)
    index = _INDEX.search(said.low)
    for other in range(at + 1, min(at + 3, len(page.lows))):
        relative = _RELATIVE.search(page.lows[other])
        same = _INDEX.search(page.lows[other])
        if relative and relative["value"] and float(relative["value"]) > 0 and index and same and index[1] == same[1]:
            return difference / float(relative["value"])
    return None


def _is_array(page: _Page, at: int) -> bool:
    low = page.lows[at]
    return "(actual)" in low or "(desired)" in low or (("array(" in low or "tensor(" in low) and _elements(page, at) is not None)


# -- integers

_LIMITS = {1 << held.bits: dtype for dtype, held in FORMATS.items() if dtype in ("float32", "float16", "bfloat16", "float64")}
_PLACE = searched(
    r"\b(?:from|after|above|beyond|over|past|exceed\w*|until|up to|position|index|ids?|step|count\w*|stuck|stays?|stop\w*|saturat\w*|"
    r"plateau\w*|never|mismatch|wrong|limit|exact\w*|sum\w*|cumsum|accumulat\w*|add(?:s|ing|ed)?|climbs?|ones|integers?|representable|"
    r"start\w*|begin\w*|first|before|greater|larger|top|max\w*|overflow\w*|elements|freez\w*|stall\w*)\b|"
    r"超过|之后|开始|停在|卡在|卡住|位置|索引|求和|累加|计数|一律|整数|大于|以上|不再|精确|上限|溢出|序号|元素"
)
_NO_PLACE = searched(
    r"\bbytes?\b|buffer|chunk|batch|hidden|dim\b|heads?|memory|width|height|vocab|ctx|context|resolution|\bshape|"
    r"\bsizes?\b|\blen(?:gth)?\b|\bseq\b|\bdims?\b|tokens?[ =:]{1,3}\d|image|seq_?len"
)


def _whole_numbers(page: _Page, at: int, said: _Statement) -> Iterator[Reckoned]:
    """The last integer up to which all are exact: where it begins to go wrong, or where a count stays."""
    if _PLACE.search(said.low) is None:
        return
    values = [one.value for one in said.numbers if not one.unit]
    named = {one.dtype for one in said.named}
    for value in values:
        for limit, dtype in _LIMITS.items():
            if value not in (limit, limit + 1):
                continue
            sure = dtype in named or (limit >= 1 << 24 and (value == limit + 1 or _repeated(page, at, value) or _STUCK.search(said.low)))
            if (sure and _NO_PLACE.search(said.low) is None) or (dtype not in named and value == limit + 1 and _BEGINS.search(said.low)):
                if dtype == "float16" and "tf32" in named and "float16" not in named:
                    continue
                yield _fact(said, "integer-limit", dtype, [value], f"{dtype} holds every integer up to {limit} and not {limit + 1}")
                return
    if "int32" in named or _INT32.search(said.low) is not None:
        top = LARGEST_INTEGER["int32"]
        for value in values:
            if _close(value, top, 1e-3) or (value > top and _PLACE.search(said.low) is not None and float(value).is_integer()):
                yield _fact(said, "integer-limit", "int32", [value], f"{_show(value)} is at or past the end of int32, {top}")
                return


_STUCK = searched(r"stuck|stays?|stops?|saturat|plateau|never|above|beyond|past|after|exceed|wrong|over|停在|卡在|超过|之后|以上|大于")
_BEGINS = searched(
    r"\b(?:from|first|starting|begin\w*|since)\b.{0,40}\b(?:position|index|step|token|id|element)|(?:position|index) \d{3,9} on|从第"
)
_INT32 = searched(r"int32|int_max|32[- ]bit|2\^31|2\*\*31|\b2147483647\b")


def _repeated(page: _Page, at: int, value: float) -> bool:
    return sum(one.value == value for other in range(max(0, at - 3), min(len(page.lines), at + 4)) for one in page.values(other)) >= 2


def _stuck_column(page: _Page, at: int) -> Iterator[Reckoned]:
    """Printed rows in which one number counts on and another stays at the last exact integer."""
    rows = [page.values(other) for other in range(at, min(at + 3, len(page.lines)))]
    if len(rows) < 3 or len({len(row) for row in rows}) != 1 or len(rows[0]) < 2:
        return
    if len({"".join(one for one in page.lows[other] if one.isalpha()) for other in range(at, at + 3)}) != 1:
        return
    for column in range(len(rows[0])):
        dtype = _LIMITS.get(int(rows[2][column].value)) if abs(rows[2][column].value) < 2**60 else None
        limit = rows[2][column].value
        if dtype is None or rows[1][column].value != limit or not limit / 2 <= rows[0][column].value < limit:
            continue
        if any(rows[1][other].value < rows[2][other].value > limit for other in range(len(rows[0])) if other != column):
            yield _fact(
                page.numbers[at + 1],
                "integer-limit",
                dtype,
                [limit],
                f"a count stays at {_show(limit)}, the last integer before {dtype} has gaps",
            )
            return


# -- spacings

_SPACED = searched(
    r"spac(?:ing|ed)|\bsteps? (?:of|size|is|there|between)|\bgaps?\b|interval|\bnext\b|\bblocks? of\b|collaps|"
    r"resolution|\bulp\b|\beps(?:ilon)?\b|"
    r"multiples?|apart|granular|grid|increments?|neighbou?r|间隔|步长|间距|下一个|相邻|粒度|分辨率|倍数"
)


def _spacings(said: _Statement) -> Iterator[Reckoned]:
    if _SPACED.search(said.low) is None:
        return
    values = [one.value for one in said.numbers if one.unit in ("", "ulp", "ulps")][:16]
    for dtype in said.dtypes:
        for at, one in enumerate(values):
            for other in values[max(0, at - 3) : at + 4]:
                step = spacing(dtype, one)
                if one and other != one and abs(other) < abs(one) and other == step != 1:
                    yield _fact(said, "rounding", dtype, [one, other], f"{dtype} has steps of {_show(step)} at {_show(one)}")
                    return
                if one and other - one == step and nearest(dtype, one) == one:
                    yield _fact(said, "rounding", dtype, [one, other], f"after {_show(one)}, the next {dtype} is {_show(other)}")
                    return


# -- sizes

_GIGA = {"g": (1e9, 2.0**30), "gb": (1e9, 2.0**30), "gib": (2.0**30,), "mb": (1e6, 2.0**20), "mib": (2.0**20,), "m": (), "bytes": (1.0,)}
_PARAMETERS = searched(r"param\w*|weights?|model|模型|参数|权重|checkpoint|llama|qwen|mistral|gemma|llm|\db\b")
_STORED = searched(
    r"file|checkpoint|safetensors|\.pth?\b|\.bin\b|gguf|weights?|disk|download|tak(?:es?|ing)|need|requires?|occup|"
    r"wrote|writes|saved?|size|"
    r"load(?:s|ing|ed)|uses?|consum|param|weigh|make|is (?:about |around )?\d|占|文件|大小|需要|权重|参数|上传|"
    r"下载|加载|显存|保存|导出|体积|目录"
)
_CARD = searched(
    r"(?:rtx|gtx|tesla|a100|h100|h200|v100|a10g?|l40s?|t4|a6000|[34][0-9]{2}0(?: ?ti)?|card|gpus?|vram|ram|memory of|swap|mac)"
    r"[^.;,，；]{0,24}$|\b(?:in|into|on|within|fits?|only|with) $|[*x×] ?$"
)
_OF_CARD = searched(r"^ ?(?:of )?(?:v?ram|gpu|card|cards|each|显卡|内存|的?显卡|per gpu|swap|hbm|unified)")
_TRAINED = searched(r"adam|optimi[sz]er|train|finetun|fine-tun|full|训练|微调|优化器")


def _sizes(said: _Statement) -> Iterator[Reckoned]:
    sizes = [one for one in said.numbers if one.unit in _GIGA and one.unit != "m" and not _of_card(said, one)]
    if not sizes:
        return
    counts = [one.value * 1e9 for one in said.numbers if one.unit in ("b", "billion") and one.value > 0]
    counts += [one.value * 1e6 for one in said.numbers if one.unit in ("million",) and one.value > 0]
    if counts and _PARAMETERS.search(said.low) is not None and _STORED.search(said.low) is not None:
        for size in sizes:
            for bytes_ in (1, 2, 4, 8, *((12, 16) if _TRAINED.search(said.low) else ())):
                if any(_close(size.value * unit / counts[0], bytes_, 0.12) for unit in _GIGA[size.unit]):
                    yield _bytes(said.line, bytes_, counts[0], size.value * _GIGA[size.unit][0])
                    break
    elif len(sizes) == 2 and _STORED.search(said.low) is not None and _HALF.search(said.low) is not None:
        large, small = sorted((one.value for one in sizes), reverse=True)
        if small and _close(large, 2 * small, 0.06) and sizes[0].unit == sizes[1].unit:
            yield _fact(said, "bytes", "4", [large, small], f"{_show(large)} is twice {_show(small)}: 4 bytes for each value, float32")


_HALF = searched(r"half|[bf]p?16|bfloat16|twice|double|两倍|翻倍|一倍|半精度")


def _of_card(said: _Statement, one: Number) -> bool:
    return (
        _CARD.search(said.low[max(0, one.start - 40) : one.start]) is not None
        or _OF_CARD.search(said.low[one.end :].lstrip("gib ")) is not None
    )


_WIDE = {
    1: "int8 or float8",
    2: "float16 or bfloat16",
    4: "float32",
    8: "float64",
    12: "weights and optimizer",
    16: "weights and optimizer",
}


def _bytes(line: int, bytes_: int, count: float, size: float) -> Reckoned:
    text = f"{_show(size)} bytes for {_show(count)} values are {bytes_} bytes each: {_WIDE[bytes_]}"
    return _fact(line, "bytes", str(bytes_), [count, size], text)


_FILE = r"\.(?:pt|pth|bin|safetensors|onnx|ckpt|gguf|npy|npz)\b"
_LISTED = searched(
    rf"^[-l][-rwxs]{{9}}.{{0,80}}? (?P<listed>\d{{4,15}}|\d{{1,4}}(?:\.\d)?(?=[kmg] ))(?P<unit>[kmg]?) .{{0,80}}?{_FILE}|"
    rf"^(?P<used>\d{{1,9}}(?:\.\d)?)(?P<used_unit>[kmg])\s.{{0,120}}?{_FILE}|"
    r"\b(?:file ?size|getsize|size)\b[^0-9\n]{0,40}(?P<told>\d{4,15})(?![\d.])|"
    r"(?P<bytes>\d[\d,]{3,18}) ?bytes"
)
_COUNT = searched(
    r"(?:param\w{0,10}|numel)[^0-9\n]{0,20}(?P<first>\d[\d,.]{0,18}\d) ?(?P<first_unit>[mb](?:illion)?\b)?|"
    r"(?P<second>\d[\d,.]{0,18}\d) ?(?P<second_unit>[mb](?:illion)?)? ?(?:trainable |model )?param"
)
_SCALE = {"": 1.0, "k": 2.0**10, "m": 2.0**20, "g": 2.0**30}


def _listed_file(page: _Page, at: int) -> Iterator[Reckoned]:
    """A file in a listing, or a size in bytes, beside a count of parameters."""
    file = _LISTED.search(page.lows[at])
    if file is None:
        return
    size = float((file["listed"] or file["used"] or file["told"] or file["bytes"]).replace(",", ""))
    size *= _SCALE[file["unit"] or file["used_unit"] or ""]
    for other in page.around(at):
        match = _COUNT.search(page.lows[other]) if len(page.lows[other]) < 400 else None
        if match is None:
            continue
        unit = (match["first_unit"] or match["second_unit"] or " ")[0]
        written = (match["first"] or match["second"]).replace(",", "")
        if written.count(".") > (unit != " "):
            continue
        count = float(written) * {"m": 1e6, "b": 1e9}.get(unit, 1.0)
        for bytes_ in (1, 2, 4, 8):
            if count >= 1000 and count != size and _close(size / count, bytes_, 0.12):
                yield _bytes(page.numbers[at], bytes_, count, size)
                return
