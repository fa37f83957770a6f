"""Launch flags in shell scripts and on command lines: ``--fp16`` becomes ``--bf16``, ``--dtype half`` another dtype."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from pathlib import Path

from troubleshoot.engine.result import FixAdvice
from troubleshoot.lab.editing.lines import line_end, line_number, rest_of_line, split_lines
from troubleshoot.lab.editing.plans import MOST_BYTES, MOST_CHANGES, Plan, Refusal, RefusedError, Step
from troubleshoot.lab.editing.shell import RESERVED, Command, Word, commands
from troubleshoot.lab.editing.spellings import HALF, NAMES, respelled, wanted_dtype

_VALUED = (
    "--dtype", "--torch_dtype", "--torch-dtype", "--precision", "--mixed_precision", "--mixed-precision", "--amp_dtype", "--amp-dtype",
)  # fmt: skip
_SWITCHES = {"--fp16": "float16", "--bf16": "bfloat16", "--half": "float16"}
_TRUE = ("True", "true", "1", "yes")
_ASSIGNED = re.compile(r"\w+\+?=")
#: Commands that run Python, or a program in Python that takes such flags.
_LAUNCHERS = re.compile(
    r"(?:i?python|pypy)[\d.]*w?(?:\.exe)?|torchrun|accelerate|deepspeed|horovodrun|vllm|sglang|lightning|llamafactory-cli|axolotl|trl|tune|"
    r"lm_eval|lm-eval|optimum-cli|fairseq-\w+|webui(?:-user|-macos-env)?\.sh|[\w.-]+\.py"
)
#: Commands that run the command among their words.
_BEFORE = frozenset((
    "srun", "mpirun", "mpiexec", "orterun", "env", "exec", "eval", "command", "nohup", "time", "timeout", "nice", "ionice", "sudo",
    "stdbuf", "setsid", "numactl", "taskset", "xvfb-run", "nsys", "ncu", "uv", "poetry", "pipenv", "pdm", "conda", "mamba", "micromamba",
    "docker", "podman", "singularity", "apptainer", "bash", "sh", "xargs", "source", ".",
))  # fmt: skip
#: And what may follow those: a word of their own, before the command.
_OWN = ("run", "exec", "profile")
_VARIABLE = re.compile(r"\$\{?(\w+)")
#: Seconds for bash to read a script.
_READING = 20


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
    if len(data) > MOST_BYTES:
        raise RefusedError(f"{path} has {len(data) // 1000} KB: scripts over {MOST_BYTES // 1000} KB are not edited")
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
    flags = {word.partition("=")[0] for word in words}
    for index, word in enumerate(words):
        flag, equals, value = word.partition("=")
        following = words[index + 1] if index + 1 < len(words) else ""
        given = _SWITCHES.get(flag)
        if given is not None and given != wanted:
            said = value if equals else following if following in (*_TRUE, "False", "false", "0", "no") else ""
            if said and said not in _TRUE:
                continue
            other = {"float16": "--fp16", "bfloat16": "--bf16"}.get(wanted)
            there = other in flags
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
    for words in _launching(read):
        # A flag in quotes may be anything; the value behind a flag is one with quotes too.
        values = ["" if word.value is None or (word.value.startswith("-") and word.text[0] != "-") else word.value for word in words]
        changed += [(words[index], to) for index, to in _changes(values, wanted).items()]
    if not changed:
        why = f"no command in {Path(path).name} that launches Python has a flag that asks for another dtype than {wanted}"
        raise RefusedError(why + _elsewhere(text, wanted))
    if len(changed) > MOST_CHANGES:
        raise RefusedError(f"{path} has {len(changed)} such flags: change the program that writes it")
    changed.sort(key=lambda one: one[0].start)
    steps = [Step("change-flag", path, line_number(text, word.start), _told(word.value or "", to)) for word, to in changed]
    after = text
    for word, to in reversed(changed):
        after = after[: word.start] + _spelled(word, to) + after[word.end :] if to is not None else _without(after, word.start, word.end)
    _check_structure(text, read, changed, after)
    return after, steps


def _launching(read: Sequence[Command]) -> list[list[Word]]:
    """Return the words behind each launcher, and those of the arrays that such commands expand.

    All other words may mean anything: patterns of case, the words of a for loop, of a test, or of another program.
    """
    assigned = {}
    for command in read:
        for word in command:
            name, equals, value = word.text.partition("=")
            if equals and name.isidentifier():
                assigned[name] = value.strip("\"'").partition(" ")[0]
    launching = [command[start:] for command in read if (start := _program(command, assigned)) is not None]
    last = {tuple(one[-1:]) for one in launching}
    arrays: dict[str, list[Command]] = {}
    for command in read:
        if command.array and tuple(command[-1:]) not in last:
            arrays.setdefault(command.array, []).append(command)
    for words in launching:
        # The list grows: an array may expand another.
        for name in dict.fromkeys(name for word in words for name in _VARIABLE.findall(word.text) if word.text[0] != "'"):
            launching += arrays.pop(name, ())
    return launching


def _program(command: Command, assigned: dict[str, str]) -> int | None:
    """Return the place behind the word that launches Python, None where none does."""
    words = [word.text.strip("\"'") for word in command]
    if "]]" in words:
        return None
    at = 0
    while at < len(words) and (words[at] in RESERVED - {"for", "time"} or _ASSIGNED.match(words[at])):
        at += 1
    behind = False
    last_script = max((index for index, word in enumerate(words) if word.endswith(".py")), default=-1)
    while at < len(words):
        word = words[at]
        variable = _VARIABLE.match(word)
        if variable is not None and word.rstrip("}") == variable[0]:
            word = assigned.get(variable[1], "")
            if not word and not behind and last_script > at:
                return at + 1
        name = word.rpartition("/")[2]
        if not word.startswith("-") and not _ASSIGNED.match(word) and _LAUNCHERS.fullmatch(name):
            return at + 1
        if not behind and name not in _BEFORE:
            return None
        if name in _BEFORE and at + 1 < len(words):
            # Behind it: its options and their values, variables, or the command. `sudo rm` runs rm, whatever follows.
            following = words[at + 1]
            plain = re.fullmatch(r"[A-Za-z./][\w./-]*", following) is not None and following not in _OWN
            if plain and following not in _BEFORE and not _LAUNCHERS.fullmatch(following.rpartition("/")[2]):
                return None
        behind = True
        at += 1
    return None


def _check_structure(text: str, read: Sequence[Command], changed: Sequence[tuple[Word, str | None]], after: str) -> None:
    """Raise RefusedError where a script has other commands than before, or other words but for those that were changed."""
    made = {word: to if to is None else _spelled(word, to) for word, to in changed}
    starts = sorted(word.start for word in made)

    def holds_changed(word: Word) -> bool:
        """Words lie in one another whole, so that the start tells."""
        first = bisect_left(starts, word.start)
        return first < len(starts) and starts[first] < word.end

    expected: list[list[str | None]] = []
    for command in read:
        # What holds a changed word (an array, a substitution) differs with it.
        expected.append([
            made[word] if word in made else None if holds_changed(word) else word.text
            for word in command
            if word not in made or made[word] is not None
        ])  # fmt: skip
    try:
        found = [[word.text for word in command] for command in commands(after)]
    except RefusedError as error:
        raise RefusedError(f"the edit would break the script: {error}") from error
    wanted = [one for one in expected if one]
    same = len(wanted) == len(found) and all(
        len(one) == len(other) and all(word is None or word == there for word, there in zip(one, other, strict=True))
        for one, other in zip(wanted, found, strict=True)
    )
    if not same:
        raise RefusedError("the edit would break the script: its commands would no longer be the same")
    wrong = _said_by_bash(after)
    if wrong and not _said_by_bash(text):
        raise RefusedError(f"the edit would break the script: {wrong}")


def _said_by_bash(text: str) -> str:
    """Return what bash says against a script, which it only reads; nothing where there is no bash."""
    bash = shutil.which("bash")
    if bash is None:
        return ""
    # A start-up file would be run.
    environment = {name: value for name, value in os.environ.items() if name not in ("BASH_ENV", "ENV")}
    try:
        done = subprocess.run([bash, "-n"], input=text.encode("utf-8"), capture_output=True, env=environment, timeout=_READING, check=False)
    except (OSError, subprocess.SubprocessError):
        return ""
    return (done.stderr.decode("utf-8", "replace").strip() or "bash cannot read it") if done.returncode else ""


def _spelled(word: Word, to: str) -> str:
    """Return a word's new text, with the quotes that it had."""
    if word.text == word.value:
        return to
    flag, equals, old = (word.value or "").partition("=") if word.text[0] == "-" else ("", "", word.value or "")
    return word.text.replace(old, to.removeprefix(f"{flag}{equals}"))


def _elsewhere(text: str, wanted: str) -> str:
    """Say where such a flag stands outside of the words of such commands, where nothing is changed."""
    for number, line in enumerate(split_lines(text), 1):
        words = re.findall(r"[^\s'\"\\;|&()<>]+", line.partition("#")[0])
        try:
            if _changes(words, wanted):
                return f" (line {number} has one in a text, a pattern, a list or another command, which is left alone)"
        except RefusedError:
            continue
    return ""


def _without(text: str, start: int, end: int) -> str:
    """Take a word out, and the line with it where it stood alone on a continued one."""
    before = text.rfind("\n", 0, start) + 1
    line = rest_of_line(text, end)
    after = end + len(line) - len(line_end(line))
    if text[before:start].strip() == "" and text[end:after].strip() in ("\\", ""):
        if text[end:after].strip() == "\\":
            return text[:before] + text[end + len(line) :]
        # The last line of a command: the one before it no longer continues.
        head = re.sub(r"[ \t]*\\\r?\n$", "", text[:before])
        return head + text[after:] if head != text[:before] else text[:before] + text[after:]
    blank = start - 1 if start and text[start - 1] in " \t" else start
    return text[:blank] + text[end:]
