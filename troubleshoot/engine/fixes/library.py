"""General advice about the library in which it failed: its name is put into the fix.

Where no library is to blame, a fix whose title needs the name is left out; one whose title does without it is shown without a command.

The library is the distribution, or the plug-in of ComfyUI or a web UI, that holds the deepest frame above torch. Where the user's own code
called torch, a newer release of a library changes nothing.

A path is free text, and so is a listing that was pasted: whoever wrote them could bring a stranger's package into a command. So a command
names a distribution only where the table of modules (``kb/words/modules.yaml``) or this machine knows that it brings the module that
failed: ``whisper`` is openai-whisper. The advice stays, with LIBRARY in words.
"""

from __future__ import annotations

import msgspec

from troubleshoot.basics import word_tables
from troubleshoot.engine.evidence import FailureFacts
from troubleshoot.engine.fixes.actions import PLACEHOLDER
from troubleshoot.engine.matching.conditions import Context
from troubleshoot.knowledge.schema import Fix
from troubleshoot.reading.environment.package_names import normalise_name

#: Names in reports are free text: this many fixes with a name in them are kept.
_MOST_NAMED = 500


def installable(module: str, context: Context) -> str | None:
    """Return the distribution that a command may name for a module: the one that this machine has it from, where the command is for this
    machine; else the one that the table knows; None where nobody knows.
    """
    known = word_tables.MODULES.get(module)
    environment = context.facts.environment
    if environment.source == "local":
        package = environment.package(normalise_name(known)) if known else None
        if package is None or package.absent:
            return _installed(module) or known
    return known


def _installed(module: str) -> str | None:
    from importlib.metadata import packages_distributions

    return next(iter(packages_distributions().get(module, ())), None)


def without_name(text: str, language: str = "en") -> str:
    """Return a text of a fix as it reads where no report tells which library it is."""
    return text.replace(PLACEHOLDER, "该库" if language == "zh" else "the library")


def code_without_name(text: str) -> str:
    """Return a command or a line of code likewise: with LIBRARY in place of the name."""
    return text.replace(PLACEHOLDER, "LIBRARY")


def nameless(fix: Fix) -> Fix:
    """Return a fix that has the place of a name as advice without a command; other fixes as they are."""
    if PLACEHOLDER not in fix.title and PLACEHOLDER not in fix.action.values():
        return fix
    title = without_name(fix.title)
    return msgspec.structs.replace(fix, title=title, action={"advice": title})


def name_library(fix: Fix, context: Context) -> Fix | None:
    """Return the fix with the library's name in its placeholders; None where its title has one and no library is to blame."""
    titled = PLACEHOLDER in fix.title
    if not titled and PLACEHOLDER not in fix.action.values():
        return fix
    failure = context.failure
    owner = (failure.called_by or failure.plugin) if failure is not None else None
    if owner is None and titled:
        return None
    if failure is not None and failure.called_by is not None:
        owner = installable(failure.called_by, context)
        if owner is None:
            return nameless(fix)
    # A server sees many reports about few libraries.
    named: dict[tuple[int, str | None], tuple[Fix, Fix]] = context.programs.named
    known = named.get((id(fix), owner))
    if known is None or known[0] is not fix:
        if len(named) >= _MOST_NAMED:
            named.clear()
        known = named[(id(fix), owner)] = (fix, _of_owner(fix, failure, owner))
    return known[1]


def _of_owner(fix: Fix, failure: FailureFacts | None, owner: str | None) -> Fix:
    if owner is not None and failure is not None and failure.called_by is not None:
        return _named(fix, owner)
    if failure is not None and failure.plugin is not None:
        return _of_plugin(fix, failure.plugin)
    return nameless(fix)


def _of_plugin(fix: Fix, folder: str) -> Fix:
    """A plug-in is a checkout in the program's own folder: no installer knows it."""
    named = _named(fix, folder.rpartition("/")[2])
    return msgspec.structs.replace(named, action={"setting": f"git -C {folder} pull"}) if "upgrade" in fix.action else named


def _named(fix: Fix, name: str) -> Fix:
    action = {key: value.replace(PLACEHOLDER, name) if isinstance(value, str) else value for key, value in fix.action.items()}
    zh = msgspec.structs.replace(fix.zh, title=fix.zh.title.replace(PLACEHOLDER, name)) if fix.zh else None
    return msgspec.structs.replace(fix, title=fix.title.replace(PLACEHOLDER, name), action=action, zh=zh)
