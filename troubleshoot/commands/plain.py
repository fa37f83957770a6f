"""Commands whose parameters are texts, lists of texts and flags, and stay so.

Typer coerces every value with pydantic, and importing that takes 50 ms: half of the start-up, to turn texts into texts. The commands here
hand their parameters' values on as the parser found them.
"""

from __future__ import annotations

from types import MethodType
from typing import Any

import typer.core


class PlainCommand(typer.core.TyperCommand):
    """A command without coercion."""

    def get_short_help_str(self, limit: int = 45) -> str:
        """Return what the list of commands says of it, see :func:`_summary`."""
        return _summary(self.help)

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, each with its coercion taken out."""
        return [_plain(one) for one in super().get_params(ctx)]


class PlainGroup(typer.core.TyperGroup):
    """A group of commands without coercion of its own parameters."""

    def get_short_help_str(self, limit: int = 45) -> str:
        """Return what the list of commands says of the group, see :func:`_summary`."""
        return _summary(self.help)

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, each with its coercion taken out."""
        return [_plain(one) for one in super().get_params(ctx)]


def _summary(text: str | None) -> str:
    """Return the first sentence of a help text as a whole: the list of commands wraps it, where click cuts it to one line."""
    first = " ".join((text or "").partition("\n\n")[0].split()).partition(". ")[0]
    return first if not first or first.endswith(".") else f"{first}."


def _plain(parameter: Any) -> Any:
    if "process_value" not in vars(parameter):
        parameter.process_value = MethodType(_process_value, parameter)
    return parameter


def _process_value(self: Any, context: Any, value: Any) -> Any:
    """Stand in for ``Parameter.process_value``."""
    if self.required and not value:
        return type(self).process_value(self, context, value)
    if self.multiple or self.nargs == -1:
        value = list(value or ())
    elif not (value is None or isinstance(value, str | bool)):
        return type(self).process_value(self, context, value)
    return value if self.callback is None else self.callback(context, self, value)
