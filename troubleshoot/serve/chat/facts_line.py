"""The last line of an answer: the facts assumed, as one line that people can read and :func:`read_line` reads back.

Chat frameworks cut the beginning of long conversations off; what was found out then lives in this line alone. It is read from the
assistant's messages only, and every name and value must be one that this program could have written.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from troubleshoot.basics.redact import redact_text
from troubleshoot.knowledge import KnowledgeBase

#: The line's beginning, by language; which one stands there tells the language of the conversation.
LABELS = {"en": "facts:", "zh": "事实："}
NOTHING = {"en": "none", "zh": "无"}

#: Facts that are written under a short name; packages are written under theirs.
_SHORT = {
    "gpu": "gpu", "dtype.requested": "dtype", "attention": "attention", "quantization": "quantization", "autocast": "autocast",
    "device.kind": "device", "device-map": "device-map", "phase": "phase", "model": "model", "os": "os", "python": "python",
}  # fmt: skip
_LONG = {short: name for name, short in _SHORT.items()}
#: What is no fact of the environment: the issue in view, its cause, the question asked, fixes tried, the fix shown, questions that the user
#: cannot answer, issues that the user says it is not, and who is spoken to.
_NOTES = ("issue", "cause", "asked", "tried", "shown", "unknown", "not", "for")
_LINE = re.compile(r"^[`*_>\s]*(facts:|事实[:：])\s*(.{0,2000}?)[`*_\s]*$", re.IGNORECASE)
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,60}")
_VALUE = re.compile(r"[A-Za-z0-9][A-Za-z0-9 _./:+-]{0,99}")
_VERSION = re.compile(r"[0-9][A-Za-z0-9.+!-]{0,40}|absent|present")
_ID = re.compile(r"[a-z0-9_.-]{1,60}/[a-z0-9_.-]{1,100}")
_SPEAKER = re.compile(r"[A-Za-z0-9_-]{1,64}")
_MOST = 24
_LONGEST = 900


@dataclass(frozen=True)
class Note:
    """What a facts line says."""

    language: str
    answers: Mapping[str, str] = field(default_factory=dict)
    issue: str | None = None
    cause: str | None = None
    asked: str | None = None
    tried: tuple[str, ...] = ()
    shown: str | None = None
    unknown: tuple[str, ...] = ()
    rejected: tuple[str, ...] = ()
    speaker: str | None = None


def write_line(note: Note, limit: int = 0) -> str:
    """Return the line for a note, as inline code so that no chat program reformats it. What cannot be written safely is left out.

    So is what holds a secret or names a person: masked, it could not be read back. Where an answer may have ``limit`` characters
    (0: any number), the line takes half of them at most.
    """
    speaker, answers, notes = [], [], []
    if note.speaker and _SPEAKER.fullmatch(note.speaker) and _is_public(f"for={note.speaker}"):
        speaker.append(f"for={note.speaker}")
    for name, value in note.answers.items():
        short = _SHORT.get(name) or _package_key(name) or ""
        pattern = _VERSION if name.startswith("package.") else _VALUE
        # A release of four parts is no address.
        if short and pattern.fullmatch(value) and _is_public(f"{short}={value}", personal=not name.startswith("package.")):
            answers.append(f"{short}={value}")
    for key, noted in (
        ("issue", note.issue), ("cause", note.cause), ("asked", note.asked), ("tried", ",".join(note.tried)), ("shown", note.shown),
        ("unknown", ",".join(note.unknown)), ("not", ",".join(note.rejected)),
    ):  # fmt: skip
        if noted:
            notes.append(f"{key}={noted}")
    label = LABELS[note.language]
    blank = "" if note.language == "zh" else " "
    room = (min(_LONGEST, limit // 2) if limit else _LONGEST) - len(label) - 3
    kept: set[str] = set()
    # What the conversation is about matters more than the versions known.
    for part in [*speaker, *notes, *answers][:_MOST]:
        if len(part) + 2 <= room:
            kept.add(part)
            room -= len(part) + 2
    parts = [part for part in (*speaker, *answers, *notes) if part in kept]
    return f"`{label}{blank}{'; '.join(parts) or NOTHING[note.language]}`"


def _is_public(part: str, *, personal: bool = True) -> bool:
    value = part.partition("=")[2]
    # A name such as Users/alice is what a pattern kept of a path.
    told = f"{part} {value} /{value}"
    return redact_text(told, personal=personal) == told


def read_line(answer: str, base: KnowledgeBase) -> Note | None:
    """Return what the last line of an assistant's message says; None where it is no facts line. Anything unknown in it is skipped."""
    last = next((line for line in reversed(answer.rstrip().splitlines()) if line.strip()), "")
    match = _LINE.match(last) if len(last) <= 2100 else None
    if match is None:
        return None
    said: dict[str, str] = {}
    for part in match[2].split(";")[:_MOST]:
        key, equals, value = part.strip().partition("=")
        if equals:
            said.setdefault(key.strip(), value.strip())
    answers = {name: value for key, value in said.items() if key not in _NOTES and (name := _fact(key, value))}
    issue = _known_issue(said.get("issue", ""), base)
    fixes = _fix_ids(issue, base)
    cause = said.get("cause", "")
    return Note(
        language="en" if match[1].lower() == "facts:" else "zh",
        answers=answers,
        issue=issue,
        cause=cause if cause in base.causes.causes else None,
        asked=_asked(said.get("asked", "")),
        tried=tuple(one for one in said.get("tried", "").split(",") if one in fixes),
        shown=said["shown"] if said.get("shown") in fixes else None,
        unknown=tuple(one for part in said.get("unknown", "").split(",")[:_MOST] if (one := _asked(part.strip()))),
        rejected=tuple(one for part in said.get("not", "").split(",")[:_MOST] if (one := _known_issue(part.strip(), base))),
        speaker=said["for"] if _SPEAKER.fullmatch(said.get("for", "")) else None,
    )


def _package_key(name: str) -> str | None:
    if not name.startswith("package."):
        return None
    package = name.removeprefix("package.")
    return package if _NAME.fullmatch(package) and package not in _LONG and package not in _NOTES else None


def _fact(key: str, value: str) -> str | None:
    """Return the name of the fact that a part of the line states, if it states one."""
    if key in _LONG:
        return _LONG[key] if _VALUE.fullmatch(value) else None
    return f"package.{key}" if _NAME.fullmatch(key) and _VERSION.fullmatch(value) else None


def _asked(name: str) -> str | None:
    known = name in _SHORT or (name.startswith("package.") and _NAME.fullmatch(name.removeprefix("package.")) is not None)
    return name if known or re.fullmatch(r"[a-z][a-z.-]{1,40}", name) else None


def _known_issue(name: str, base: KnowledgeBase) -> str | None:
    return name if _ID.fullmatch(name) and name in base.index.ids else None


def _fix_ids(issue: str | None, base: KnowledgeBase) -> frozenset[str]:
    """Return the ids of the fixes that may be shown for an issue: its own, and the general advice for every cause."""
    if issue is None:
        return frozenset()
    general = (fix.id for cause in base.causes.causes.values() for fix in cause.fixes)
    return frozenset(fix.id for fix in base.entry(issue).fixes) | frozenset(general)
