"""Collecting the files of a knowledge base: the shipped one, then overlays that add, extend and withdraw. The last overlay wins.

A faulty file of an overlay is skipped with a warning: a mistake in a team's own entry must not take the tool away.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import yaml

from troubleshoot.basics.errors import KnowledgeError, KnowledgeProblem
from troubleshoot.knowledge.experiments import EXPERIMENTS_FILE, Experiments
from troubleshoot.knowledge.files import WORD_ODDS_FILE, yaml_files
from troubleshoot.knowledge.plugins import ENTRY_POINTS
from troubleshoot.knowledge.schema import Cause, CauseFile, Causes, Entry, Extension, OutOfScope, OutOfScopeFile
from troubleshoot.knowledge.signs import SIGNS_FILE, put_signs, read_signs, used_signs
from troubleshoot.knowledge.sound import check_sound
from troubleshoot.knowledge.source import convert, line_of, read_yaml
from troubleshoot.knowledge.word_odds import WordOdds, read_word_odds

#: A cause is ``causes/FAMILY/NAME.yaml``; an overlay may also give several in one file.
CAUSES_FOLDER = "causes"
CAUSES_FILE = "causes.yaml"
SCOPE_FILE = "out-of-scope.yaml"
_NO_PLUGIN = "names no folder of an installed package under [troubleshoot.kb]: install the package anew, or remove it"
#: Faults of one file that are told.
_MOST_PROBLEMS = 50


@dataclass
class Collected:
    """Everything that was read, before it is compiled. ``places`` gives the file of each entry.

    ``cause_places`` gives the file of each cause and what precedes its fields there.
    """

    entries: dict[str, Entry] = field(default_factory=dict)
    places: dict[str, Path] = field(default_factory=dict)
    causes: Causes = field(default_factory=lambda: Causes(schema=1, causes={}))
    cause_places: dict[str, tuple[Path, str]] = field(default_factory=dict)
    out_of_scope: dict[str, OutOfScope] = field(default_factory=dict)
    signs: dict[str, dict[str, Any]] = field(default_factory=dict)
    used_signs: set[str] = field(default_factory=set)
    word_odds: WordOdds = field(default_factory=WordOdds)
    experiments: Experiments = field(default_factory=Experiments)
    problems: list[KnowledgeProblem] = field(default_factory=list)
    roots: tuple[Path, ...] = ()

    def warnings(self) -> list[str]:
        """Return the problems with their files as users know them: the overlay's name, then the path within it."""
        return [str(KnowledgeProblem(self._shown(Path(one.file)), one.line, one.path, one.text)) for one in self.problems]

    def _shown(self, file: Path) -> str:
        for root in self.roots:
            if file != root and file.is_relative_to(root):
                return f"{root.name or Path(os.path.abspath(root)).name}/{file.relative_to(root).as_posix()}"  # noqa: PTH100
        return str(file)


def collect(roots: Sequence[Path]) -> Collected:
    """Read every file below the roots, in order; faults are collected, never raised."""
    collected = Collected(roots=tuple(roots))
    for root in roots:
        if not os.path.isdir(root):  # noqa: PTH112  (Path.is_dir raises where a folder above may not be entered)
            wrong = _NO_PLUGIN if root.name == ENTRY_POINTS else "is not a folder: give the folder that holds the entries"
            collected.problems.append(KnowledgeProblem(root, 1, "", wrong))
            continue
        for name, read in ((SIGNS_FILE, _read_signs), (WORD_ODDS_FILE, _read_word_odds)):
            if os.path.lexists(root / name):
                with _told(collected, root / name):
                    read(root / name, collected)
        extensions: list[tuple[Extension, Path]] = []
        for path in yaml_files(root):
            with _told(collected, path):
                _read(path, root, collected, extensions)
        for extension, path in extensions:
            with _told(collected, path):
                _extend(extension, path, collected)
    return collected


@contextmanager
def _told(collected: Collected, path: Path) -> Iterator[None]:
    """Note what is wrong with a file. Whatever that is, the other files count."""
    try:
        yield
    except KnowledgeError as error:
        collected.problems.extend(error.problems[:_MOST_PROBLEMS])
        if len(error.problems) > _MOST_PROBLEMS:
            collected.problems.append(KnowledgeProblem(path, 1, "", f"has {len(error.problems) - _MOST_PROBLEMS:,} more faults"))
    except Exception as error:
        # No mistake that is known of; a file must not take the tool away all the same.
        collected.problems.append(KnowledgeProblem(path, 1, "", f"cannot be used ({type(error).__name__}: {error}): check its values"))


def _read_signs(path: Path, collected: Collected) -> None:
    collected.signs.update(read_signs(path))


def _read_word_odds(path: Path, collected: Collected) -> None:
    collected.word_odds = read_word_odds(path)


def _read(path: Path, root: Path, collected: Collected, extensions: list[tuple[Extension, Path]]) -> None:
    relative = path.relative_to(root).as_posix()
    if relative == SIGNS_FILE:
        return
    data, node = read_yaml(path)
    collected.used_signs |= used_signs(data)
    data = put_signs(data, collected.signs, path, node)
    if relative == CAUSES_FILE:
        causes = convert(data, node, Causes, path)
        check_sound(causes, path, node)
        collected.causes.causes.update(causes.causes)
        collected.cause_places.update((code, (path, f"causes.{code}.")) for code in causes.causes)
        return
    if relative.startswith(f"{CAUSES_FOLDER}/") and relative.count("/") == 2:
        cause = convert(data, node, CauseFile, path)
        _check_id(cause.id, relative.partition("/")[2], path, node)
        check_sound(cause, path, node)
        collected.causes.causes[cause.id] = Cause(cause.title, cause.explanation, cause.fixes)
        collected.cause_places[cause.id] = (path, "")
        return
    if relative == EXPERIMENTS_FILE:
        collected.experiments = collected.experiments.merged(convert(data, node, Experiments, path))
        return
    if relative == SCOPE_FILE:
        groups = convert(data, node, OutOfScopeFile, path).groups
        check_sound(groups, path, node)
        for group in groups:
            collected.out_of_scope[group.id] = group
        return
    if isinstance(data, dict) and "extends" in data:
        extensions.append((convert(data, node, Extension, path), path))
        return
    entry = convert(data, node, Entry, path)
    _check_id(entry.id, relative, path, node)
    check_sound(entry, path, node)
    collected.entries[entry.id] = entry
    collected.places[entry.id] = path


def _check_id(given: str, relative: str, path: Path, node: yaml.Node) -> None:
    expected = relative.rsplit(".", 1)[0]
    if given != expected:
        raise KnowledgeError((KnowledgeProblem(path, line_of(node, "id"), "id", f"is {given!r}, but the path says {expected!r}"),))


def _extend(extension: Extension, path: Path, collected: Collected) -> None:
    entry = collected.entries.get(extension.extends)
    if entry is None:
        collected.problems.append(KnowledgeProblem(path, 1, "extends", f"names {extension.extends!r}, which does not exist"))
        return
    if extension.withdraw:
        collected.entries[entry.id] = msgspec.structs.replace(entry, status="withdrawn")
        return
    replaced = {fix.id for fix in extension.fixes}
    unknown = set(extension.withdraw_fixes) - {fix.id for fix in entry.fixes}
    for name in sorted(unknown):
        collected.problems.append(KnowledgeProblem(path, 1, "withdraw-fixes", f"{entry.id} has no fix {name!r}"))
    kept = tuple(fix for fix in entry.fixes if fix.id not in extension.withdraw_fixes and fix.id not in replaced)
    extended = msgspec.structs.replace(
        entry,
        fixes=extension.fixes + kept,
        models=entry.models + extension.models,
        affected=_affected(entry, extension),
        references=entry.references + extension.references,
    )
    check_sound(extended, path, None)
    collected.entries[entry.id] = extended


def _affected(entry: Entry, extension: Extension) -> tuple[object, ...]:
    """An overlay's ranges replace those of the same package: a patched fork has its own borders."""
    packages = {one.package for one in extension.affected}
    return tuple(one for one in entry.affected if one.package not in packages) + extension.affected
