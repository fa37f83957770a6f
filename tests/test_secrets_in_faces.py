"""One report full of secrets goes through every face; none of them shows in what is printed, answered, logged or written."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import urllib.error
import urllib.request
from contextlib import closing
from pathlib import Path

import pytest

import troubleshoot
from troubleshoot.telling import FORMATS, render

sys.path.insert(0, str(Path(__file__).parent / "serve"))

from servers import start

HEX = "0f1e2d3c4b5a69788796a5b4c3d2e1f0a1b2c3d4"
#: (as it stands in the report, what must be seen nowhere)
FORMS = [
    (f'os.environ["WANDB_API_KEY"] = "{HEX}"', HEX),
    (f"wandb login {HEX[::-1]}", HEX[::-1]),
    ("python train.py --token Zx81kd92jf83hd7 --password hunter2secret", "Zx81kd92jf83hd7"),
    ("--password hunter2secret", "hunter2secret"),
    ('config["password"]="Qw73ert98uio"', "Qw73ert98uio"),
    ("redis://:onlypass12@cache:6379", "onlypass12"),
    ('{"clientSecret": "Mn64bvc32xzl1"}', "Mn64bvc32xzl1"),
    ("Authorization: Bearer Lk09jhg87fds6a", "Lk09jhg87fds6a"),
    ("密码：Pp55oo66ii77", "Pp55oo66ii77"),
    ("-p" + "hf_" + "AbC1" * 9, "AbC1AbC1"),
    ("https://x.example/?sig=Ty67ghj89bnm0", "Ty67ghj89bnm0"),
]
SECRETS = [secret for _, secret in FORMS]
PEOPLE = ["alice77", "Jane Doe", "10.77.12.13", "2001:db8:77::17"]


def report(message: str) -> str:
    """Return a report whose prose, commands, quoted code, paths and message hold secrets."""
    told = "\n".join(form for form, _ in FORMS)
    inline = " ".join(form for form, _ in FORMS)
    return (
        f"I get a black image and NaN in float16 with {FORMS[4][0]} on C:\\Users\\Jane Doe\\x.py at 10.77.12.13 and 2001:db8:77::17.\n"
        f"{told}\nThe model runs in float16 with {FORMS[0][0]}.\nTraceback (most recent call last):\n"
        f'  File "/home/alice77/proj/train.py", line 3, in main\n    connect({FORMS[4][0]}, "{FORMS[5][0]}"){FORMS[9][0]}\n'
        '  File "/home/alice77/venv/lib/python3.10/site-packages/torch/nn/modules/linear.py", line 114, in forward\n'
        "    return F.linear(input, self.weight, self.bias)\n"
        f"{message} ({inline})\n\n{told}\ntorch==2.1.0\ntransformers==4.30.0\n"
    )


REPORTS = {
    "known": report("RuntimeError: expected scalar type Float but found Half"),
    "unknown": report("RuntimeError: quux of the frobnicator is not of dtype Half"),
    "out of scope": report("torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB"),
    "symptom": "\n".join(form for form, _ in FORMS) + f"\nstep 3 loss is nan {FORMS[7][0]}\nloss: nan, {FORMS[2][0]}\n",
    # Where the texts of faces are shortened, a secret begins: at every place within a token there is one face that cuts there.
    **{f"cut at {at}": f"RuntimeError: {'x' * at} is not Half {FORMS[9][0]} {FORMS[7][0]} {FORMS[4][0]}" for at in (55, 90, 270, 470)},
}


def seen(text: str | bytes, what: list[str]) -> list[str]:
    """Return which of some strings show, the first ten characters of each."""
    shown = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    shown += json.dumps(shown)
    return [one for one in what if one[:10] in shown]


@pytest.mark.parametrize("name", REPORTS)
def test_no_form_of_a_diagnosis_shows_them(name: str) -> None:
    """Text, JSON, Markdown, HTML, in both languages; people and machines in none that is to be shared."""
    for language in ("en", "zh"):
        diagnosis = troubleshoot.diagnose(REPORTS[name], environment="report", language=language)
        for form in FORMATS:
            assert seen(render(diagnosis, form, top=9), SECRETS) == []
            assert seen(render(diagnosis, form, top=9, redact=True), SECRETS + PEOPLE) == []
        assert seen(str(diagnosis), SECRETS) == []
        assert seen(render(diagnosis, redact=True), SECRETS + PEOPLE) == []
        assert seen(json.dumps(diagnosis.to_dict(), ensure_ascii=False), SECRETS) == []
        assert seen(json.dumps(diagnosis.to_dict(redact=True), ensure_ascii=False), SECRETS + PEOPLE) == []


@pytest.mark.slow
def test_no_command_prints_or_writes_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands that read reports and logs, and all files that they leave, the cache among them."""
    made, given = tmp_path / "made", tmp_path / "given"
    made.mkdir()
    (given / "reports").mkdir(parents=True)
    for name, text in REPORTS.items():
        (given / "reports" / f"{name}.txt").write_text(text, encoding="utf-8")
    log = given / "train.log"
    log.write_text("\n".join(REPORTS.values()), encoding="utf-8")
    # Of an overlay a compiled copy is kept.
    (given / "base").mkdir()
    (given / "base" / "signs.yaml").write_text("{}\n", encoding="utf-8")
    monkeypatch.setenv("XDG_CACHE_HOME", str(made / "cache"))
    known, unknown = (str(given / "reports" / f"{name}.txt") for name in ("known", "unknown"))
    commands = [
        *(["diagnose", path, "--format", form] for path in (known, unknown) for form in ("text", "json")),
        ["diagnose", known, "--format", "markdown", "-o", str(made / "shared.md")],
        ["diagnose", known, "--answer", FORMS[2][0]],
        ["diagnose", known, "--have", "password=hunter2secret"],
        *(["scan", str(log), "--format", form, "--state", str(made / f"state-{form}.json")] for form in ("table", "jsonl", "html")),
        ["scan", str(log), "--last"],
        ["kb", "gaps", str(given / "reports")],
        ["kb", "gaps", str(given / "reports"), "--format", "json"],
        ["kb", "why", known, "torch/linear-dtype"],
        ["kb", "why", known, "torch/linear-dtype", "--format", "json"],
        ["diagnose", known, "--kb", str(given / "base")],
        ["kb", "new", "torch/quux", "--from", unknown, "--kb", str(made / "base"), "--cause", "dtype-mismatch/input-vs-weight"],
    ]
    failed = []
    for command in commands:
        done = subprocess.run([sys.executable, "-m", "troubleshoot", *command], capture_output=True, check=False, cwd=tmp_path)
        # Paths of the test itself are none of the report's.
        failed += [(command, one) for one in seen(done.stdout + done.stderr, SECRETS)]
        assert b"internal error" not in done.stderr, done.stderr
    for path in sorted(made.rglob("*")):
        failed += [(path, one) for one in seen(path.read_bytes(), SECRETS)] if path.is_file() else []
    assert failed == []
    assert (made / "shared.md").stat().st_size > 100
    assert (made / "state-jsonl.json").stat().st_size > 100
    assert any((made / "cache").rglob("*"))


def test_no_live_report_shows_them(tmp_path: Path) -> None:
    """What is added for an exception: to a file of JSON lines, to a logger, as a note."""
    program = tmp_path / "program.py"
    program.write_text(
        "import logging, sys\nfrom pathlib import Path\nimport troubleshoot\n"
        "logger = logging.getLogger('x'); logger.addHandler(logging.FileHandler('x.log', encoding='utf-8'))\n"
        f"message = {REPORTS['known'].rpartition('RuntimeError: ')[2].strip()!r}\n"
        "for output in (Path('x.jsonl'), Path('x.txt'), logger):\n"
        "    try:\n        with troubleshoot.guard(output):\n            raise RuntimeError(message)\n"
        "    except RuntimeError:\n        pass\n",
        encoding="utf-8",
    )
    done = subprocess.run([sys.executable, str(program)], capture_output=True, check=True, cwd=tmp_path)
    for name in ("x.jsonl", "x.txt", "x.log"):
        content = (tmp_path / name).read_bytes()
        assert b"expected scalar type" in content
        assert seen(content, SECRETS) == []
    assert seen(done.stdout + done.stderr, SECRETS) == []


def test_no_row_of_a_batch_holds_them() -> None:
    """What a job over millions of reports keeps of each."""
    from troubleshoot.batch import _row

    base = troubleshoot.load_kb()
    for text in REPORTS.values():
        assert seen(json.dumps(_row(text, base, "en"), ensure_ascii=False), SECRETS) == []


def test_no_table_holds_them(tmp_path: Path) -> None:
    """Rows of batches, files and page of a fleet."""
    pa = pytest.importorskip("pyarrow")
    from troubleshoot.batch import diagnose_table
    from troubleshoot.scale.fleets import fleet_page, run_fleet

    found = diagnose_table(pa.table({"text": list(REPORTS.values())}))
    assert seen(json.dumps(found.to_pylist(), ensure_ascii=False), SECRETS) == []
    (tmp_path / "in").mkdir()
    for name, text in REPORTS.items():
        (tmp_path / "in" / f"{name}.txt").write_text(text, encoding="utf-8")
    run_fleet([str(tmp_path / "in")], str(tmp_path / "out"))
    assert seen(fleet_page(str(tmp_path / "out")), SECRETS) == []
    parts = sorted((tmp_path / "out").glob("*"))
    assert parts
    import pyarrow.parquet as pq

    for path in parts:
        text = (
            json.dumps(pq.read_table(path).to_pylist(), ensure_ascii=False)
            if path.suffix == ".parquet"
            else path.read_text(errors="replace")
        )
        assert seen(text, SECRETS) == []


def test_no_server_answers_logs_or_keeps_them(tmp_path: Path) -> None:
    """REST, chat, MCP, refused requests, the log, the feedback file with reports."""
    pytest.importorskip("fastapi")
    running = start(tmp_path, "--feedback", str(tmp_path / "feedback.db"), "--store-reports", "--request-log")
    answers: list[tuple[str, bytes, list[str]]] = []

    def ask(path: str, body: object, shared: bool, kind: str = "application/json", **headers: str) -> bytes:
        data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        request = urllib.request.Request(running.url + path, data, {"content-type": kind, **headers})
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                content = response.read()
        except urllib.error.HTTPError as error:
            content = error.read()
        answers.append((path, content, SECRETS + PEOPLE if shared else SECRETS))
        return content

    try:
        for text in REPORTS.values():
            ask("/v1/diagnose", text, False, "text/plain")
            ask("/page/diagnose", {"report": text, "answers": {"gpu": FORMS[4][0]}}, False)
            ask("/v1/diagnose", {"report": text, "answers": {FORMS[2][0]: FORMS[4][0]}, "have": {"torch": FORMS[4][0]}}, False)
            ask("/v1/chat/completions", {"model": "troubleshoot", "messages": [{"role": "user", "content": text}]}, True)
            call = {"name": "diagnose", "arguments": {"report": text, "gpu": FORMS[4][0], "answers": {"gpu": FORMS[2][0]}}}
            ask(
                "/mcp",
                {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call},
                False,
                Accept="application/json, text/event-stream",
            )
            noted = ask("/v1/feedback", {"issue": "torch/linear-dtype", "worked": True, "report": text}, True)
            assert b"noted" in noted
        ask("/v1/diagnose", '{"report": "' + REPORTS["symptom"] + '"', False)
        ask("/v1/diagnose", {"report": 3, FORMS[2][0]: FORMS[4][0]}, False)
        ask("/v1/feedback", {"issue": FORMS[2][0], "worked": True}, False)
        ask("/v1/nothing?token=Zx81kd92jf83hd7", "", False)
        ask("/v1/issues/" + "password=Qw73ert98uio", "", False)
    finally:
        assert running.stop() == 0
    assert [(path, one) for path, content, what in answers for one in seen(content, what)] == []
    assert any(b"expected scalar type" in content for _, content, _ in answers)
    for path in sorted(tmp_path.rglob("*")):
        if path.is_file():
            assert (path, seen(path.read_bytes(), SECRETS + PEOPLE)) == (path, [])
    with closing(sqlite3.connect(tmp_path / "feedback.db")) as kept:
        reports = [report for (report,) in kept.execute("select report from feedback")]
    assert len(reports) == len(REPORTS)
    assert any("expected scalar type" in one for one in reports)
    assert seen("\n".join(reports), SECRETS + PEOPLE) == []


def test_no_record_holds_them(tmp_path: Path) -> None:
    """What is kept of a verification may come to be published."""
    from troubleshoot.lab.verify.outcomes import Before, Verification
    from troubleshoot.lab.verify.records import write_records
    from troubleshoot.lab.verify.verify_page import render_html

    fields = dict.fromkeys(Verification.__dataclass_fields__)
    before = Before("reproduced", error=REPORTS["cut at 270"], traceback=REPORTS["known"])
    given = {"issue": "torch/x", "case": "x", "tier": 1, "dtype": "float16", "device": "cpu", "verdict": "reproduced", "fixes": ()}
    result = Verification(**{**fields, **given, "environment": {"os": FORMS[4][0]}, "before": before})  # type: ignore[arg-type]
    written = write_records(tmp_path, [result])
    assert written
    for path in tmp_path.iterdir():
        assert seen(path.read_bytes(), SECRETS) == []
    assert seen(render_html([result]), SECRETS + PEOPLE) == []


def test_an_internal_error_shows_none() -> None:
    """The draft of a report on a fault of the program, whose message quotes what it choked on."""
    from troubleshoot.commands.about import internal_error

    assert seen(internal_error(ValueError(REPORTS["known"])), SECRETS + PEOPLE) == []


@pytest.mark.parametrize("line", ["x " * 4000 + "password=" + "Q9x7Zk" * 1500, "y " * 2990 + "hf_" + "Q9x7Zk" * 5 + " z" * 6000])
def test_a_line_that_is_cut_shows_no_part_of_a_secret(line: str) -> None:
    """Of a long line the middle is left out: the rest of a secret would lack its name, or its end."""
    diagnosis = troubleshoot.diagnose(f"RuntimeError: expected scalar type Half but found Float\n{line}\n", environment="report")
    assert "Q9x7" not in "\n".join(diagnosis.report.lines)
