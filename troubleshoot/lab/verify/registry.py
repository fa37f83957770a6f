"""The cases by name. Listing them imports their modules, which are light: a case imports torch only when it is built."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from troubleshoot.basics.errors import InputError
from troubleshoot.lab.verify.outcomes import Case, Program, Setting

_cases: dict[str, Case] = {}


def case(**declared: Any) -> Callable[[Callable[[Setting], Program]], Callable[[Setting], Program]]:
    """Declare a builder as a case: its fields are those of :class:`Case`; the name is the function's, the title its docstring.

    Raises:
        ValueError: two cases have one name.
    """

    def declare(build: Callable[[Setting], Program]) -> Callable[[Setting], Program]:
        name = declared.pop("name", build.__name__)
        if name in _cases:
            raise ValueError(f"two cases are called {name!r}")
        title = (build.__doc__ or name).strip().splitlines()[0].rstrip(".")
        _cases[name] = Case(name=name, title=title, build=build, **declared)
        return build

    return declare


@cache
def cases() -> Mapping[str, Case]:
    """Return every case by its name."""
    package = import_module("troubleshoot.lab.verify.cases")
    for module in iter_modules(package.__path__):
        import_module(f"{package.__name__}.{module.name}")
    return dict(sorted(_cases.items()))


def find_case(name: str) -> Case:
    """Return a case by its name.

    Raises:
        InputError: there is none; the message names those that are spelled alike.
    """
    found = cases().get(name)
    if found is None:
        import difflib

        close = difflib.get_close_matches(name, cases(), n=3)
        raise InputError(f"no case is called {name!r}." + (f" Did you mean: {', '.join(close)}?" if close else ""))
    return found


def cases_of(issue: str, named: str | None = None) -> tuple[Case, ...]:
    """Return the cases of an issue: the one that its entry names first, then the others that declare it."""
    own = [find_case(named)] if named is not None else []
    return (*own, *(one for one in cases().values() if issue in one.issues and one.name != named))
