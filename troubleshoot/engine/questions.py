"""What to ask: the one experiment or fact that best separates the causes that are open, for what it costs to find out.

An experiment's answer is predicted by the causes (kb/experiments.yaml), a fact's by the factors of the conditions that read it. What an
answer is expected to tell of the causes is counted in bits (their mutual information); nothing is asked whose answer would leave the first
cause, the first issue or the first fix as it is. Nothing is ranked again for that: a question must not cost more than the answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import msgspec

from troubleshoot.engine.evidence import TRIED, Facts
from troubleshoot.engine.matching.conditions import evaluate
from troubleshoot.engine.matching.releases import hold_releases
from troubleshoot.engine.matching.tried import chance
from troubleshoot.engine.ranking import KNOWN, LIKELY, TEMPLATE, Hypothesis
from troubleshoot.knowledge.base import KnowledgeBase
from troubleshoot.knowledge.experiments import Experiment, Prediction
from troubleshoot.knowledge.schema import NO_CAUSE, Ask, Condition

#: Hypotheses whose open facts are asked for.
_MOST_HYPOTHESES = 4
#: Answers of one question that are tried: the usual ones come first.
_MOST_ANSWERS = 4
#: Causes that are less likely are nobody's question.
_OPEN = 0.03
#: What finding out costs: to look something up, and to run the program once more.
_LOOK_UP = 1.0
_COST = {"low": 2.0, "medium": 4.0, "high": 8.0}
#: Bits that a fact is worth which decides between fixes alone.
_REMEDY = 0.1
#: Bits for one unit of cost below which a question is not worth anybody's time.
_LEAST = 0.02

#: fact -> (question, usual answers). Package facts have a form of their own.
_DEFAULTS: dict[str, Ask] = {
    "gpu": Ask(en="Which GPU does it run on?", zh="用的是哪块 GPU？", answers=("T4", "V100", "A100", "RTX 4090", "cpu")),
    "dtype.requested": Ask(
        en="Which dtype did you load or run the model with?",
        zh="模型是用哪种 dtype 加载或运行的？",
        answers=("float16", "bfloat16", "float32"),
    ),
    "attention": Ask(
        en="Which attention implementation is used?", zh="用的是哪种注意力实现？", answers=("eager", "sdpa", "flash_attention_2")
    ),
    "quantization": Ask(
        en="Is the model quantized, and how?",
        zh="模型是否量化？用的哪种方式？",
        answers=("none", "bitsandbytes-4bit", "bitsandbytes-8bit", "gptq", "awq"),
    ),
    "autocast": Ask(en="Does the failing code run under autocast?", zh="出错的代码是否在 autocast 下运行？", answers=("on", "off")),
    "device.kind": Ask(en="On which kind of device does it run?", zh="在哪种设备上运行？", answers=("cuda", "cpu", "mps", "rocm")),
    "phase": Ask(en="Does it fail in training or in inference?", zh="是训练时还是推理时出错？", answers=("training", "inference")),
    "device-map": Ask(en="Is device_map set, and to what?", zh="是否设置了 device_map？值是什么？", answers=("none", "auto")),
}


@dataclass(frozen=True)
class Asked:
    """A question worth asking: ``about`` is the fact, ``decides`` the issues that its answer decides."""

    ask: Ask
    about: str
    decides: tuple[str, ...]


@dataclass(frozen=True)
class _Offer:
    """A question with what it is worth: bits for one unit of cost."""

    worth: float
    asked: Asked


#: Facts under an answer; None where the answer cannot be used.
Under = Callable[[str, str], Facts | None]


def next_question(
    hypotheses: tuple[Hypothesis, ...], undecided: tuple[str, ...], base: KnowledgeBase, under: Under, known: Mapping[str, str]
) -> tuple[Asked, ...]:
    """Return the question to ask, if there is one. ``undecided`` are the facts that all fixes hang on, ``known`` what was answered."""
    if not hypotheses:
        return ()
    offers = [one for one in _offers(hypotheses, undecided, base, under) if one.asked.about not in known and one.worth >= _LEAST]
    # Of two that are worth the same the first one stays.
    best = max(offers, key=lambda one: one.worth, default=None)
    return (best.asked,) if best is not None else ()


def _offers(
    hypotheses: tuple[Hypothesis, ...], undecided: tuple[str, ...], base: KnowledgeBase, under: Under
) -> Iterator[_Offer]:
    first = hypotheses[0]
    sure = first.confidence >= KNOWN
    leading: dict[str, Hypothesis] = {}
    for one in hypotheses:
        leading.setdefault(one.entry.id, one)
    # Of a known issue only what it rests on itself is asked for, not what its rivals would need.
    for one in list(leading.values())[: 1 if sure else _MOST_HYPOTHESES]:
        yield from _of_entry(one)
    if not sure:
        yield from _of_experiments(hypotheses, base)
        if first.open > 1:
            yield from _of_family(first, under)
    if first.confidence >= LIKELY:
        for about in undecided:
            ask = _default(about)
            if ask is not None:
                yield _Offer(_REMEDY / _LOOK_UP, Asked(ask, about, (first.entry.id,)))


def _of_entry(one: Hypothesis) -> Iterator[_Offer]:
    """Yield the facts on which it hangs whether an entry answers: its releases, and what it requires or what would refute it."""
    entry, context = one.entry, one.candidate.context
    worth = _bits([one.confidence, 1.0 - one.confidence]) / _LOOK_UP
    for affected in entry.affected:
        package = context.facts.package(affected.package)
        # Where lines of code tell that much, the release need not be known.
        if package is None or (package.version == "" and hold_releases((affected,), context.facts).state is None):
            yield _Offer(worth, Asked(_version_question(affected.package), f"package.{affected.package}", (entry.id, *entry.refines)))
    conditions = [*entry.evidence.required]
    if one.confidence < KNOWN:
        conditions += [condition for condition in entry.evidence.refuting if condition.ask]
    for condition in conditions:
        if evaluate(condition, context).state is None:
            for about, ask in _asked(condition):
                yield _Offer(worth, Asked(ask, about, (entry.id, *entry.refines)))


# --- experiments ------------------------------------------------------------------------------------------------------------------------
def _of_experiments(hypotheses: tuple[Hypothesis, ...], base: KnowledgeBase) -> Iterator[_Offer]:
    """Yield the experiments whose outcome would put another cause first."""
    first = hypotheses[0]
    shares = _shares(hypotheses)
    if len(shares) < 2:
        return
    facts = first.candidate.context.facts
    made = {one.experiment for one in facts.report.contrasts}
    said = {cause: base.predicted(cause) for cause in shares}
    for name, experiment in base.experiments.experiments.items():
        predictions = [one.get(name) for one in said.values()]
        # What no cause expects to help is no experiment that anybody should make.
        if name in made or not any(one and one.outcome == "gone" for one in predictions) or not _possible(name, facts):
            continue
        worth = _told(list(shares.values()), [_split(one) for one in predictions]) / _COST[experiment.cost]
        if worth:
            decides = dict.fromkeys(one.entry.id for one in hypotheses if one.cause in shares)
            yield _Offer(worth, Asked(_experiment_question(experiment, facts), TRIED + name, tuple(decides)))


def _shares(hypotheses: tuple[Hypothesis, ...]) -> dict[str, float]:
    """Return the causes of what the first hypothesis explains, with their probabilities."""
    found: dict[str, float] = {}
    entries: dict[str, float] = {}
    for one in hypotheses:
        if one.candidate.failure == hypotheses[0].candidate.failure:
            # What is stated for the first cause includes neighbours that a reader would accept; here they are to be told apart.
            share = entries.setdefault(one.entry.id, one.confidence) * one.share
            found[one.cause] = found.get(one.cause, 0.0) + share
    if hypotheses[0].candidate.where not in TEMPLATE:
        # A message proves that it is a problem of the kind, prose does not.
        found[NO_CAUSE] = max(0.0, 1.0 - sum(found.values()))
    total = sum(found.values())
    return {cause: value / total for cause, value in found.items() if value >= _OPEN * total}


def _split(prediction: Prediction | None) -> list[float]:
    return [chance(prediction, "gone"), chance(prediction, "same")]


def _possible(name: str, facts: Facts) -> bool:
    """Tell whether an experiment can be made here: not in bfloat16 on a card without it."""
    support = facts.support(name)
    return not (support and support[0].value == "none")


#: Packages that tell how a program is started, and so how an experiment is made.
_SETTINGS = ("vllm", "sglang", "comfyui", "lightning")


def _experiment_question(experiment: Experiment, facts: Facts) -> Ask:
    setting = next((name for name in _SETTINGS if name in experiment.how and facts.package(name) is not None), "script")
    how = experiment.how.get(setting) or next(iter(experiment.how.values()))  # type: ignore[call-overload]
    en = f"Please try: {experiment.name.en} ({how}). Is the problem gone, or is it the same?"
    zh = f"请试一下：{experiment.name.zh}（{how}）。问题是消失了，还是一样？"
    return Ask(en=en, zh=zh, answers=("gone", "same"))


def _told(shares: list[float], answers: list[list[float]]) -> float:
    """Return the bits that an answer is expected to tell of the causes; 0 where none would put another one first.

    ``answers`` has for each cause the probabilities of the answers.
    """
    total = 0.0
    turns = False
    first = max(range(len(shares)), key=shares.__getitem__)
    for row in zip(*answers, strict=True):
        joint = [share * value for share, value in zip(shares, row, strict=True)]
        likely = sum(joint)
        if likely > 0.0:
            total += likely * _bits([one / likely for one in joint])
            turns = turns or max(joint) > joint[first]
    return _bits(shares) - total if turns else 0.0


def _bits(shares: list[float]) -> float:
    return -math.fsum([one * math.log2(one) for one in shares if one > 0.0])


# --- facts that a family's conditions read ----------------------------------------------------------------------------------------------
def _of_family(first: Hypothesis, under: Under) -> Iterator[_Offer]:
    """Yield the facts whose values would put another cause of the family first, by the factors of the conditions that read them."""
    candidate = first.candidate
    shares = {weighted.cause: share for weighted, share in candidate.cause_shares if weighted.cause != NO_CAUSE}
    causes = [one for one in candidate.context.programs.entry(candidate.entry).causes if one.weighted.cause in shares]
    for about, ask in _facts_of(first):
        read = [[(program, times) for program, times, facts in one.likelier if about in facts] for one in causes]
        values: list[list[float]] = []
        for answer in ask.answers[:_MOST_ANSWERS]:
            facts = under(about, answer)
            if facts is None:
                continue
            context = msgspec.structs.replace(candidate.context, facts=facts)
            values.append([
                0.0 if any(need(context).state is False for need in one.needs)
                else math.prod(times for program, times in rows if program(context).state is True)
                for one, rows in zip(causes, read, strict=True)
            ])  # fmt: skip
        # The factors of an answer are what it is likelier by under a cause: of all answers together they are its probabilities.
        totals = [sum(row) for row in zip(*values, strict=True)]
        if totals and all(totals):
            answers = [[row[at] / total for row in values] for at, total in enumerate(totals)]
            worth = _told([shares[one.weighted.cause] for one in causes], answers) / _LOOK_UP
            yield _Offer(worth, Asked(ask, about, (first.entry.id,)))


def _facts_of(first: Hypothesis) -> tuple[tuple[str, Ask], ...]:
    """Return the unknown facts that a family's conditions read and that a user can be asked for; kept with the compiled conditions."""
    context = first.candidate.context
    kept: dict[str, tuple[tuple[Condition, tuple[tuple[str, Ask], ...]], ...]] = context.programs.askable
    rows = kept.get(first.entry.id)
    if rows is None:
        conditions = [one for weighted in first.entry.causes for one in (*weighted.needs, *weighted.likelier)]
        pairs = ((condition, tuple(_asked(condition))) for condition in conditions)
        rows = kept[first.entry.id] = tuple((condition, asked) for condition, asked in pairs if asked)
    found: dict[str, Ask] = {}
    for condition, asked in rows:
        if evaluate(condition, context).state is None:
            for about, ask in asked:
                found.setdefault(about, ask)
    return tuple(found.items())


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
    return _DEFAULTS.get(about)


def _version_question(name: str) -> Ask:
    return Ask(en=f"Which version of {name} is installed?", zh=f"安装的 {name} 是哪个版本？")
