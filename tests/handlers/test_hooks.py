"""``install()``: the original traceback first, previous hooks called, nothing installed twice, everything put back."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from programs import KNOWN, TITLE, run, told

import troubleshoot
from troubleshoot.handlers import hooks


@pytest.fixture(autouse=True)
def _clean() -> Iterator[None]:
    """Leave no hook behind."""
    yield
    troubleshoot.uninstall()


def known() -> None:
    """Raise a failure that the tool knows."""
    raise RuntimeError("expected scalar type Float but found Half")


def test_the_traceback_comes_first_and_is_the_same() -> None:
    """What Python prints is unchanged, the diagnosis comes after it, the exit status stays 1."""
    plain = run(KNOWN)
    installed = run(f"import troubleshoot; troubleshoot.install()\n{KNOWN}".replace("\n", "; "))
    assert plain.returncode == installed.returncode == 1
    assert installed.stderr.startswith(plain.stderr.splitlines()[0])
    assert installed.stderr.index("RuntimeError: expected") < installed.stderr.index(TITLE)
    assert installed.stdout == plain.stdout


def test_an_unknown_failure_prints_nothing_more() -> None:
    """Only what is known or likely is told."""
    plain, installed = run("{}['key']"), run("import troubleshoot; troubleshoot.install(); {}['key']")
    assert installed.stderr.splitlines()[-1] == plain.stderr.splitlines()[-1] == "KeyError: 'key'"


@pytest.mark.parametrize("ending", ["raise SystemExit(3)", "import sys; sys.exit('bye')", "raise KeyboardInterrupt"])
def test_deliberate_ends_are_left_alone(ending: str) -> None:
    """Exit codes and texts of sys.exit and Ctrl-C."""
    plain, installed = run(ending), run(f"import troubleshoot; troubleshoot.install()\n{ending}")
    assert installed.returncode == plain.returncode
    assert not told(installed.stderr)


def test_it_is_idempotent_and_uninstall_restores() -> None:
    """Two calls install one hook; afterwards the hooks are those from before."""
    before = (sys.excepthook, threading.excepthook, sys.unraisablehook)
    troubleshoot.install()
    troubleshoot.install(language="zh")
    assert sys.excepthook is hooks._excepthook
    troubleshoot.uninstall()
    troubleshoot.uninstall()
    assert (sys.excepthook, threading.excepthook, sys.unraisablehook) == before


def test_previous_hooks_are_called_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """And get the very exception."""
    order: list[object] = []
    monkeypatch.setattr(sys, "excepthook", lambda kind, value, traceback: order.append(value))
    troubleshoot.install(lambda diagnosis: order.append(diagnosis.verdict))
    error = RuntimeError("expected scalar type Float but found Half")
    sys.excepthook(type(error), error, None)
    assert order == [error, "likely"]


def test_a_hook_that_wraps_ours_stays_after_uninstall(monkeypatch: pytest.MonkeyPatch) -> None:
    """torch.distributed wraps the hook it finds: uninstalling must not cut its chain."""
    seen: list[str] = []
    monkeypatch.setattr(sys, "excepthook", lambda *_: seen.append("first"))
    troubleshoot.install(lambda diagnosis: seen.append("diagnosis"))
    ours = sys.excepthook
    monkeypatch.setattr(sys, "excepthook", lambda *arguments: (ours(*arguments), seen.append("wrapper")))
    troubleshoot.uninstall()
    sys.excepthook(RuntimeError, RuntimeError("expected scalar type Float but found Half"), None)
    assert seen == ["first", "wrapper"]
    hooks._state.excepthook = None


def test_threads_are_covered() -> None:
    """The default message of threading, then the diagnosis."""
    done = run(
        "import troubleshoot, threading; troubleshoot.install()\n"
        f"def work(): {KNOWN}\n"
        "thread = threading.Thread(target=work); thread.start(); thread.join(); print('alive')"
    )
    assert done.stdout == "alive\n"
    assert done.stderr.index("Exception in thread") < done.stderr.index(TITLE)


def test_threads_that_raise_together_each_get_their_report() -> None:
    """Eight different failures at once: eight reports, none lost."""
    found: list[troubleshoot.Diagnosis] = []
    troubleshoot.install(found.append)
    threading_hook, silence = hooks._state.threading, lambda arguments: None
    hooks._state.threading = silence
    try:
        threads = [threading.Thread(target=known) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        hooks._state.threading = threading_hook
    assert [one.verdict for one in found] == ["likely"] * 8


def test_unraisable_exceptions_are_covered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of ``__del__``."""
    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: None)
    found: list[troubleshoot.Diagnosis] = []
    troubleshoot.install(found.append)

    class Dying:
        def __del__(self) -> None:
            known()

    Dying()
    gc.collect()
    assert [one.verdict for one in found] == ["likely"]


def test_asyncio_tasks_and_callbacks_are_covered(caplog: pytest.LogCaptureFixture) -> None:
    """A task that nobody awaits and a callback both reach the loop's exception handler, which is called first."""
    found: list[troubleshoot.Diagnosis] = []
    troubleshoot.install(found.append)

    async def fail() -> None:
        known()

    async def main() -> None:
        task = asyncio.ensure_future(fail())
        asyncio.get_running_loop().call_soon(known)
        await asyncio.sleep(0.01)
        del task
        gc.collect()

    with caplog.at_level(logging.CRITICAL, logger="asyncio"):
        asyncio.run(main())
    assert [one.verdict for one in found] == ["likely", "likely"]
    troubleshoot.uninstall()
    assert not hasattr(asyncio.BaseEventLoop.call_exception_handler, "_troubleshoot")


def test_asyncio_is_wrapped_when_it_is_imported_later() -> None:
    """``install()`` itself imports neither asyncio nor torch nor logging."""
    done = run(
        "import sys, troubleshoot\ntroubleshoot.install()\n"
        "print([name for name in ('asyncio', 'torch', 'logging') if name in sys.modules])\n"
        "import asyncio\n"
        f"def fail(): {KNOWN}\n"
        "async def main():\n    asyncio.get_running_loop().call_soon(fail); await asyncio.sleep(0.01)\n"
        "asyncio.run(main()); print('alive')"
    )
    assert done.stdout == "[]\nalive\n"
    assert TITLE in done.stderr


def test_an_exception_is_reported_once() -> None:
    """However many handlers it passes."""
    found: list[troubleshoot.Diagnosis] = []
    with pytest.raises(RuntimeError) as caught, troubleshoot.guard(found.append), troubleshoot.guard(found.append):
        known()
    troubleshoot.install(found.append)
    hooks._state.excepthook = lambda *_: None
    sys.excepthook(RuntimeError, caught.value, None)
    assert len(found) == 1


def test_the_file_output_gets_json_lines(tmp_path: Path) -> None:
    """What a service collects: fingerprint, tool and knowledge versions, masked on request."""
    path = tmp_path / "reports.jsonl"
    for _ in range(2):
        with pytest.raises(RuntimeError), troubleshoot.guard(path, redact=True):
            raise RuntimeError("expected scalar type Float but found Half in /home/alice/model")
    one, other = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    assert one["failures"][0]["fingerprint"] == other["failures"][0]["fingerprint"]
    assert one["tool"] == troubleshoot.__version__
    assert one["knowledge"]
    assert "alice" not in json.dumps(one)


def test_secrets_are_masked_in_every_output(tmp_path: Path) -> None:
    """Without being asked for."""
    secret = "hf_" + "aB3" * 12
    for name in ("reports.jsonl", "reports.txt"):
        with pytest.raises(RuntimeError), troubleshoot.guard(tmp_path / name):
            raise RuntimeError(f"expected scalar type Float but found Half token={secret}")
        assert secret not in (tmp_path / name).read_text(encoding="utf-8")


def test_the_text_file_is_appended_to(tmp_path: Path) -> None:
    """Reports of several failures follow each other."""
    path = tmp_path / "reports.txt"
    for _ in range(2):
        with pytest.raises(RuntimeError), troubleshoot.guard(path):
            known()
    assert path.read_text(encoding="utf-8").count(TITLE) >= 2


def test_the_logger_output(caplog: pytest.LogCaptureFixture) -> None:
    """One record at the level of an error."""
    with pytest.raises(RuntimeError), troubleshoot.guard(logging.getLogger("reports")):
        known()
    assert [record.levelname for record in caplog.records] == ["ERROR"]
    assert TITLE in caplog.text


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Python prints notes from 3.11 on")
def test_the_notes_output() -> None:
    """The exception carries its diagnosis to whoever prints it."""
    with pytest.raises(RuntimeError) as caught, troubleshoot.guard("notes"):
        known()
    assert any(TITLE in note for note in caught.value.__notes__)


def test_notes_are_refused_where_they_come_too_late() -> None:
    """The excepthook prints first."""
    with pytest.raises(troubleshoot.InputError, match="too late"):
        troubleshoot.install("notes")


@pytest.mark.parametrize("wrong", [{"output": "report.txt"}, {"output": 3}, {"verdicts": ["sure"]}, {"language": "fr"}])
def test_wrong_options_are_refused(wrong: dict[str, object]) -> None:
    """When the handler is installed, not when something fails."""
    with pytest.raises(troubleshoot.InputError):
        troubleshoot.install(**wrong)  # type: ignore[arg-type]


def test_a_failing_callback_changes_nothing() -> None:
    """The original exception is what the caller sees."""
    with pytest.raises(RuntimeError, match="expected scalar"), troubleshoot.guard(lambda diagnosis: 1 / 0):
        known()


def test_explain_decorates_functions_and_coroutines() -> None:
    """Name and result are kept; what fails is told and raised."""
    found: list[troubleshoot.Diagnosis] = []

    @troubleshoot.explain(output=found.append)
    def step(fail: bool) -> int:
        return known() if fail else 3  # type: ignore[return-value,func-returns-value]

    @troubleshoot.explain(output=found.append)
    async def request() -> None:
        known()

    assert (step(False), step.__name__) == (3, "step")
    with pytest.raises(RuntimeError):
        step(True)
    with pytest.raises(RuntimeError):
        asyncio.run(request())
    assert len(found) == 2


def test_explain_without_options() -> None:
    """``@troubleshoot.explain`` alone works as well."""

    @troubleshoot.explain
    def fine() -> str:
        return "fine"

    assert fine() == "fine"


def test_the_logging_handler_diagnoses_what_is_logged() -> None:
    """``logger.exception`` in an except block."""
    found: list[troubleshoot.Diagnosis] = []
    logger = logging.getLogger("service")
    handler = troubleshoot.DiagnosisHandler(found.append)
    logger.addHandler(handler)
    try:
        try:
            known()
        except RuntimeError:
            logger.exception("the request failed")
        logger.error("no exception here")
    finally:
        logger.removeHandler(handler)
    assert [one.verdict for one in found] == ["likely"]


@pytest.mark.slow
def test_reload_takes_a_changed_overlay_in_one_step(tmp_path: Path) -> None:
    """Handlers use the new base from the next report on; a faulty file is skipped with a warning."""
    folder = tmp_path / "kb"
    (folder / "acme").mkdir(parents=True)
    troubleshoot.install(kb=[folder])
    first = troubleshoot.reload()
    (folder / "acme" / "broken.yaml").write_text("schema: [", encoding="utf-8")
    second = troubleshoot.reload()
    assert hooks._state.options is not None
    assert hooks._state.options.base is second
    assert second is not first
    assert second.ids() == first.ids()
    assert second.warnings
