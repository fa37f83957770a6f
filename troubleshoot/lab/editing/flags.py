"""Launch flags in shell scripts and on command lines: ``--fp16`` becomes ``--bf16``, ``--dtype half`` another dtype."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from troubleshoot.engine.result import FixAdvice
from troubleshoot.lab.editing.lines import line_end, line_number, split_lines
from troubleshoot.lab.editing.plans import Plan, Refusal, RefusedError, Step
from troubleshoot.lab.editing.shell import RESERVED, Command, Word, commands
from troubleshoot.lab.editing.spellings import HALF, NAMES, respelled, wanted_dtype

_VALUED = (
    "--dtype", "--torch_dtype", "--torch-dtype", "--precision", "--mixed_precision", "--mixed-precision", "--amp_dtype", "--amp-dtype",
)  # fmt: skip
_SWITCHES = {"--fp16": "float16", "--bf16": "bfloat16", "--half": "float16"}
_MOST_BYTES = 1_000_000
_TRUE = ("True", "true", "1", "yes")
_ASSIGNED = re.compile(r"\w+\+?=")


def is_shell(path: str) -> bool:
    """Tell whether a file is a shell script: by its name, or its first line."""
    if path.lower().endswith((".sh", ".bash", ".zsh", ".slurm", ".sbatch")):
        return True
    try:
        with Path(path).open("rb") as file:
            first = file.readline(200)
    except OSError:
        return False
    return first.startswith(b"#!") and b"sh" in first and b"python" not in first


def plans_for_shell(path: str, fixes: Iterable[FixAdvice]) -> tuple[list[Plan], list[Refusal]]:
    """Return what fixes change in the commands of a shell script. Raises RefusedError where it cannot be read."""
    try:
        data = Path(path).read_bytes()
        text = data.decode("utf-8")
    except OSError as error:
        raise RefusedError(f"cannot read {path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise RefusedError(f"{path}:{line_number(data.decode('latin-1'), error.start)}: it is no UTF-8") from error
    if len(data) > _MOST_BYTES:
        raise RefusedError(f"{path} has {len(data) / 1e6:.1f} MB: scripts over {_MOST_BYTES / 1e6:.0f} MB are not edited")
    read = commands(text)
    plans: list[Plan] = []
    refused: list[Refusal] = []
    for fix in fixes:
        try:
            after, steps = _edited(text, read, wanted_dtype(fix), path)
        except RefusedError as error:
            refused.append(Refusal(fix, str(error)))
            continue
        plans.append(Plan(fix, {path: after.encode("utf-8")}, tuple(steps), before={path: data}))
    return plans, refused


def plan_for_arguments(arguments: Sequence[str], fix: FixAdvice) -> Plan:
    """Return the plan that changes a program's arguments. Raises RefusedError where none of them says a dtype."""
    changes = _changes(list(arguments), wanted_dtype(fix))
    if not changes:
        raise RefusedError("none of the arguments asks for a dtype")
    made = [changes.get(index, one) for index, one in enumerate(arguments)]
    steps = tuple(Step("change-flag", "", 0, _told(arguments[index], to)) for index, to in changes.items())
    return Plan(fix, {}, steps, tuple(one for one in made if one is not None))


def _told(old: str, new: str | None) -> str:
    return f"{old} becomes {new}" if new is not None else f"{old} is gone"


def _changes(words: list[str], wanted: str) -> dict[int, str | None]:
    """Return by position what words become; None for one that goes."""
    found: dict[int, str | None] = {}
    for index, word in enumerate(words):
        flag, equals, value = word.partition("=")
        following = words[index + 1] if index + 1 < len(words) else ""
        given = _SWITCHES.get(flag)
        if given is not None and given != wanted:
            said = value if equals else following if following in (*_TRUE, "False", "false", "0", "no") else ""
            if said and said not in _TRUE:
                continue
            other = {"float16": "--fp16", "bfloat16": "--bf16"}.get(wanted)
            there = other is not None and any(one.partition("=")[0] == other for one in words)
            if other is not None and flag == "--half":
                raise RefusedError(f"{flag} has no counterpart for {wanted}")
            if other is None or there:
                found[index] = None
                if said and not equals:
                    found[index + 1] = None
            else:
                found[index] = f"{other}={value}" if equals else other
        elif flag in _VALUED:
            old = value if equals else following
            if NAMES.get(old) in HALF and NAMES[old] != wanted:
                to = respelled(old, wanted, flag.lstrip("-"))
                if equals:
                    found[index] = f"{flag}={to}"
                else:
                    found[index + 1] = to
    return found


def _edited(text: str, read: Sequence[Command], wanted: str, path: str) -> tuple[str, list[Step]]:
    changed: list[tuple[Word, str | None]] = []
    for words in read:
        if not _prints(words):
            # A flag in quotes may be anything; the value behind a flag is one with quotes too.
            values = ["" if word.value is None or (word.value.startswith("-") and word.text[0] != "-") else word.value for word in words]
            changed += [(words[index], to) for index, to in _changes(values, wanted).items()]
    if not changed:
        why = f"no command in {Path(path).name} has a flag that asks for another dtype than {wanted}"
        raise RefusedError(why + _elsewhere(text, wanted))
    changed.sort(key=lambda one: one[0].start)
    steps = [Step("change-flag", path, line_number(text, word.start), _told(word.value or "", to)) for word, to in changed]
    for word, to in reversed(changed):
        text = text[: word.start] + _spelled(word, to) + text[word.end :] if to is not None else _without(text, word.start, word.end)
    return text, steps


def _prints(words: Command) -> bool:
    """Tell whether a command only prints its words."""
    for word in words:
        if word.text not in RESERVED and not _ASSIGNED.match(word.text):
            return word.text in ("echo", "printf", ":")
    return False


def _spelled(word: Word, to: str) -> str:
    """Return a word's new text, with the quotes that it had."""
    if word.text == word.value:
        return to
    flag, equals, old = (word.value or "").partition("=") if word.text[0] == "-" else ("", "", word.value or "")
    return word.text.replace(old, to.removeprefix(f"{flag}{equals}"))


def _elsewhere(text: str, wanted: str) -> str:
    """Say where such a flag stands outside of the commands' words: in quotes, comments and here-documents nothing is changed."""
    for number, line in enumerate(split_lines(text), 1):
        words = re.findall(r"[^\s'\"\\;|&()<>]+", line.partition("#")[0])
        try:
            if _changes(words, wanted):
                return f" (line {number} has one in a text, which is left alone)"
        except RefusedError:
            continue
    return ""


def _without(text: str, start: int, end: int) -> str:
    """Take a word out, and the line with it where it stood alone on a continued one."""
    before = text.rfind("\n", 0, start) + 1
    line = (split_lines(text[end:]) or [""])[0]
    after = end + len(line) - len(line_end(line))
    if text[before:start].strip() == "" and text[end:after].strip() in ("\\", ""):
        if text[end:after].strip() == "\\":
            return text[:before] + text[end + len(line) :]
        # The last line of a command: the one before it no longer continues.
        head = re.sub(r"[ \t]*\\\r?\n$", "", text[:before])
        return head + text[after:] if head != text[:before] else text[:before] + text[after:]
    blank = start - 1 if start and text[start - 1] in " \t" else start
    return text[:blank] + text[end:]
