"""Makes the module ``basics/word_tables.py`` of ``kb/words/*.yaml``: ``python -m troubleshoot.curation.make_word_tables``.

Reading a report needs the words before any knowledge base, and in an interpreter that has nothing but Python (``env --python``). A module
of literals is compiled to bytecode once and read in 0.3 ms; a file of JSON takes more than twice as long, and YAML hundreds of times.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from troubleshoot.basics import word_tables
from troubleshoot.basics.errors import KnowledgeError, KnowledgeProblem
from troubleshoot.basics.saving import save
from troubleshoot.knowledge.base import checkout_root
from troubleshoot.knowledge.files import WORDS_FOLDER
from troubleshoot.knowledge.source import read_yaml

COMMAND = "python -m troubleshoot.curation.make_word_tables"
FILE = Path(word_tables.__file__)

_HEAD = f'''"""The words of ``kb/words``: change them there, and make this module anew with ``{COMMAND}``."""

# ruff: noqa
from __future__ import annotations
'''

#: How the name of an accelerator may go on: ``{suffix}`` in gpus.yaml.
_SUFFIX = r"(?:[ -](?:SXM\d?|PCI[eE]|NVL|\d{2,3} ?GB?|HGX)){0,3}"
_CLASS = re.compile(r"<([a-z0-9]+)>")


def module_of(root: Path) -> bytes:
    """Return the source of the module for the base at ``root``.

    Raises:
        KnowledgeError: a file is missing, is no YAML or has another shape.
    """
    source = [_HEAD]
    for name, read in _FILES.items():
        path = root / WORDS_FOLDER / name
        data, _ = read_yaml(path)
        try:
            source.append(f"\n# {name}\n")
            source += [f"{table}: {type_} = {value}\n" for table, type_, value in read(data)]
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise KnowledgeError((KnowledgeProblem(path, 1, "", f"has another shape than its comments say ({error!r})"),)) from error
    return "".join(source).encode()


#: Name, type and value of a table.
_Table = tuple[str, str, str]


def _words(words: str) -> str:
    return f"frozenset(({_split(words)}))"


def _split(words: str) -> str:
    return "".join(f"{word!r}, " for word in words.split()).rstrip(" ")


def _mapping(values: Mapping[str, Any]) -> str:
    return "{\n" + "".join(f"    {str(name)!r}: {value},\n" for name, value in values.items()) + "}"


def _texts(values: Mapping[str, str]) -> str:
    return _mapping({name: repr(str(value)) for name, value in values.items()})


def _classes(data: Mapping[str, str]) -> Iterator[_Table]:
    def alternatives(name: str, within: tuple[str, ...] = ()) -> str:
        if name in within:
            raise ValueError(f"the class {name!r} holds itself")
        return "|".join(_CLASS.sub(lambda match: alternatives(match[1], (*within, name)), word) for word in data[name].split())

    yield "CLASSES", "dict[str, str]", _texts({name: alternatives(name) for name in data})


def _packages(data: Mapping[str, Any]) -> Iterator[_Table]:
    names = data["names"].split()
    yield "PACKAGES", "dict[str, str]", _texts(dict(zip(names, names, strict=True)) | data["spellings"])
    yield "CONDA", "dict[str, str]", _texts(data["conda"])
    yield "WITNESSES", "dict[str, tuple[str, ...]]", _mapping({name: tuple(needed) for name, needed in data["witnesses"].items()})
    yield "TORCH_2", "tuple[str, ...]", repr(tuple(data["torch-2"]))


def _modules(data: Mapping[str, Any]) -> Iterator[_Table]:
    yield "MODULES", "dict[str, str]", _texts(data["modules"])
    unread = set(data["not-read"].split())
    yield "DISTRIBUTIONS", "frozenset[str]", _words(" ".join(one for one in data["distributions"].split() if one not in unread))
    yield "ELSEWHERE", "frozenset[str]", _words(data["elsewhere"])


def _triggers(data: Mapping[str, str]) -> Iterator[_Table]:
    yield "TRIGGERS", "dict[str, frozenset[str]]", _mapping({name: _words(words) for name, words in data.items()})


def _models(data: Mapping[str, Any]) -> Iterator[_Table]:
    yield "STRICT", "dict[str, str]", _texts(data["strict"])
    for name in ("families", "never", "not-orgs", "generic"):
        yield name.replace("-", "_").upper(), "frozenset[str]", _words(data[name])
    yield "FILE_ENDS", "tuple[str, ...]", f"({_split(data['file-ends'])})"


def _gpus(data: Mapping[str, Any]) -> Iterator[_Table]:
    rows = [f"    ({_words(one['words'])}, {one['pattern'].replace('{suffix}', _SUFFIX)!r}),\n" for one in data["gpus"]]
    yield "GPUS", "tuple[tuple[frozenset[str], str], ...]", "(\n" + "".join(rows) + ")"


def _options(data: Mapping[str, Any]) -> Iterator[_Table]:
    facts = {
        fact: "(\n" + "".join(f"        {(tuple(one['literals']), one['pattern'], one['value'])!r},\n" for one in rows) + "    )"
        for fact, rows in data.items()
    }
    yield "OPTIONS", "dict[str, tuple[tuple[tuple[str, ...], str, str], ...]]", _mapping(facts)


_FILES: dict[str, Callable[[Any], Iterator[_Table]]] = {
    "classes.yaml": _classes, "packages.yaml": _packages, "triggers.yaml": _triggers, "models.yaml": _models, "gpus.yaml": _gpus,
    "options.yaml": _options, "modules.yaml": _modules,
}  # fmt: skip


if __name__ == "__main__":
    save(FILE, module_of(checkout_root("Change the words in a checkout.")))
