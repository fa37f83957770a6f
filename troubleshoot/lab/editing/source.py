"""One Python source as LibCST's tree: where its statements are, and changes to single nodes that leave all else as it is."""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import libcst as cst
from libcst.codemod import CodemodContext
from libcst.codemod.visitors import AddImportsVisitor
from libcst.metadata import CodeRange, MetadataWrapper, ParentNodeProvider, PositionProvider

from troubleshoot.lab.editing.lines import line_number, plain, quoted, split_lines, too_deep, with_changes
from troubleshoot.lab.editing.plans import RefusedError

Change = Callable[[Any], Any]
_Codes = dict[cst.CSTNode, list[str]]
#: Larger files are generated ones; LibCST needs a second for 50 KB.
_MOST_BYTES = 1_000_000
#: Levels that LibCST's parser is trusted with: it has no limit of its own, and at about 1000 brackets the process is gone.
_MOST_LEVELS = 400
#: Python's own limit of nested calls while such a source is read: LibCST needs some ten for a level.
_CALLS = 10_000


class Source:
    """A parsed file.

    LibCST is given its text with plain line ends and without form feeds in the indentation, which it would not give back;
    :func:`with_changes` puts what it changes into the original.

    Raises:
        RefusedError: it cannot be read, is no valid Python, or is larger or nests deeper than what can be edited.
    """

    def __init__(self, path: str, data: bytes | None = None) -> None:
        self.path = path
        try:
            self.data = Path(path).read_bytes() if data is None else data
        except OSError as error:
            raise RefusedError(f"cannot read {path}: {error.strerror or error}") from error
        if len(self.data) > _MOST_BYTES:
            raise RefusedError(f"{path} has {len(self.data) / 1e6:.1f} MB: sources over {_MOST_BYTES / 1e6:.0f} MB are not edited")
        self.encoding, self.text = _decoded(path, self.data)
        self._plain = plain(self.text)
        if "\0" in self._plain:
            raise RefusedError(f"{path}:{self._plain.count(chr(10), 0, self._plain.index(chr(0))) + 1}: it holds a null byte")
        line = too_deep(self._plain, _MOST_LEVELS)
        if line is not None:
            raise _nests(path, line)
        try:
            with deep():
                wrapper = MetadataWrapper(cst.parse_module(self._plain), unsafe_skip_copy=True)
                self.module = wrapper.module
                self._positions = wrapper.resolve(PositionProvider)
                self._parents = wrapper.resolve(ParentNodeProvider)
                given_back = self.module.code == self._plain
        except cst.ParserSyntaxError as error:
            raise RefusedError(_wrong(path, self.data) or f"{path}:{error.raw_line}: LibCST cannot read it: {error.message}") from error
        except RecursionError as error:
            raise _nests(path, 1) from error
        if not given_back:
            raise RefusedError(f"{path}: LibCST would change more of it than the edit")
        self.lines = split_lines(self.text)

    def changed(self, module: cst.Module) -> bytes:
        """Return the file's new content, in its own encoding and with its own line ends, where its tree has become ``module``.

        Raises:
            RefusedError: it would be no valid Python, which the file is now.
        """
        made = with_changes(self.text, self._plain, module.code)
        data = made.encode(self.encoding)
        wrong = _wrong(self.path, data)
        if wrong is not None and _wrong(self.path, self.data) is None:
            raise RefusedError(f"the edit would break the file: {wrong}")
        return data

    def code(self, node: cst.CSTNode) -> str:
        """Return the source text of a node."""
        return str(self.module.code_for_node(node))

    def span(self, node: cst.CSTNode) -> CodeRange:
        """Return where a node is: lines from 1, columns from 0."""
        found = self._positions[node]
        assert isinstance(found, CodeRange)
        return found

    def line(self, node: cst.CSTNode) -> int:
        """Return the first line of a node."""
        return int(self.span(node).start.line)

    def parent(self, node: cst.CSTNode) -> cst.CSTNode | None:
        """Return the node above, None for the module."""
        found = self._parents.get(node)
        return found if isinstance(found, cst.CSTNode) else None

    def above(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """Yield the nodes above, nearest first."""
        one = self.parent(node)
        while one is not None:
            yield one
            one = self.parent(one)

    def walk(self, node: cst.CSTNode | None = None) -> Iterator[Any]:
        """Yield a node and all below it, in the order of the source."""
        waiting: list[Any] = [self.module if node is None else node]
        while waiting:
            one = waiting.pop()
            yield one
            waiting += reversed(one.children)

    def function(self, node: cst.CSTNode) -> cst.FunctionDef | None:
        """Return the function around a node."""
        return next((one for one in self.above(node) if isinstance(one, cst.FunctionDef)), None)

    def statement(self, node: cst.CSTNode) -> cst.CSTNode:
        """Return the statement of a block that a node belongs to. Raises RefusedError for one that shares its line with a header."""
        for one in (node, *self.above(node)):
            if isinstance(one, cst.SimpleStatementLine | cst.BaseCompoundStatement):
                return one
            if isinstance(one, cst.SimpleStatementSuite):
                raise RefusedError(f"line {self.line(node)} has its block on the line of its header: nothing can be put beside it")
        raise RefusedError("the place is no statement")

    def statement_at(self, line: int, code: str | None = None) -> cst.CSTNode:
        """Return the innermost statement that covers a line. ``code`` is what a report quotes: where the file has other text there, its
        only occurrence is taken.

        Raises:
            RefusedError: there is none, or the report is of another version of the file.
        """
        if code is not None and not self._same(line, code):
            found = [number for number in range(1, len(self.lines) + 1) if self._same(number, code)]
            if len(found) != 1:
                raise RefusedError(f"line {line} of {Path(self.path).name} is not what the report quotes: `{code.strip()}`")
            line = found[0]
        best: cst.CSTNode | None = None
        for node in self.walk():
            if isinstance(node, cst.SimpleStatementLine | cst.BaseCompoundStatement):
                span = self.span(node)
                if span.start.line <= line <= span.end.line:
                    best = node
        if best is None:
            raise RefusedError(f"line {line} of {Path(self.path).name} holds no statement")
        return best

    def _same(self, line: int, code: str) -> bool:
        return 0 < line <= len(self.lines) and quoted(self.lines[line - 1]) == quoted(code.strip().partition("\n")[0])

    def block(self, statement: cst.CSTNode) -> list[Any]:
        """Return the statements of the block that a statement is in."""
        parent = self.parent(statement)
        return list(parent.body) if isinstance(parent, cst.IndentedBlock | cst.Module) else [statement]

    def torch(self) -> str | None:
        """Return the name under which the file imports torch, or None."""
        for node in self.walk():
            if isinstance(node, cst.Import):
                for alias in node.names:
                    if self.code(alias.name) == "torch":
                        return alias.asname.name.value if alias.asname and isinstance(alias.asname.name, cst.Name) else "torch"
        return None


class Changes:
    """Changes to one source, gathered and then made in one pass."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._made: dict[cst.CSTNode, list[Change]] = {}
        self._before: _Codes = {}
        self._after: _Codes = {}
        self._torch = False

    def replace(self, node: cst.CSTNode, change: Change) -> None:
        """Change a node; what was changed below it is kept."""
        self._made.setdefault(node, []).append(change)

    def put(self, node: cst.CSTNode, code: str) -> None:
        """Put an expression in the place of a node."""
        self.replace(node, lambda _: expression(code))

    def append(self, node: cst.CSTNode, suffix: str) -> None:
        """Append a method call to an expression, in parentheses where it needs them."""
        plain = isinstance(node, cst.Name | cst.Attribute | cst.Call | cst.Subscript) or bool(getattr(node, "lpar", ()))
        code = self.source.module.code_for_node
        self.replace(node, lambda made: expression(f"{code(made)}{suffix}" if plain else f"({code(made)}){suffix}"))

    def insert_after(self, statement: cst.CSTNode, code: str) -> None:
        """Put statements behind one."""
        self._movable(statement)
        self._after.setdefault(statement, []).append(code)

    def insert_before(self, statement: cst.CSTNode, code: str) -> None:
        """Put statements before one, below the comments that lead to it."""
        self._movable(statement)
        self._before.setdefault(statement, []).append(code)

    def _movable(self, statement: cst.CSTNode) -> None:
        if not isinstance(self.source.parent(statement), cst.IndentedBlock | cst.Module):
            raise RefusedError(f"nothing can be put beside line {self.source.line(statement)}: it is no line of its own")

    def torch(self) -> str:
        """Return how the file calls torch, which is imported if it is not yet."""
        found = self.source.torch()
        if found is None:
            self._torch = True
        return found or "torch"

    def result(self) -> bytes:
        """Return the changed source."""
        module = self.source.module.visit(_Maker(self._made, self._before, self._after, self.source.module))
        assert isinstance(module, cst.Module)
        if self._torch:
            context = CodemodContext()
            AddImportsVisitor.add_needed_import(context, "torch")
            module = AddImportsVisitor(context).transform_module(module)
        return self.source.changed(module)


class _Maker(cst.CSTTransformer):  # type: ignore[misc, unused-ignore]
    def __init__(self, made: dict[cst.CSTNode, list[Change]], before: _Codes, after: _Codes, module: cst.Module) -> None:
        super().__init__()
        self._made = made
        self._before = before
        self._after = after
        self._config = module.config_for_parsing

    def on_leave(self, original_node: Any, updated_node: Any) -> Any:
        node = updated_node
        for change in self._made.get(original_node, ()):
            node = change(node)
        before = [one for code in self._before.get(original_node, ()) for one in self._parsed(code)]
        after = [one for code in self._after.get(original_node, ()) for one in self._parsed(code)]
        if before:
            # The comments and blank lines above stay above.
            before[0] = before[0].with_changes(leading_lines=node.leading_lines)
            node = node.with_changes(leading_lines=())
        return cst.FlattenSentinel([*before, node, *after]) if before or after else node

    def _parsed(self, code: str) -> list[Any]:
        # A module of its own, for several statements with their comments.
        return list(cst.parse_module(code.rstrip("\n") + "\n", self._config).body)


def expression(code: str) -> cst.BaseExpression:
    """Return an expression as a node."""
    return cst.parse_expression(code)


def dotted(text: str) -> re.Pattern[str]:
    """Return the pattern of a dotted name that stands alone."""
    return re.compile(rf"(?<![\w.]){re.escape(text)}(?![\w])")


@contextmanager
def deep() -> Iterator[None]:
    """Let a source that nests as deep as is allowed be walked, whatever Python's limit of nested calls."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _CALLS))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def _decoded(path: str, data: bytes) -> tuple[str, str]:
    """Return a source's encoding, as its byte order mark or its first lines say, and its text without the mark."""
    try:
        encoding = encoding_of(data)
        text = data.decode(encoding)
        if text.encode(encoding) != data:
            raise RefusedError(f"{path}: text in {encoding} would not be the same when it is written again")
    except UnicodeDecodeError as error:
        raise _undecodable(path, data, error) from error
    except (UnicodeError, SyntaxError, LookupError, ValueError) as error:
        # What the first lines hold is no UTF-8 (detect_encoding does not say where), or they name an encoding that there is not.
        try:
            data.decode("utf-8")
        except UnicodeDecodeError as where:
            raise _undecodable(path, data, where) from error
        raise RefusedError(f"{path}: its encoding cannot be read: {error}") from error
    return encoding, text


def _undecodable(path: str, data: bytes, error: UnicodeDecodeError) -> RefusedError:
    return RefusedError(f"{path}:{line_number(data.decode('latin-1'), error.start)}: its encoding cannot be read: no {error.encoding}")


def encoding_of(data: bytes) -> str:
    """Return the encoding of a Python source. Raises SyntaxError where it names none that there is."""
    # As the tokenizer sees its lines: in a source with \r alone, readline() would take the whole of it for the first.
    return tokenize.detect_encoding(io.BytesIO(data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")).readline)[0]


def _wrong(path: str, data: bytes) -> str | None:
    """Return what this Python says against a source, None where it takes it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(data, path)
    except SyntaxError as error:
        return f"{path}:{error.lineno or 1}: it is no valid Python {sys.version_info[0]}.{sys.version_info[1]}: {error.msg}"
    except (ValueError, RecursionError, MemoryError) as error:
        return f"{path}: it is no valid Python {sys.version_info[0]}.{sys.version_info[1]}: {error}"
    return None


def _nests(path: str, line: int) -> RefusedError:
    return RefusedError(f"{path}:{line}: it nests too deep to be edited (more than {_MOST_LEVELS} levels)")
