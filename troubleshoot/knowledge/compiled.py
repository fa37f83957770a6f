"""Compiling a collected knowledge base into the one file of :mod:`troubleshoot.knowledge.index`."""

from __future__ import annotations

import hashlib
from collections import Counter

import msgspec

from troubleshoot.knowledge.collect import Collected
from troubleshoot.knowledge.index import FORMAT, GRAM, SCOPE_OWNER, Index
from troubleshoot.knowledge.phrases import parse_phrase, phrase_keys
from troubleshoot.knowledge.templates import joined_probes, key_words, parse_template


def compile_base(collected: Collected, stamps: list[list[object]]) -> bytes:
    """Compile what was collected. Withdrawn entries keep their text (for ``kb show``) and lose their patterns."""
    encoder = msgspec.json.Encoder()
    lines: list[bytes] = []
    offset = 0

    def add(value: object) -> tuple[int, int]:
        nonlocal offset
        line = encoder.encode(value) + b"\n"
        lines.append(line)
        place = (offset, len(line))
        offset += len(line)
        return place

    ids = {id_: add(entry) for id_, entry in sorted(collected.entries.items())}
    causes = add(collected.causes)
    scope = add(list(collected.out_of_scope.values()))
    word_odds = add(collected.word_odds)
    experiments = add(collected.experiments)
    patterns = _patterns(collected)
    keys, general, spoken, always, needs = _keys(patterns)
    recall = add(_recall(patterns))
    body = b"".join(lines)
    index = Index(
        format=FORMAT,
        version=hashlib.sha256(body).hexdigest()[:12],
        keys=keys,
        general=general,
        spoken=spoken,
        grams=_grams(patterns),
        always=always,
        patterns=patterns,
        needs=needs,
        recall=recall,
        ids=ids,
        aliases={alias: id_ for id_, entry in collected.entries.items() for alias in entry.aliases},
        causes=causes,
        scope=scope,
        word_odds=word_odds,
        experiments=experiments,
        scope_exceptions={name: group.id for group in collected.out_of_scope.values() for name in group.exception if not group.message},
        stamps=[(str(path), int(str(time)), int(str(size))) for path, time, size in stamps],
        warnings=collected.warnings(),
    )
    return encoder.encode(index) + b"\n" + body


def _patterns(collected: Collected) -> list[tuple[str, str, list[str]]]:
    owners: dict[tuple[str, str], list[str]] = {}
    for id_, entry in sorted(collected.entries.items()):
        if entry.status == "withdrawn":
            continue
        for one in entry.signature.message:
            owners.setdefault(("f" if entry.fallback else "t", one.template), []).append(id_)
        for symptom in entry.signature.symptoms:
            owners.setdefault(("p", symptom), []).append(id_)
    for group in collected.out_of_scope.values():
        for template in group.message:
            owners.setdefault(("t", template), []).append(SCOPE_OWNER + group.id)
    return [(kind, text, list(dict.fromkeys(ids))) for (kind, text), ids in owners.items()]


def _keys(
    patterns: list[tuple[str, str, list[str]]],
) -> tuple[dict[str, list[int]], dict[str, list[int]], dict[str, list[int]], list[int], list[list[str]]]:
    """Choose for each pattern the group of words that is rarest over all patterns; list the words that each cannot do without.

    Templates, general wordings and phrases are filed apart: phrases are looked for in sentences only, general wordings in messages that
    nothing else fits, and most words of a traceback are in neither.
    """
    groups = [phrase_keys(parse_phrase(text)) if kind == "p" else key_words(parse_template(text)) for kind, text, _ in patterns]
    frequency = Counter(word for one in groups for group in one for word in group)
    keys: dict[str, list[int]] = {}
    general: dict[str, list[int]] = {}
    spoken: dict[str, list[int]] = {}
    filed = {"t": keys, "f": general, "p": spoken}
    always: list[int] = []
    needs: list[list[str]] = []
    for index, one in enumerate(groups):
        needs.append(sorted({group[0] for group in one if len(group) == 1}))
        if not one:
            always.append(index)
            continue
        best = min(one, key=lambda group: (sum(frequency[word] for word in group), -max(map(len, group))))
        for word in best:
            filed[patterns[index][0]].setdefault(word, []).append(index)
    return keys, general, spoken, always, needs


#: Rare words of a template by which a resembling message is found.
_RECALL_WORDS = 4


def _recall(patterns: list[tuple[str, str, list[str]]]) -> dict[str, list[int]]:
    """File every template under its rarest literal words: a message that was cut or retyped still has one of them."""
    words = {
        number: {word for group in key_words(parse_template(text)) for word in group}
        for number, (kind, text, _) in enumerate(patterns)
        if kind == "t"
    }
    frequency = Counter(word for one in words.values() for word in one)
    filed: dict[str, list[int]] = {}
    for number, one in words.items():
        for word in sorted(one, key=lambda word: (frequency[word], word))[:_RECALL_WORDS]:
            filed.setdefault(word, []).append(number)
    return filed


def _grams(patterns: list[tuple[str, str, list[str]]]) -> dict[str, list[int]]:
    """Choose for each literal piece of a template the window of GRAM characters that is rarest over all templates."""
    probes = {number: joined_probes(text) for number, (kind, text, _) in enumerate(patterns) if kind == "t"}
    frequency = Counter(window for pieces in probes.values() for piece in pieces for window in set(_windows(piece)))
    grams: dict[str, list[int]] = {}
    for number, pieces in probes.items():
        for piece in pieces:
            windows = _windows(piece)
            if windows:
                grams.setdefault(min(windows, key=lambda window: frequency[window]), []).append(number)
    return grams


def _windows(piece: str) -> list[str]:
    return [piece[index : index + GRAM] for index in range(len(piece) - GRAM + 1)]
