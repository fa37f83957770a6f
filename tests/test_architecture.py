"""The one direction: a module imports only from what lies to the left of it in the picture of docs/architecture.md."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import troubleshoot

ROOT = Path(troubleshoot.__file__).parent

#: Left to right. Names on one line do not import from each other.
LAYERS = [
    {"errors", "version", "lazy", "addresses", "patterns", "saving", "secret_rules", "timelimit", "invisible"},
    {"dtypes", "names", "redact"},
    {"versions"},
    {"report", "environment"},
    {"knowledge"},
    {"result"},
    {"evidence", "records"},
    {"matching", "lines"},
    {"answers"},
    {"ranking"},
    {"fixes"},
    {"questions", "summary", "live"},
    {"diagnosis"},
    {"verify", "editing"},
    {"curation"},
    {"auditing", "watching"},
    {"checking"},
    {"render"},
    {"publishing"},
    {"batch", "scanning"},
    {"fleets"},
    {"handlers"},
    {"trying"},
    {"serve"},
    {"commands"},
    {"cli"},
    {"__main__"},
]
RANK = {name: rank for rank, layer in enumerate(LAYERS) for name in layer}

#: ``str(diagnosis)`` is the terminal text: the one step to the right, taken only when it is called.
ALLOWED = {("result", "render")}


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
    """No module imports from its right, and none from its neighbours on the same line."""
    wrong = [
        f"{path.relative_to(ROOT)} imports {imported}"
        for path, own, imported in imports()
        if own not in ("__init__", imported) and imported in RANK and (own, imported) not in ALLOWED and RANK[imported] >= RANK[own]
    ]
    assert wrong == []


def test_the_direction_test_sees_imports_inside_functions() -> None:
    """The check would be blind without the lazy imports, which keep start-up short."""
    assert any(own == "diagnosis" and imported == "environment" for _, own, imported in imports())


@pytest.mark.parametrize("name", troubleshoot.__all__)
def test_public_names_exist(name: str) -> None:
    """Every exported name can be imported, though it is loaded lazily."""
    assert getattr(troubleshoot, name) is not None


