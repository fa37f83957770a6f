"""What is answered beside the diagnosis: what a device computes in, whether a fix or a dtype would help, how a fact is called."""

from __future__ import annotations

from collections.abc import Mapping

from troubleshoot.basics.dtypes import parse_dtype
from troubleshoot.basics.errors import InputError
from troubleshoot.engine.result import FixAdvice, IssueDiagnosis
from troubleshoot.reading.environment import gpus
from troubleshoot.reading.environment.dtype_support import support
from troubleshoot.reading.environment.hardware import accelerator_from_text
from troubleshoot.reading.environment.machine import Accelerator
from troubleshoot.serve.chat.conversation import Turn
from troubleshoot.serve.chat.strings import TABLES
from troubleshoot.telling.layout import visible
from troubleshoot.telling.words import Words

_KINDS = {"cuda": 0, "rocm": 1, "mps": 2}
_STATES = ("native", "slow", "emulated", "none")
#: Cards that are named of a generation.
_EXAMPLES = 2
#: Letters whose names begin with a vowel: an RTX 4090, an A100, a T4.
_VOWELS = "AEFHILMNORSX8"


class Asides:
    """Writes these answers in one language, each as a list of paragraphs."""

    def __init__(self, language: str) -> None:
        self.words = Words(language)
        self.table = TABLES[self.words.language]

    def fact(self, name: str, value: str) -> str:
        """Return a fact in words: "a T4", "transformers 4.50.1", "no apex"."""
        package = name.removeprefix("package.")
        if name == "gpu":
            key = "fact.no-gpu" if value == "none" else "fact.gpu"
            return self.table[key].format(article="an" if _is_spelled_with_vowel(value) else "a", name=visible(value))
        if package != name:
            key = f"fact.{value}" if value in ("present", "absent") else "fact.package"
            return self.table[key].format(name=package, version=value)
        return self.table["fact.other"].format(name=self.table.get(f"fact.{name}", name), value=visible(value))

    def given(self, facts: Mapping[str, str]) -> str:
        """Return "With a T4 and torch 2.3"."""
        if not facts:
            return self.table["given-listed"]
        return self.table["given"].format(items=self.table["and"].join(self.fact(name, value) for name, value in facts.items()))

    def about_hardware(self, turn: Turn) -> list[str]:
        """Return which devices compute in a dtype, or how the one does that is named or known."""
        assert turn.asked is not None
        dtype = turn.asked.dtypes[0]
        named = turn.asked.facts.get("gpu") or (_gpu(turn) if turn.state.event == "can" else None)
        return [self._device(named, dtype)] if named else [self._generations(dtype)]

    def _device(self, name: str, dtype: str) -> str:
        try:
            device: Accelerator | str = accelerator_from_text(name) or "cpu"
        except InputError:
            device = "cpu"
        found = support(device, dtype)
        convolution = support(device, dtype, "convolution").state
        shown = visible(device if isinstance(device, str) else device.name)
        text = self.table["device"].format(name=shown, dtype=dtype, state=self.words(f"env.{found.state}"))
        if convolution not in (found.state, "unknown"):
            text += self.words.paren(self.table["convolution"].format(state=self.words(f"env.{convolution}")))
        means = self.table.get(f"means.{found.state}", "")
        return f"{text}{self.table['stop']}{means}" + (self.words.paren(found.source) if found.source else "")

    def _generations(self, dtype: str) -> str:
        """Return the devices by what they make of a dtype, a line for each state, those of the best known makers first."""
        found: dict[str, dict[str, list[str]]] = {}
        for kind, capability, architecture, names in sorted(gpus.GENERATIONS, key=lambda one: _KINDS.get(one[0], len(_KINDS))):
            state = support(Accelerator("", kind, "report", capability, architecture), dtype).state
            cards = found.setdefault(state, {}).setdefault(architecture, [])
            cards += [name for name, _ in names[:_EXAMPLES]]
        found.setdefault(support("cpu", dtype).state, {})["CPU"] = []
        if set(found) == {"unknown"}:
            return self.table["no-such-dtype"].format(dtype=dtype)
        lines = [self.table["generations"].format(dtype=dtype)]
        for state in _STATES:
            groups = [
                architecture + (self.words.paren(", ".join(cards[:_EXAMPLES])) if cards else "")
                for architecture, cards in found.get(state, {}).items()
            ]
            if groups:
                lines.append(f"- **{self.words(f'env.{state}')}**{self.table['colon']}{self.words.list(groups)}")
        return "\n".join(lines)

    def dtype_fix(self, dtype: str, first: IssueDiagnosis) -> FixAdvice | None:
        """Return the fix that computes in a dtype: one whose kind says so, else one whose action does."""
        kinds = [one for one in first.fixes if one.kind.startswith("use-") and parse_dtype(one.kind.removeprefix("use-")) == dtype]
        written = [one for one in first.fixes if one.action.get("dtype") == dtype or f"torch.{dtype}" in (one.code or "")]
        return next(iter((*kinds, *written)), None)

    def about_dtype(self, dtype: str, turn: Turn, first: IssueDiagnosis) -> list[str]:
        """Return whether a dtype would help: what the base knows of it for this issue, and what the GPU makes of it."""
        fix = self.dtype_fix(dtype, first)
        texts = self.about_fix(fix, turn) if fix is not None else [self.table["would.unknown"].format(what=dtype)]
        gpu = _gpu(turn)
        return [*texts, self._device(gpu, dtype) if gpu else self.table["which-gpu"].format(dtype=dtype)]

    def about_fix(self, fix: FixAdvice, turn: Turn) -> list[str]:
        """Return whether a fix would help."""
        title, why = visible(fix.title), visible(self.words.flow(fix.why or fix.reason))
        if fix.expected == "fails":
            return [self.table["would.fails"].format(title=title, why=visible(self.words.flow(fix.reason)))]
        if fix.fits is False:
            return [self.table["would.no"].format(title=title, why=why)]
        number = turn.fixes.index(fix) + 1 if fix in turn.fixes else 0
        if fix.id in turn.state.tried:
            return [self.table["would.tried"].format(number=number, title=title)]
        key = "would.perhaps" if fix.fits is None else "would.yes"
        warning = [visible(self.words.flow(fix.warning))] if fix.warning else []
        return [self.table[key].format(number=number, title=title, why=why), *warning]


def _gpu(turn: Turn) -> str | None:
    """Return the GPU that is known in a conversation."""
    if "gpu" in turn.state.answers:
        return turn.state.answers["gpu"]
    known = turn.diagnosis.environment.accelerators if turn.diagnosis is not None else ()
    return known[0].name if known else None


def _is_spelled_with_vowel(name: str) -> bool:
    return name[:1].upper() in (_VOWELS if not name[1:2].islower() else "AEIO")
