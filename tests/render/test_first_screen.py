"""The short answer: what a person reads first."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
import render_samples as samples

from troubleshoot import diagnose, load_kb
from troubleshoot.engine.result import Diagnosis, Question
from troubleshoot.telling import render
from troubleshoot.telling.code_lines import folded
from troubleshoot.telling.layout import columns, without_asides
from troubleshoot.telling.screen import first_screen, screen_blocks
from troubleshoot.telling.screen_text import MOST_LINES, screen_text

ROOT = Path(__file__).parents[2]
BASE = load_kb()
#: Words of the tool's own works that no reader knows.
MACHINERY = ("words of reports", "dtype.requested", "weight 0", "(dtype-mismatch/", "must hold", "at-least", "entry of the knowledge")
LINEAR = """Traceback (most recent call last):
  File "/home/alice/train.py", line 61, in main
    loss = model(batch)
  File "/opt/conda/lib/python3.10/site-packages/torch/nn/modules/linear.py", line 125, in forward
    return F.linear(input, self.weight, self.bias)
RuntimeError: mat1 and mat2 must have the same dtype, but got Float and BFloat16
"""
TWO = (
    LINEAR
    + """
Traceback (most recent call last):
  File "/home/alice/load.py", line 3, in <module>
    open("missing.bin")
FileNotFoundError: [Errno 2] No such file or directory: 'missing.bin'
"""
)


def answer(text: str, **options: object) -> Diagnosis:
    """Return the diagnosis of a report, as any machine gives it."""
    return diagnose(text, environment="report", **options)  # type: ignore[arg-type]


def short(text: str, width: int = 80, **options: object) -> str:
    """Return the short answer, as the command prints it."""
    return render(answer(text, **options), width=width, more="--full")


@cache
def reports() -> tuple[str, ...]:
    """Return the examples of the base and of the documentation, and one in eight of the unseen reports."""
    examples = [example.text for name in BASE.ids() for example in BASE.entry(name).examples.positive[:1] if example.text]
    documents = [path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs" / "examples").glob("*.txt"))]
    unseen = [
        json.loads(line)["text"]
        for path in sorted((ROOT / "tests" / "data" / "unseen").glob("*.jsonl"))
        for line in path.read_text(encoding="utf-8").splitlines()[::8]
    ]
    return (*examples, *documents, *unseen)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_report_is_answered_on_one_screen(language: str) -> None:
    """At most 16 lines of 80 columns, in both languages, with a headline and without the tool's machinery."""
    assert len(reports()) > 300
    for text in reports():
        shown = short(text, language=language)
        lines = shown.split("\n")
        assert len(lines) - 1 <= MOST_LINES == 16, shown
        assert max(map(columns, lines)) <= 80, shown
        assert lines[0].strip(), shown
        assert not any(word in shown for word in MACHINERY), shown


def test_a_question_comes_after_the_first_fix_and_alone() -> None:
    """One question at most, never which model it is, and never before what to do."""
    for text in reports():
        screen = first_screen(answer(text))
        lines = screen_text(screen).split("\n")
        asked = [at for at, line in enumerate(lines) if line.startswith("?  ")]
        assert len(asked) <= 1
        assert screen.question is None or screen.question.about != "model"
        if asked and screen.fixes:
            assert any(line.startswith("1  ") for line in lines[: asked[0]])


@pytest.mark.parametrize("width", [40, 60, 120])
def test_the_terminal_has_the_width_that_it_has(width: int) -> None:
    """Lines fill the terminal and never pass it."""
    for name in samples.ALL:
        lines = render(samples.ALL[name](), width=width).split("\n")
        assert max(map(columns, lines)) <= width, name
        assert len(lines) - 1 <= MOST_LINES, name


def test_the_first_line_ends_with_verdict_and_probability() -> None:
    """They stand at the right edge, whatever the width and the language."""
    for width in (80, 120):
        line = short(LINEAR, width).split("\n")[0]
        assert line.endswith("likely · 79 %")
        assert columns(line) == width
    line = short(LINEAR, language="zh").split("\n")[0]
    assert line.endswith("可能 · 79%")
    assert columns(line) == 80


def test_the_headline_is_about_this_error() -> None:
    """The dtypes or devices of the message, and the operation of the innermost frame, go before the family's title."""
    assert first_screen(answer(LINEAR)).title == "float32 input meets bfloat16 weight in `linear`"
    bare = first_screen(answer("RuntimeError: mat1 and mat2 must have the same dtype, but got Float and Half"))
    assert bare.title.endswith(": float32 and float16")
    conv = "RuntimeError: Input type (torch.cuda.HalfTensor) and weight type (torch.cuda.FloatTensor) should be the same"
    assert first_screen(answer(conv)).title == "float16 input meets float32 weight"
    device = (
        "RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu! "
        "(when checking argument for argument mat1 in method wrapper_CUDA_addmm)"
    )
    assert first_screen(answer(device)).title == "A tensor on cuda meets a tensor on cpu in `addmm`"
    assert first_screen(answer("RuntimeError: \"addmm_impl_cpu_\" not implemented for 'Half'")).title.endswith("`addmm_impl_cpu_`")


def test_the_probability_is_that_of_the_headline() -> None:
    """Where the cause is said instead of what the reader described, it is the cause's."""
    diagnosis = answer("my images are black with fp16", gpu="GTX 1660 Ti")
    screen = first_screen(diagnosis)
    assert diagnosis.first is not None
    assert screen.title == diagnosis.first.note.rstrip(".")
    assert screen.badge.endswith(f"{diagnosis.first.cause_confidence * 100:.0f} %")
    assert any("GTX 1660 Ti" in fact for fact in screen.facts)


def test_the_place_is_the_users_line_and_the_librarys() -> None:
    """With their code; a traceback of torch alone has its deepest line."""
    blip = first_screen(answer((ROOT / "docs" / "examples" / "blip2-half.txt").read_text(encoding="utf-8")))
    assert [(spot.where, spot.code) for spot in blip.spots] == [
        ("caption.py:14", "out = model.generate(**inputs)"),
        ("transformers/…/modeling_blip_2.py:1372", "embedding_output = self.layernorm(query_embeds)"),
    ]
    alone = LINEAR.replace('  File "/home/alice/train.py", line 61, in main\n    loss = model(batch)\n', "")
    assert [spot.where for spot in first_screen(answer(alone)).spots] == ["torch/…/linear.py:125"]


def test_further_failures_have_a_line_each() -> None:
    """The first is answered, the others are named."""
    lines = short(TWO).split("\n")
    assert "float32 input meets bfloat16 weight" in lines[0]
    assert [line.strip() for line in lines if "Also" in line] == ["Also line 11: FileNotFoundError: [Errno 2] No such file or directory"]


def test_only_known_failures_of_advice_are_crossed_out() -> None:
    """A fix that was filtered out is no advice against it."""
    diagnosis = samples.known()
    screen = first_screen(diagnosis)
    assert [text.partition(":")[0] for text in screen.donts] == ["Load the model in bfloat16"]
    assert "Go back to transformers 4.49.0" not in screen_text(screen)
    assert "Go back to transformers 4.49.0" in render(diagnosis, full=True)


@pytest.mark.parametrize(
    ("text", "kind", "step"),
    [
        ("torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB", "gpu-memory", "batch"),
        ("FileNotFoundError: [Errno 2] No such file or directory: 'a.bin'", "missing-file", "path"),
        ("RuntimeError: mat1 and mat2 shapes cannot be multiplied (3x4 and 5x6)", "matmul-shape", "shapes"),
    ],
)
def test_what_is_out_of_scope_has_a_kind_a_line_and_a_next_step(text: str, kind: str, step: str) -> None:
    """Abstaining helps too, in every form."""
    diagnosis = answer(text)
    assert diagnosis.outside is not None
    assert diagnosis.outside.kind == kind
    assert diagnosis.to_dict()["outside"] == {"kind": kind, "title": diagnosis.outside.title, "next": diagnosis.outside.next}
    for form in ("text", "markdown", "html"):
        shown = render(diagnosis, form)
        assert "Next:" in shown
        assert step in shown
        assert "line 1:" in shown
    chinese = short(text, language="zh")
    assert "下一步" in chinese
    assert "line" not in chinese.replace(text, "")


def test_every_kind_out_of_scope_has_a_next_step() -> None:
    """In both languages."""
    assert {name for name, group in BASE.out_of_scope.items() if group.next is None} == set()


def test_a_message_without_its_traceback_is_asked_for_it() -> None:
    """And a report with one is not."""
    bare = first_screen(answer("RuntimeError: mat1 and mat2 must have the same dtype, but got Float and Half"))
    assert bare.question is not None
    assert "traceback" in bare.question.text
    model = replace(answer(LINEAR), questions=(Question("Which model is it?", "model", ("a/b", "c/d"), ()),))
    assert first_screen(model).question is None


def test_the_rest_is_one_option_away() -> None:
    """The last line says how to verify and where everything is; ``full`` is everything."""
    last = short(LINEAR).rstrip("\n").split("\n")[-1]
    assert last == "Check: troubleshoot verify torch/linear-dtype   More: --full"
    full = render(answer(LINEAR), full=True)
    assert "\nDo" in full
    assert "\nSeen" in full
    assert len(full.split("\n")) > MOST_LINES


def test_other_faces_begin_with_the_short_answer() -> None:
    """The details come below it, folded where they can be; nothing can be judged or answered twice."""
    diagnosis = answer(LINEAR)
    title = first_screen(diagnosis).title
    markdown, html = render(diagnosis, "markdown"), render(diagnosis, "html")
    assert title in markdown.split("\n")[0]
    assert markdown.index("1. **") < markdown.index("### Why") < markdown.index("### Do")
    assert html.index("<ol>") < html.index("<details><summary>Details</summary>") < html.index("<h2>Why</h2>")
    assert screen_blocks(first_screen(diagnosis))


def test_errors_of_the_diagnosis_are_told() -> None:
    """What could not be read is no secret of the details."""
    noted = replace(answer(LINEAR), errors=("my-kb/x.yaml:3: kind: unknown",))
    assert "my-kb/x.yaml:3" in render(noted)
    assert "my-kb/x.yaml:3" in render(noted, "markdown")


@pytest.mark.parametrize(
    ("code", "language"),
    [
        ("inputs = {k: v.to(model.dtype) if v.is_floating_point() else v for k, v in inputs.items()}", "python"),
        ('model = Auto.from_pretrained(name, quantization_config=config, device_map={"": 0}, torch_dtype=torch.bfloat16)', "python"),
        ("with torch.autocast(device_type='cuda', dtype=torch.float16, enabled=True, cache_enabled=False):\n    y = f(x)", "python"),
    ],
)
def test_folded_code_is_the_same_code(code: str, language: str) -> None:
    """Python is broken within brackets only, so it parses to the same program."""
    import ast

    lines = folded(code, language, 60)
    assert max(map(len, lines)) <= 60
    assert ast.dump(ast.parse("\n".join(lines))) == ast.dump(ast.parse(code))


def test_what_cannot_be_folded_is_not_torn() -> None:
    """A string or a setting stays whole, or is not shown at all."""
    import shlex

    assert folded("x = '" + "a b " * 30 + "'", "python", 60) == []
    assert folded("setting = " + "a " * 60, "", 60) == []
    command = "pip install " + " ".join(f"'package-{number}==1.{number}'" for number in range(9))
    lines = folded(command, "sh", 60)
    assert max(map(len, lines)) <= 60
    assert shlex.split("\n".join(lines).replace("\\\n", " ")) == shlex.split(command)


def test_asides_are_left_out_and_code_is_not() -> None:
    """Calls and back-quoted code keep their parentheses."""
    assert without_asides("Two (or more, see f(x)) of `f(a)` meet g(y).") == "Two of `f(a)` meet g(y)."
    assert without_asides("甲（乙）丙") == "甲丙"
