"""What to ask: only facts whose answer would change the first fix, the most decisive first."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from troubleshoot.engine.matching.candidates import Candidate
from troubleshoot.engine.matching.conditions import evaluate
from troubleshoot.engine.matching.releases import hold_releases
from troubleshoot.engine.ranking import KNOWN, LIKELY, Hypothesis
from troubleshoot.knowledge.base import KnowledgeBase
from troubleshoot.knowledge.schema import Ask, Condition

#: Hypotheses whose open conditions are asked for, and questions asked at most.
_MOST_HYPOTHESES = 4
_MOST_TRIED = 3
#: Answers of one question that are tried: the usual ones come first.
_MOST_ANSWERS = 2
_MOST_MODELS = 4
_MOST_QUESTIONS = 3

#: fact -> (question, usual answers). Package facts have a form of their own.
_DEFAULTS: dict[str, tuple[Ask, ...]] = {
    "gpu": (Ask(en="Which GPU does it run on?", zh="用的是哪块 GPU？", answers=("T4", "V100", "A100", "RTX 4090", "cpu")),),
    "dtype.requested": (
        Ask(
            en="Which dtype did you load or run the model with?",
            zh="模型是用哪种 dtype 加载或运行的？",
            answers=("float16", "bfloat16", "float32"),
        ),
    ),
    "attention": (
        Ask(en="Which attention implementation is used?", zh="用的是哪种注意力实现？", answers=("eager", "sdpa", "flash_attention_2")),
    ),
    "quantization": (
        Ask(
            en="Is the model quantized, and how?",
            zh="模型是否量化？用的哪种方式？",
            answers=("none", "bitsandbytes-4bit", "bitsandbytes-8bit", "gptq", "awq"),
        ),
    ),
    "autocast": (Ask(en="Does the failing code run under autocast?", zh="出错的代码是否在 autocast 下运行？", answers=("on", "off")),),
    "device.kind": (Ask(en="On which kind of device does it run?", zh="在哪种设备上运行？", answers=("cuda", "cpu", "mps", "rocm")),),
    "phase": (Ask(en="Does it fail in training or in inference?", zh="是训练时还是推理时出错？", answers=("training", "inference")),),
    "device-map": (Ask(en="Is device_map set, and to what?", zh="是否设置了 device_map？值是什么？", answers=("none", "auto")),),
}


@dataclass(frozen=True)
class Asked:
    """A question worth asking: ``about`` is the fact, ``decides`` the issues that its answer decides."""

    ask: Ask
    about: str
    decides: tuple[str, ...]


@dataclass(frozen=True)
class Open:
    """An unknown fact with its question and the issues that it bears on.

    ``certain``: an answer is known to change the first issue, and need not be tried: the release of an entry that claims certain releases.
    """

    about: str
    ask: Ask
    issues: tuple[str, ...]
    certain: bool = False


def open_facts(hypotheses: tuple[Hypothesis, ...], candidates: tuple[Candidate, ...], undecided: tuple[str, ...]) -> tuple[Open, ...]:
    """Return the unknown facts of the leading hypotheses, in their order, then those that undecided fixes hang on."""
    found: dict[str, Open] = {}
    first_of_entry: dict[str, Hypothesis] = {}
    for hypothesis in hypotheses:
        first_of_entry.setdefault(hypothesis.entry.id, hypothesis)
    sure = bool(hypotheses) and hypotheses[0].confidence >= KNOWN
    if not sure:
        models = _model_question(candidates)
        if models is not None:
            found[models.about] = models
    # Of a known issue only what it rests on itself is asked for, not what its rivals would need.
    for hypothesis in list(first_of_entry.values())[: 1 if sure else _MOST_HYPOTHESES]:
        for condition, asked in _askable(hypothesis):
            if evaluate(condition, hypothesis.candidate.context).state is None:
                for about, ask in asked:
                    _add(found, about, ask, hypothesis.entry.id)
        for one in hypothesis.entry.affected:
            package = hypothesis.candidate.context.facts.package(one.package)
            # Where lines of code tell that much, the release need not be known.
            if package is None or (package.version == "" and hold_releases((one,), hypothesis.candidate.context.facts).state is None):
                about = f"package.{one.package}"
                _add(found, about, _version_question(one.package), hypothesis.entry.id)
                if hypothesis is hypotheses[0]:
                    found[about] = replace(found[about], certain=True, issues=(*found[about].issues, *hypothesis.entry.refines))
    for about in undecided:
        default = _default(about)
        if default is not None:
            _add(found, about, default, hypotheses[0].entry.id if hypotheses else "")
    return tuple(found.values())


def _model_question(candidates: tuple[Candidate, ...]) -> Open | None:
    """Ask for the model where entries about models stand back only because the report names none."""
    waiting = [one for one in candidates if one.entry.models and one.refuted_by is None and not one.identified]
    if not waiting or waiting[0].context.facts.get("model"):
        return None
    names = tuple(dict.fromkeys(one.entry.models[0].rstrip("*-") for one in waiting))[:_MOST_MODELS]
    return Open("model", Ask(en="Which model is it?", zh="用的是哪个模型？", answers=names), tuple(one.entry.id for one in waiting))


def _add(found: dict[str, Open], about: str, ask: Ask, issue: str) -> None:
    known = found.get(about)
    issues = tuple(dict.fromkeys((*(known.issues if known else ()), issue)))
    found[about] = Open(about, known.ask if known else ask, issues)


Askable = tuple[tuple[Condition, tuple[tuple[str, Ask], ...]], ...]


def _askable(hypothesis: Hypothesis) -> Askable:
    """Return the conditions of a hypothesis that a user can be asked about, with the facts; kept with the compiled conditions."""
    kept: dict[object, Askable] = hypothesis.candidate.context.programs.askable
    key = (hypothesis.entry.id, hypothesis.open > 1, hypothesis.confidence < KNOWN)
    known = kept.get(key)
    if known is None:
        pairs = ((condition, tuple(_asked(condition))) for condition in _conditions(hypothesis))
        known = kept[key] = tuple((condition, asked) for condition, asked in pairs if asked)
    return known


def _conditions(hypothesis: Hypothesis) -> Iterator[Condition]:
    entry = hypothesis.entry
    yield from entry.evidence.required
    if hypothesis.open > 1:
        for weighted in entry.causes:
            yield from weighted.needs
            yield from weighted.likelier
    if hypothesis.confidence < KNOWN:
        yield from (condition for condition in entry.evidence.refuting if condition.ask)


def _asked(condition: Condition) -> Iterator[tuple[str, Ask]]:
    """Yield the facts of a condition that a user can be asked for."""
    about = _fact_name(condition)
    if about is not None:
        ask = condition.ask or _default(about, condition)
        if ask is not None:
            yield about, ask
        return
    for part in (*condition.any, *condition.all, *condition.none):
        yield from _asked(part)


def _fact_name(condition: Condition) -> str | None:
    if condition.fact is None:
        return None
    return "gpu" if condition.fact.startswith(("gpu.", "support.")) else condition.fact


def _default(about: str, condition: Condition | None = None) -> Ask | None:
    if about.startswith("package."):
        name = about.removeprefix("package.")
        if condition is not None and condition.in_ is not None:
            return _version_question(name)
        return Ask(en=f"Is {name} installed in this environment?", zh=f"这个环境里装了 {name} 吗？", answers=("present", "absent"))
    asks = _DEFAULTS.get(about)
    return asks[0] if asks else None


def _version_question(name: str) -> Ask:
    return Ask(en=f"Which version of {name} is installed?", zh=f"安装的 {name} 是哪个版本？")


def questions(
    opens: tuple[Open, ...],
    base: KnowledgeBase,
    first_fix: Callable[[dict[str, str]], tuple[str, str] | None],
    may_matter: Callable[[str], bool],
) -> tuple[Asked, ...]:
    """Return the questions worth asking.

    ``first_fix(answers)`` diagnoses again with an answer and returns the first issue and fix; ``may_matter(about)`` tells cheaply that
    no answer can change them.
    """
    now: tuple[str, str] | None = None
    asked: list[tuple[int, int, Asked]] = []
    for position, one in enumerate(opens[:_MOST_TRIED]):
        if one.certain:
            asked.append((-_MOST_ANSWERS, position, _question(one, one.issues)))
            continue
        if not may_matter(one.about):
            continue
        now = now or first_fix({})
        answers = (one.ask.answers or _version_answers(one, base))[:_MOST_ANSWERS]
        # In the order of the answers: what is shown must not depend on how this process hashes.
        outcomes = dict.fromkeys(first_fix({one.about: answer}) for answer in answers)
        changes = len(outcomes.keys() - {now})
        if changes == 0:
            continue
        decides = (*one.issues, *(outcome[0] for outcome in outcomes if outcome))
        asked.append((-changes, position, _question(one, decides)))
    asked.sort(key=lambda item: item[:2])
    return tuple(question for _, _, question in asked[:_MOST_QUESTIONS])


def _question(one: Open, decides: tuple[str, ...]) -> Asked:
    return Asked(one.ask, one.about, tuple(dict.fromkeys(decides)))


def _version_answers(one: Open, base: KnowledgeBase) -> tuple[str, ...]:
    """Return releases on both sides of the borders that the issues name: what an answer could change."""
    name = one.about.removeprefix("package.")
    found: list[str] = []
    for issue in one.issues:
        for affected in base.entry(issue).affected:
            if affected.package == name:
                for part in affected.ranges:
                    found.extend(border for border in (part.introduced, part.unknown_before, part.fixed) if border and border != "0")
    return tuple(dict.fromkeys((*found, "0.0.1")))


def undecided_facts(hypotheses: tuple[Hypothesis, ...], abouts: tuple[str | None, ...]) -> tuple[str, ...]:
    """Return the facts that undecided fixes of likely hypotheses hang on."""
    if not hypotheses or hypotheses[0].confidence < LIKELY:
        return ()
    return tuple(dict.fromkeys(about for about in abouts if about))
