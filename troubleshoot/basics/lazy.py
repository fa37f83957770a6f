"""What is made when it is first used: names of a package (PEP 562), so that importing it costs nothing, and attributes of an object."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


class lazy_attribute(Generic[T]):  # noqa: N801  (used as a decorator, like the class that it stands for)
    """``functools.cached_property`` without the lock that it takes before Python 3.12, a microsecond for each attribute of each object.

    Two threads may both compute a value; what is kept here are functions of immutable objects, so that either value serves.
    """

    def __init__(self, make: Callable[[Any], T]) -> None:
        """Keep the function that makes the value."""
        self.make = make
        self.name = make.__name__
        self.__doc__ = make.__doc__

    @overload
    def __get__(self, instance: None, owner: type[Any]) -> lazy_attribute[T]: ...
    @overload
    def __get__(self, instance: object, owner: type[Any]) -> T: ...
    def __get__(self, instance: object | None, owner: type[Any]) -> lazy_attribute[T] | T:
        """Make the value and keep it where the next access finds it without coming here."""
        if instance is None:
            return self
        value = instance.__dict__[self.name] = self.make(instance)
        return value


def lazy_names(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a package. ``homes`` gives for each name the module below the package that defines it."""

    def load(name: str) -> Any:
        home = homes.get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        from importlib import import_module

        value = getattr(import_module(f"{package}.{home}"), name)
        # The next access finds it in the package and does not come here.
        setattr(sys.modules[package], name, value)
        return value

    return load
