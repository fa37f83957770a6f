"""The one direction: a module imports only from what lies to the left of it in the picture of docs/architecture.md."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import troubleshoot

ROOT = Path(troubleshoot.__file__).parent

#: The rooms, left to right: the way of a report from text to answer, then what uses it.
ROOMS = [
    "version", "basics", "reader", "reading", "knowledge", "engine", "telling", "handlers", "lab", "batch", "scale", "curation", "serve",
    "commands", "cli", "__main__",
]  # fmt: skip
#: Within a room, where the order tells the story. Names on one line do not import from each other.
WITHIN = {
    "engine": [
        {"result"}, {"evidence", "records"}, {"matching", "lines"}, {"answers"}, {"ranking"}, {"fixes", "consulting"},
        {"questions", "live"}, {"findings"}, {"diagnosis"},
    ],
    "lab": [{"verify", "editing"}, {"auditing", "watching"}, {"checking"}, {"trying"}],
}  # fmt: skip
RANK = {name: rank for rank, name in enumerate(ROOMS)}

#: The engine's findings are put into words when all is known, and ``str(diagnosis)`` is the terminal text: steps to the right when called.
ALLOWED = {("engine", "telling")}


def inner(module: str) -> str:
    """Return the part of a room that a module is in."""
    return module.split(".")[2] if module.count(".") > 1 else ""


def top(module: str) -> str:
    """Return the module's place in the picture."""
    return module.split(".")[1] if "." in module else "__init__"


def imports() -> list[tuple[Path, str, str]]:
    """Return (file, importing part, imported part) of every import within the package, those inside functions too."""
    found = []
    for path in sorted(ROOT.rglob("*.py")):
        own = path.relative_to(ROOT).with_suffix("").parts[0]
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "troubleshoot":
                names = [f"troubleshoot.{alias.name}" for alias in node.names] if node.module == "troubleshoot" else [node.module]
                found += [(path, own, top(name)) for name in names]
            elif isinstance(node, ast.Import):
                found += [(path, own, top(alias.name)) for alias in node.names if alias.name.split(".")[0] == "troubleshoot"]
    return found


def test_every_module_has_a_place() -> None:
    """A new module must be put into the picture."""
    parts = {path.relative_to(ROOT).with_suffix("").parts[0] for path in ROOT.rglob("*.py")}
    assert parts - {"__init__"} == set(RANK)


def test_imports_go_one_way() -> None:
    """No module imports from a room to its right."""
    wrong = [
        f"{path.relative_to(ROOT)} imports {imported}"
        for path, own, imported in imports()
        if own not in ("__init__", imported) and imported in RANK and (own, imported) not in ALLOWED and RANK[imported] >= RANK[own]
    ]
    assert wrong == []


@pytest.mark.parametrize("room", WITHIN)
def test_the_parts_of_a_room_have_an_order(room: str) -> None:
    """As between rooms; every part has its line."""
    rank = {name: at for at, names in enumerate(WITHIN[room]) for name in names}
    assert {path.stem for path in (ROOT / room).iterdir() if path.stem not in ("__init__", "__pycache__")} == set(rank)
    wrong, seen = [], 0
    for path in sorted((ROOT / room).rglob("*.py")):
        own = path.relative_to(ROOT / room).with_suffix("").parts[0]
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith(f"troubleshoot.{room}"):
                continue
            for name in [f"{node.module}.{alias.name}" for alias in node.names] if node.module.count(".") == 1 else [node.module]:
                part = inner(name)
                if part in rank and own in rank and part != own:
                    seen += 1
                    wrong += [f"{path.relative_to(ROOT)} imports {name}"] if rank[part] >= rank[own] else []
    assert wrong == []
    assert seen


def test_the_direction_test_sees_imports_inside_functions() -> None:
    """The check would be blind without the lazy imports, which keep start-up short."""
    assert any(own == "engine" and imported == "reading" for _, own, imported in imports())


@pytest.mark.parametrize("name", troubleshoot.__all__)
def test_public_names_exist(name: str) -> None:
    """Every exported name can be imported, though it is loaded lazily."""
    assert getattr(troubleshoot, name) is not None


#: Where the engine still words something by itself (see docs/decisions.md), and diagnose(), whose last step is the wording.
WORDED = {"diagnosis.py", "live/concluding.py", "matching/wording.py", "fixes/library.py"}


def test_the_engine_knows_no_language() -> None:
    """No other function of it takes one: it returns keys and values."""
    taking = set()
    for path in sorted((ROOT / "engine").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and any(one.arg == "language" for one in (*node.args.args, *node.args.kwonlyargs)):
                taking.add(path.relative_to(ROOT / "engine").as_posix())
    assert taking == WORDED
