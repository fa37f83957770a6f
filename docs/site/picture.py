"""Draw README's picture: the tool's own answer to the example report, as a terminal shows it.

python docs/site/picture.py > docs/answer.svg
"""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.terminal_theme import DIMMED_MONOKAI
from rich.text import Text

from troubleshoot import diagnose
from troubleshoot.telling import render

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = "docs/examples/blip2-half.txt"
COMMAND = f"troubleshoot diagnose {EXAMPLE}"


def answer(*, color: bool = False) -> str:
    """Return what the command prints, whatever this machine has installed."""
    report = (ROOT / EXAMPLE).read_text(encoding="utf-8")
    return render(diagnose(report, environment="report", language="en"), color=color, width=80, more="--full")


def picture() -> str:
    """Return the answer as SVG. It fetches nothing: a reader's own fonts do."""
    console = Console(record=True, width=82, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    console.print(Text.from_ansi(f"$ {COMMAND}\n{answer(color=True)}"), soft_wrap=True)
    form = re.sub(r"@font-face \{\{.*?\}\}\s*", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
    drawn = console.export_svg(title="troubleshoot", theme=DIMMED_MONOKAI, code_format=form, unique_id="answer")
    return "\n".join(line.rstrip() for line in drawn.splitlines()) + "\n"


if __name__ == "__main__":
    sys.stdout.write(picture())
