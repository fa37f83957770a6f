"""What the operations work on: the failure, the files of the program that may be edited, and the changes gathered so far."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import libcst as cst

from troubleshoot.lab.editing.binding import Spot
from troubleshoot.lab.editing.failure import Failure
from troubleshoot.lab.editing.files import protected
from troubleshoot.lab.editing.plans import RefusedError, Step
from troubleshoot.lab.editing.source import Changes, Source
from troubleshoot.reading.places import locate
from troubleshoot.reading.report import Frame


class Scene:
    """A script and its failure.

    ``spots`` are the frames in files that may be edited, outermost first; ``barred`` says why others may not.
    """

    def __init__(self, script: str, failure: Failure | None, data: Mapping[str, bytes] | None = None) -> None:
        self.script = os.path.realpath(script)
        self.failure = failure
        self._data = dict(data or {})
        self._sources: dict[str, Source] = {}
        self.main = self.source(self.script)
        self.spots: list[Spot] = []
        self.barred: list[str] = []
        if failure is not None:
            self._find_spots(failure)

    def source(self, path: str) -> Source:
        """Return a file's source, parsed once. Raises RefusedError."""
        if path not in self._sources:
            self._sources[path] = Source(path, self._data.get(path))
        return self._sources[path]

    def _find_spots(self, failure: Failure) -> None:
        for frame in failure.frames:
            path = self._path(frame.path)
            unsure = self._unsure(frame, path) if failure.saved else None
            if unsure is not None:
                # What is below is not known: no frame above it is the failing one, nor the caller of what comes next.
                self.spots.clear()
                self.barred.append(unsure)
                continue
            if path is None or frame.number is None:
                continue
            why = protected(path)
            if why is not None:
                # torch is where everything fails: it is never the place to change.
                if locate(frame.path)[0] != "torch":
                    self.barred.append(why)
                continue
            source = self.source(path)
            self.spots.append(Spot(source, frame.function, source.statement_at(frame.number, frame.code)))

    def _unsure(self, frame: Frame, path: str | None) -> str | None:
        """Return why a frame of a saved report is no place to edit, None where it is one, or is none of the user's."""
        if locate(frame.path)[0] != "user" or (path is not None and protected(path) is not None):
            return None
        name = Path(frame.path).name
        if path != self.script:
            return (
                f"the report leads to {frame.path}: from a saved report only the script that you name is edited. "
                f"Name {name} instead of {Path(self.script).name}, or run the script here (leave out --report)"
            )
        if frame.number is None or not (frame.code or "").strip():
            return (
                f"the report names line {frame.number or '?'} of {name} without its text, so that nothing shows that it is the same "
                "line here: give a traceback with source lines, or run the script here (leave out --report)"
            )
        return None

    def _path(self, path: str) -> str | None:
        """Return the file of a frame: the script, or one that lies beside or below it; None for all others."""
        real = os.path.realpath(path)
        folder = os.path.dirname(self.script)  # noqa: PTH120
        if real == self.script:
            return real
        if Path(real).is_file():
            return real if real.startswith(folder + os.sep) or protected(real) else None
        # A report from another machine, or from another folder.
        if path.rpartition("/")[2] == Path(self.script).name:
            return self.script
        return None

    def innermost(self) -> Spot:
        """Return the deepest spot. Raises RefusedError where the failure has none."""
        if not self.spots:
            raise RefusedError(self.why_nowhere())
        return self.spots[-1]

    def why_nowhere(self) -> str:
        """Say why there is no line to edit."""
        if self.failure is None:
            return "this edit depends on the failing line: run the script (leave out --issue), or give its traceback with --report"
        if self.barred:
            return self.barred[-1]
        return "no line of the traceback lies in the script or beside it"


class Work:
    """The changes of one fix."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self._changes: dict[str, Changes] = {}
        self.steps: list[Step] = []

    def changes(self, source: Source) -> Changes:
        """Return the changes to a source."""
        return self._changes.setdefault(source.path, Changes(source))

    def step(self, operation: str, source: Source, node: cst.CSTNode, what: str) -> None:
        """Note what was done."""
        self.steps.append(Step(operation, source.path, source.line(node), what))

    def result(self) -> dict[str, bytes]:
        """Return the new content of every file that changed."""
        made = {path: one.result() for path, one in self._changes.items()}
        return {path: data for path, data in made.items() if data != self.scene.source(path).data}

    def dtype(self, source: Source, statement: cst.CSTNode, name: str) -> str:
        """Return how to write a dtype at a statement: a name that held it there when it failed, else ``torch.NAME``."""
        return self._name(source, statement, "dtype", lambda value: value == name) or f"{self.changes(source).torch()}.{name}"

    def device(self, source: Source, statement: cst.CSTNode, name: str) -> str:
        """Return how to write a device at a statement, likewise."""
        plain = {name, name.removesuffix(":0"), f"{name}:0"}
        return self._name(source, statement, "device", lambda value: value in plain) or f'"{name}"'

    def cast(self, source: Source, statement: cst.CSTNode, name: str) -> str:
        """Return the method call that casts to a dtype."""
        return ".float()" if name == "float32" else ".long()" if name == "int64" else f".to({self.dtype(source, statement, name)})"

    def _name(self, source: Source, statement: cst.CSTNode, kind: str, fits: Any) -> str | None:
        failure = self.scene.failure
        if failure is None:
            return None
        function = source.function(statement)
        line = source.line(statement)
        for known in failure.values:
            if known.kind != kind or os.path.realpath(known.file) != source.path or not fits(known.value):
                continue
            if known.function is None:
                made = _assigned(source, known.name, None)
                if made is not None and (function is not None or made < line):
                    return known.name
            elif function is not None and function.name.value == known.function:
                made = _assigned(source, known.name, function)
                if made is not None and made < line:
                    return known.name
        return None


def _assigned(source: Source, name: str, function: cst.FunctionDef | None) -> int | None:
    """Return the line of the only assignment to a name (or of the parameter), None where there is none or more than one."""
    if function is not None and any(one.name.value == name for one in (*function.params.params, *function.params.kwonly_params)):
        return source.line(function)
    found = []
    for node in source.walk(function):
        if isinstance(node, cst.AssignTarget | cst.AnnAssign) and source.function(node) is function and source.code(node.target) == name:
            found.append(source.line(node))
    return found[0] if len(found) == 1 else None
