"""``%load_ext troubleshoot``: the diagnosis below a cell's traceback, as HTML in Jupyter and as text in a terminal."""

from __future__ import annotations

import sys
from typing import Any

from troubleshoot.handlers.explaining import report
from troubleshoot.handlers.options import VERDICTS, Options, spoken

_loaded: dict[int, tuple[Any, Any]] = {}


def load(shell: Any) -> None:
    """Have an IPython shell diagnose what its cells raise, after it has shown the traceback as it always does."""
    if id(shell) in _loaded:
        return
    shown = shell.showtraceback

    def showtraceback(*args: Any, **kwargs: Any) -> Any:
        result = shown(*args, **kwargs)
        given = args[0] if args else kwargs.get("exc_tuple")
        _after(given[1] if given else sys.exc_info()[1])
        return result

    shell.showtraceback = showtraceback
    _loaded[id(shell)] = (shell, shown)


def unload(shell: Any) -> None:
    """Undo :func:`load`."""
    kept = _loaded.pop(id(shell), None)
    if kept is not None:
        shell.showtraceback = kept[1]


def _after(exception: BaseException | None) -> None:
    try:
        report(exception, Options(output=_show, language=spoken(), verdicts=VERDICTS))
    except KeyboardInterrupt:
        # Interrupting the kernel ends the diagnosis, not the cell that has ended already.
        return


def _show(diagnosis: Any) -> None:
    """Publish both forms; the front end takes the one that it can show."""
    from IPython.display import publish_display_data

    from troubleshoot.telling import render

    publish_display_data({"text/plain": render(diagnosis, "text"), "text/html": notebook_html(render(diagnosis, "html"))})


def notebook_html(page: str) -> str:
    """Return a page in a frame of its own, so that its style does not reach the notebook; scripts cannot run in it."""
    from html import escape

    return (
        f'<iframe sandbox srcdoc="{escape(page, quote=True)}" title="troubleshoot" '
        'style="width:100%;height:30em;border:1px solid #8886;border-radius:4px"></iframe>'
    )
