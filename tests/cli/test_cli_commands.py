"""Every command, called in process: what it prints where, and its exit code."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from troubleshoot.cli import main

LINEAR = """\
torch==2.6.0
Traceback (most recent call last):
  File "train.py", line 3, in <module>
    model(x)
  File "/opt/venv/lib/python3.10/site-packages/torch/nn/modules/linear.py", line 125, in forward
    return F.linear(input, self.weight, self.bias)
RuntimeError: mat1 and mat2 must have the same dtype, but got Float and Half
"""

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run the program and return (exit code, stdout, stderr)."""
    for name in ("TROUBLESHOOT_KB", "TROUBLESHOOT_LANG", "TROUBLESHOOT_DEBUG", "LC_ALL", "LC_MESSAGES", "LANG", "COLUMNS", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)

    def call(*arguments: str | Path) -> tuple[int, str, str]:
        code = main([str(one) for one in arguments])
        out, err = capsys.readouterr()
        return code, out, err

    return call


@pytest.fixture
def report(tmp_path: Path) -> Path:
    """Return a file with a report."""
    path = tmp_path / "error.txt"
    path.write_text(LINEAR, encoding="utf-8")
    return path


def complaint(result: tuple[int, str, str]) -> str:
    """Return the one line on stderr of a command that failed in use."""
    code, out, err = result
    assert code == 2
    assert out == ""
    assert err.startswith("troubleshoot: ")
    assert err.count("\n") == 1
    assert "Traceback" not in err
    return err


def test_a_report_is_diagnosed(run: Run, report: Path) -> None:
    """Exit code 0, what it is and the verdict first, nothing on stderr; everything is an option away."""
    code, out, err = run("diagnose", report)
    assert (code, err) == (0, "")
    assert re.match(r"float32 input meets float16 weight in `linear` +(known|likely) · \d+ %\n", out)
    assert len(out.splitlines()) <= 16
    code, out, err = run("diagnose", report, "--full")
    assert (code, err) == (0, "")
    assert re.match(r"(known|likely) \d+ %  ", out)
    assert "RuntimeError: mat1 and mat2 must have the same dtype" in out


@pytest.mark.parametrize("form", ["text", "markdown", "html", "json"])
def test_every_format(run: Run, report: Path, form: str) -> None:
    """Each format has its own beginning."""
    code, out, _ = run("diagnose", report, "--format", form)
    assert code == 0
    assert out.startswith({"text": "float32 input meets", "markdown": "## ", "html": "<!doctype html>", "json": "{"}[form])


def test_json_is_one_object(run: Run, report: Path) -> None:
    """Scripts read the contract."""
    data = json.loads(run("diagnose", report, "-f", "json", "--top", "1")[1])
    assert data["schema"] == 1
    assert len(data["diagnoses"]) == 1
    assert data["environment"]["packages"]["torch"]["version"] == "2.6.0"


def test_no_diagnosis_is_exit_code_1(run: Run, tmp_path: Path) -> None:
    """As with grep."""
    path = tmp_path / "log.txt"
    path.write_text("epoch 1 loss 0.5\n", encoding="utf-8")
    code, out, err = run("diagnose", path)
    assert (code, err) == (1, "")
    assert out.split("\n")[0].endswith("unknown")


def test_answers_reach_the_diagnosis(run: Run, report: Path) -> None:
    """--gpu, --have and --answer are facts with the user as source."""
    out = run(
        "diagnose",
        report,
        "--gpu",
        "V100-16GB",
        "--have",
        "transformers==4.50.1",
        "--have",
        "peft",
        "--answer",
        "package.apex=absent",
        "-f",
        "json",
    )[1]
    environment = json.loads(out)["environment"]
    assert environment["packages"]["transformers"] == {"version": "4.50.1", "source": "answer"}
    assert environment["packages"]["peft"]["version"] == ""
    assert environment["packages"]["apex"]["version"] is None
    assert environment["accelerators"][0]["capability"] == "7.0"


def test_an_environment_file_is_read(run: Run, report: Path, tmp_path: Path) -> None:
    """The output of pip freeze will do."""
    freeze = tmp_path / "freeze.txt"
    freeze.write_text("accelerate==1.5.2\nnumpy==1.26.4\ntorch==2.6.0\ntransformers==4.50.1\nsafetensors==0.5.3\n", encoding="utf-8")
    data = json.loads(run("diagnose", report, "--env", freeze, "-f", "json")[1])
    assert data["environment"]["packages"]["transformers"]["version"] == "4.50.1"


def test_output_goes_to_a_file(run: Run, report: Path, tmp_path: Path) -> None:
    """Nothing on stdout; colour is not written to files."""
    target = tmp_path / "out.md"
    assert run("diagnose", report, "--format", "markdown", "--output", target)[:2] == (0, "")
    assert target.read_text(encoding="utf-8").startswith("## ")


def test_language(run: Run, report: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """--lang decides, then TROUBLESHOOT_LANG, then the locale."""
    assert "验证" in run("diagnose", report, "--lang", "zh")[1]
    monkeypatch.setenv("LANG", "zh_CN.UTF-8")
    assert "验证" in run("diagnose", report)[1]
    monkeypatch.setenv("TROUBLESHOOT_LANG", "en")
    assert "Check" in run("diagnose", report)[1]
    assert "验证" in run("diagnose", report, "--lang", "zh")[1]


def test_colour(run: Run, report: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not in a pipe, unless asked for; asking wins over NO_COLOR."""
    assert "\x1b[" not in run("diagnose", report)[1]
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" in run("diagnose", report, "--color", "always")[1]
    assert "\x1b[" not in run("diagnose", report, "--color", "never")[1]


def test_redact_masks_people(run: Run, tmp_path: Path) -> None:
    """--redact is for what is shared."""
    path = tmp_path / "error.txt"
    path.write_text(LINEAR.replace('"train.py"', '"/home/alice/train.py"'), encoding="utf-8")
    assert "alice" in run("diagnose", path, "--full")[1]
    for form in ("text", "markdown", "html", "json"):
        assert "alice" not in run("diagnose", path, "--full", "--redact", "--format", form)[1]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("diagnose", "missing.txt"), "missing.txt"),
        (("diagnose", "."), "directory"),
        (("diagnose", "{report}", "--format", "yaml"), "choose text, markdown, json or html"),
        (("diagnose", "{report}", "--lang", "fr"), "choose en or zh"),
        (("diagnose", "{report}", "--color", "yes"), "choose auto, always or never"),
        (("diagnose", "{report}", "--top", "0"), "1 or more"),
        (("diagnose", "{report}", "--top", "many"), "1 or more"),
        (("diagnose", "{report}", "--env", "missing.txt"), "no such file"),
        (("diagnose", "{report}", "--env", "report", "--deep"), "give one of them"),
        (("diagnose", "{report}", "--env", "report", "--python", "x"), "give one of them"),
        (("diagnose", "{report}", "--python", "/nowhere/python"), "/nowhere/python"),
        (("diagnose", "{report}", "--kb", "missing"), "no such folder"),
        (("diagnose", "{report}", "--answer", "apex"), "write NAME=VALUE"),
        (("diagnose", "{report}", "--answer", "packag.apex=absent"), "no fact is called"),
        (("diagnose", "{report}", "--have", "=1"), "write NAME=VALUE"),
        (("diagnose", "{report}", "--have", "torch=1", "--have", "torch=2"), "given twice"),
        (("diagnose", "{report}", "--gpu", "Banana 9000"), "no GPU is known"),
        (("diagnose", "{report}", "--output", "/nowhere/x.md"), "cannot write"),
        (("diagnose", "{report}", "extra"), "unexpected extra argument"),
        (("diagnose", "{report}", "--fromat", "json"), "--format"),
        (("diagnos", "{report}"), "No such command 'diagnos'"),
        (("explain",), "ISSUE"),
        (("explain", "torch/linaer-dtype"), "torch/linear-dtype"),
        (("explain", "dtype-mismatch/dubble"), "dtype-mismatch/double"),
        (("kb",), "kb --help"),
        (("kb", "show", "torch/linaer-dtype"), "torch/linear-dtype"),
        (("kb", "lint", "--kb", "missing"), "no such folder"),
        (("kb", "score", "missing"), "no such file or folder"),
        (("kb", "new", "No Id", "--kb", "{folder}"), "package/slug"),
        (("kb", "new", "a/b", "--kb", "{folder}", "--cause", "dtype-mismatch/dubble"), "dtype-mismatch/double"),
        (("env", "--format", "yaml"), "choose"),
        (("env", "--python", "/nowhere/python"), "/nowhere/python"),
    ],
)
def test_an_error_in_use_is_one_line_that_says_what_to_do(
    run: Run, report: Path, tmp_path: Path, arguments: tuple[str, ...], says: str
) -> None:
    """Exit code 2, no traceback, nothing on stdout."""
    assert says in complaint(run(*(one.format(report=report, folder=tmp_path) for one in arguments)))


def test_no_command_shows_the_help(run: Run) -> None:
    """As an error in use."""
    code, out, _ = run()
    assert code == 2
    assert "diagnose" in out


@pytest.mark.parametrize(
    "command",
    [(), ("diagnose",), ("explain",), ("env",), ("kb",), *(("kb", one) for one in ("list", "show", "lint", "score", "new", "schema"))],
)
@pytest.mark.parametrize("option", ["--help", "-h"])
def test_help_has_examples(run: Run, command: tuple[str, ...], option: str) -> None:
    """Every command shows how it is used; nothing in it is read as markup."""
    code, out, err = run(*command, option)
    assert (code, err) == (0, "")
    assert "Examples:\n" in out
    assert " ".join(("troubleshoot", *command)) in out.partition("Examples:")[2]


def test_version(run: Run) -> None:
    """The tool's, the knowledge base's and Python's."""
    code, out, _ = run("--version")
    assert code == 0
    assert re.match(r"troubleshoot \d+\.\d+\.\d+ \(knowledge base \w+, \d+ entries; Python 3\.", out)


def test_explain_an_issue(run: Run) -> None:
    """The page of an entry in each format; text says what it looks like, why, what to do, what does not help, and where it was seen."""
    code, out, _ = run("explain", "transformers/blip2-query-tokens-fp32")
    assert code == 0
    assert re.findall(r"^(?:Looks like|Affects|Why|Do|Don't|Seen|More)\b", out, re.MULTILINE) == [
        "Looks like", "Affects", "Why", "Do", "Don't", "Seen", "More",
    ]  # fmt: skip
    assert "pip install 'transformers==4.50.3'" in out
    assert run("explain", "torch/linear-dtype", "-f", "markdown")[1].startswith("## ")
    assert json.loads(run("explain", "torch/linear-dtype", "-f", "json")[1])["id"] == "torch/linear-dtype"
    assert "现象" in run("explain", "kb/torch/linear-dtype.yaml", "--lang", "zh")[1]


@pytest.mark.parametrize("format", ["text", "markdown"])
def test_conditions_are_for_curators(run: Run, format: str) -> None:
    """What must hold for an entry, its weights and the holes of its templates stand in kb show alone."""
    out = run("explain", "transformers/blip2-query-tokens-fp32", "-f", format)[1]
    for text in ("must hold", "rules out", "{found", "blip2|blip_2", "one of:"):
        assert text not in out
    assert "required:" in run("kb", "show", "transformers/blip2-query-tokens-fp32")[1]


def test_explain_a_kind_of_problem(run: Run) -> None:
    """A group of causes lists them; what the tool only recognises has its first step."""
    assert "numerics/fp16-overflow" in run("explain", "numerics")[1]
    code, out, _ = run("explain", "memory")
    assert code == 0
    assert "CUDA out of memory" in out and "smaller batch" in out
    assert "显存不足" in run("explain", "gpu-memory", "--lang", "zh")[1]
    assert json.loads(run("explain", "gpu-memory", "-f", "json")[1])[0]["id"] == "gpu-memory"
    assert run("explain", "no-such-thing")[0] == 2


def test_every_page_fits_one_screen() -> None:
    """24 rows of 80 columns hold the page of every entry and cause, with the prompt below, and the first fix."""
    from troubleshoot.engine.records import seen_in
    from troubleshoot.knowledge import load_kb
    from troubleshoot.telling import explained
    from troubleshoot.telling.layout import columns

    base = load_kb()
    seen = seen_in(base.roots)
    # Every other one in Chinese: the quick tests have little time.
    pages = [
        explained.of_issue(base.entry(name), ("en", "zh")[number % 2], lambda fix, name=name: seen(name, fix))
        for number, name in enumerate(base.ids())
    ]
    pages += [explained.of_cause(code, cause, language, ()) for code, cause in base.causes.causes.items() for language in ("en", "zh")]
    for head, parts in pages:
        text = explained.one_screen(head, parts)
        assert sum(max(1, -(-columns(line) // 80)) for line in text.splitlines()) <= 23, text
        first = next((form.title for part in parts for form in part.forms if getattr(form, "mark", "") == "1"), "")
        assert " ".join(first.replace("`", "").split())[:30] in " ".join(text.replace("`", "").split())


@pytest.mark.slow
def test_every_entry_and_cause_has_a_page(run: Run) -> None:
    """In both languages, without an internal error."""
    from troubleshoot.knowledge import load_kb

    base = load_kb()
    for name in (*base.ids(), *base.causes.causes):
        for language in ("en", "zh"):
            code, out, _ = run("explain", name, "--lang", language)
            assert code == 0
            assert name in out


def test_an_issue_comes_before_a_cause_of_its_name(run: Run) -> None:
    """An answer leads to the issue; the cause has a longer name."""
    assert "Looks like" in run("explain", "numerics/nan-image")[1]
    assert "numerics/nan-image · cause" in run("explain", "causes/numerics/nan-image")[1]


@pytest.mark.parametrize("name", ["4090", "3090", "1660", "T4", "MI300", "M2"])
def test_env_tells_what_a_gpu_computes_in(run: Run, name: str) -> None:
    """By the name that people write."""
    code, out, _ = run("env", "--gpu", name)
    assert code == 0
    assert re.search(rf"{name}.*(?:native|emulated)", out)
    assert json.loads(run("env", "--gpu", name, "-f", "json")[1])["support"]["bfloat16"]


def test_explain_a_cause(run: Run) -> None:
    """The general advice, and the issues that have the cause, the message families first."""
    code, out, _ = run("explain", "dtype-mismatch/input-vs-weight")
    assert code == 0
    assert re.search(r"^Known issues +- `[a-z_]+/", out, re.MULTILINE)
    assert "torch/linear-dtype" in run("explain", "dtype-mismatch/input-vs-weight", "-f", "markdown")[1]
    assert json.loads(run("explain", "dtype-mismatch/input-vs-weight", "-f", "json")[1])["cause"] == "dtype-mismatch/input-vs-weight"


def test_env(run: Run) -> None:
    """Versions with their source, and the table of dtypes."""
    code, out, _ = run("env")
    assert code == 0
    assert "this machine" in out
    assert "bfloat16" in out
    assert "CPU" in out


def test_env_json_can_be_given_back(run: Run, report: Path, tmp_path: Path) -> None:
    """What one machine prints, another one reads with --env."""
    target = tmp_path / "env.json"
    assert run("env", "-f", "json", "-o", target)[0] == 0
    data = json.loads(run("diagnose", report, "--env", target, "-f", "json")[1])
    assert "pytest" in data["environment"]["packages"]


def test_the_one_liner_is_one_line(run: Run) -> None:
    """Ready to be pasted into a shell."""
    code, out, _ = run("env", "--one-liner")
    assert code == 0
    assert out.count("\n") == 1
    assert "python" in out


def test_kb_list(run: Run) -> None:
    """JSON has the fields of the contract; words narrow the list; an empty one is exit code 1."""
    fields = {"id", "cause", "title", "status", "refines", "models", "affected", "references", "case", "basis"}
    entries = json.loads(run("kb", "list", "--format", "json")[1])
    assert entries
    assert all(fields <= one.keys() for one in entries)
    code, out, _ = run("kb", "list", "torch/linear-dtype")
    assert code == 0
    assert "torch/linear-dtype" in out
    assert run("kb", "list", "xyzzy")[0] == 1
    assert "|" in run("kb", "list", "--format", "markdown")[1]


def test_kb_show(run: Run) -> None:
    """An entry as data, in two forms that say the same."""
    import yaml

    from_yaml = yaml.safe_load(run("kb", "show", "torch/linear-dtype")[1])
    from_json = json.loads(run("kb", "show", "torch/linear-dtype", "-f", "json")[1])
    assert from_yaml == from_json


def test_kb_new_writes_an_entry_that_lint_reads(run: Run, tmp_path: Path) -> None:
    """The path is printed; a second time is refused."""
    code, out, _ = run(
        "kb", "new", "mylib/my-slug", "--kb", tmp_path, "--cause", "dtype-mismatch/double", "--message", "expected Double but got Float"
    )
    assert code == 0
    path = Path(out.strip())
    assert path == tmp_path / "mylib" / "my-slug.yaml"
    assert "dtype-mismatch/double" in path.read_text(encoding="utf-8")
    assert "exists" in complaint(run("kb", "new", "mylib/my-slug", "--kb", tmp_path))


def test_kb_schema_accepts_every_entry(run: Run) -> None:
    """The schema that editors use agrees with the loader."""
    jsonschema = pytest.importorskip("jsonschema")
    yaml = pytest.importorskip("yaml")
    from troubleshoot.knowledge.base import shipped_root

    validator = jsonschema.Draft202012Validator(json.loads(run("kb", "schema")[1]))
    for path in set(shipped_root().glob("*/*.yaml")) - set(shipped_root().glob("words/*.yaml")):
        errors = [error.message for error in validator.iter_errors(yaml.safe_load(path.read_text(encoding="utf-8")))]
        assert errors == [], path.name


def test_a_broken_overlay_is_a_note_not_an_end(run: Run, report: Path, tmp_path: Path) -> None:
    """The rest of the knowledge base still answers."""
    (tmp_path / "mylib").mkdir()
    (tmp_path / "mylib" / "bad.yaml").write_text("schema: 1\nid: [", encoding="utf-8")
    code, out, _ = run("diagnose", report, "--kb", tmp_path)
    assert code == 0
    assert "bad.yaml" in out
    _, _, err = run("kb", "list", "--kb", tmp_path)
    assert "bad.yaml" in err


def test_an_internal_error_is_reported_with_a_redacted_draft(run: Run, report: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit code 2, no bare traceback, no path of this machine; TROUBLESHOOT_DEBUG raises."""
    import troubleshoot.engine.diagnosis

    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("at /home/alice/x with hf_abcdefghijklmnopqrstuvwxyz")

    monkeypatch.setattr(troubleshoot.engine.diagnosis, "diagnose", broken)
    code, out, err = run("diagnose", report)
    assert (code, out) == (2, "")
    assert err.startswith("troubleshoot: internal error")
    assert "----- draft -----" in err
    assert "alice" not in err
    assert "hf_abc" not in err
    assert str(Path(troubleshoot.engine.diagnosis.__file__).parent) not in err
    monkeypatch.setenv("TROUBLESHOOT_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        run("diagnose", report)


@pytest.mark.parametrize("text", ["RuntimeError: expected scalar type Half but found Float", "my training loss becomes nan with fp16"])
def test_a_message_is_taken_for_a_report(run: Run, text: str) -> None:
    """Where there is no such file, and it reads as an error or as a sentence."""
    code, out, _ = run("diagnose", text, "--format", "json")
    assert code == 0
    assert json.loads(out)["verdict"] == "likely"


@pytest.mark.parametrize("name", ["missing.txt", "my log.txt", "some folder/my very own error log.txt"])
def test_the_name_of_a_missing_file_is_none(run: Run, name: str) -> None:
    """A name with a blank in it is a name."""
    assert "there is no such file" in complaint(run("diagnose", name))


@pytest.mark.parametrize("arguments", [("--help",), ("kb", "--help")])
def test_summaries_of_commands_are_whole(run: Run, arguments: tuple[str, ...]) -> None:
    """They are wrapped, never cut."""
    code, out, _ = run(*arguments)
    assert code == 0
    listed = out.partition("Commands:")[2].partition("Examples:")[0]
    assert listed.strip()
    assert "..." not in listed
