"""The programs in ``programs``: files of many short ones, each below a line with its name, written out before it is run."""

from __future__ import annotations

import re
from pathlib import Path

FOLDER = Path(__file__).parent / "programs"
_NAME = re.compile(r"^# ==== (\w+)\n", re.MULTILINE)


def programs(kind: str) -> dict[str, str]:
    """Return the source of every program by its name: ``kind`` is broken, healthy or raising."""
    found: dict[str, str] = {}
    for path in sorted(FOLDER.glob(f"{kind}*.py")):
        parts = _NAME.split(path.read_text())
        assert not parts[0], f"{path.name} begins without a name"
        for name, source in zip(parts[1::2], parts[2::2], strict=True):
            assert name not in found, f"two programs are called {name}"
            found[name] = source
    return found


def write_programs(folder: Path) -> None:
    """Write every program as a file of its own: ``broken/clip_scaled.py``. What several of them import lies beside them."""
    for kind in ("broken", "healthy", "raising"):
        (folder / kind).mkdir()
        (folder / kind / "tiny_gpt.py").write_text((FOLDER / "tiny_gpt.py").read_text())
        for name, source in programs(kind).items():
            (folder / kind / f"{name}.py").write_text(source)
