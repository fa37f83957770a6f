"""Edits that the source alone decides, and the loops of training: no model is run for them."""

from __future__ import annotations

import json
from pathlib import Path
from textwrap import dedent

import pytest

pytest.importorskip("libcst")

from troubleshoot.commands.fix import run as run_fix
from troubleshoot.engine.diagnosis import diagnose
from troubleshoot.knowledge import load_kb
from troubleshoot.lab.editing.entries import fixes_of_issue
from troubleshoot.lab.editing.failure import failure_of
from troubleshoot.lab.editing.planning import plans_for, settings

BASE = load_kb()


def edited(folder: Path, code: str, issue: str, fix: str, cause: str | None = None) -> str:
    """Return the source after a fix of an issue, or why there is none."""
    path = folder / "script.py"
    path.write_text(dedent(code))
    fixes = [one for one in fixes_of_issue(BASE.entry(issue), cause, BASE) if one.id == fix]
    assert fixes
    plans, refused = plans_for(str(path), fixes, None)
    return plans[0].files[str(path.resolve())].decode() if plans else refused[0].why


#: name -> (issue, fix, before, after)
SOURCES = {
    "settings of the trainer": (
        "numerics/nan-loss", "bf16",
        'args = TrainingArguments("out", fp16=True, learning_rate=1e-4)\n',
        'args = TrainingArguments("out", fp16=False, learning_rate=1e-4, bf16=True)\n',
    ),
    "one argument a line, with a comment on the last": (
        "numerics/nan-loss", "bf16",
        'args = TrainingArguments(\n    "out",\n    fp16=True,  # half\n)\n',
        'args = TrainingArguments(\n    "out",\n    fp16=False,  # half\n    bf16=True,\n)\n',
    ),
    "one argument a line, no comma at the end": (
        "numerics/nan-loss", "bf16",
        'args = TrainingArguments(\n    "out",  # folder\n    fp16=True\n)\n',
        'args = TrainingArguments(\n    "out",  # folder\n    fp16=False,\n    bf16=True\n)\n',
    ),
    "the optimizer's epsilon": (
        "numerics/nan-loss", "epsilon",
        "optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)\n",
        "optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, eps=1e-4)\n",
    ),
    "bf16 only through autocast, over float32 weights": (
        "numerics/bf16-weight-updates", "master",
        """import torch
net = torch.nn.Linear(4, 1).bfloat16()
opt = torch.optim.SGD(net.parameters(), lr=1e-4)
for x in batches:
    loss = net(x.bfloat16()).pow(2).mean()
    loss.backward()
    opt.step()
""",
        """import torch
net = torch.nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), lr=1e-4)
for x in batches:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = net(x.float()).pow(2).mean()
    loss.backward()
    opt.step()
""",
    ),
    "bf16 only through the Trainer's autocast": (
        "numerics/bf16-weight-updates", "master",
        'import torch\nmodel = Model.from_pretrained(name, torch_dtype=torch.bfloat16)\nargs = TrainingArguments("out")\n',
        'import torch\nmodel = Model.from_pretrained(name, torch_dtype=torch.float32)\nargs = TrainingArguments("out", bf16=True)\n',
    ),
    "an epsilon that is there": (
        "numerics/nan-loss", "epsilon",
        "optimizer = Adam(params, eps = 1e-8)  # default\n", "optimizer = Adam(params, eps = 1e-4)  # default\n",
    ),
    "attention": (
        "transformers/qwen2-vl-eager-fp16-nan", "sdpa",
        'model = Qwen2VL.from_pretrained(name, attn_implementation="eager").cuda()\ntok = AutoTokenizer.from_pretrained(name)\n',
        'model = Qwen2VL.from_pretrained(name, attn_implementation="sdpa").cuda()\ntok = AutoTokenizer.from_pretrained(name)\n',
    ),
    "a loader that says no dtype": (
        "transformers/qwen2-vl-eager-fp16-nan", "bf16",
        "import torch\nmodel = Qwen2VL.from_pretrained(name)\nprocessor = AutoProcessor.from_pretrained(name)\n",
        "import torch\nmodel = Qwen2VL.from_pretrained(name, torch_dtype=torch.bfloat16)\n"
        "processor = AutoProcessor.from_pretrained(name)\n",
    ),
    "a dtype as a text": (
        "transformers/qwen2-vl-eager-fp16-nan", "bf16",
        'model = Qwen2VL.from_pretrained("float16", torch_dtype="float16")\n',
        'model = Qwen2VL.from_pretrained("float16", torch_dtype="bfloat16")\n',
    ),
    "torch by another name": (
        "transformers/qwen2-vl-eager-fp16-nan", "fp32",
        "import torch as th\nmodel = Qwen2VL.from_pretrained(name, torch_dtype=th.half)\n",
        "import torch as th\nmodel = Qwen2VL.from_pretrained(name, torch_dtype=th.float32)\n",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SOURCES)
def test_the_source_decides(name: str, tmp_path: Path) -> None:
    """The one argument, in the layout that the call has."""
    issue, fix, before, after = SOURCES[name]
    cause = "numerics/underflow-epsilon" if fix == "epsilon" else None
    assert edited(tmp_path, before, issue, fix, cause) == after


#: name -> (issue, fix, source, part of the reason)
REFUSED = {
    "two models": (
        "transformers/qwen2-vl-eager-fp16-nan", "sdpa", "a = A.from_pretrained(x)\nb = B.from_pretrained(y)\n", "2 calls could take",
    ),
    "decided elsewhere": ("numerics/nan-loss", "bf16", "args = TrainingArguments(fp16=args.half)\n", "decided elsewhere"),
    "no optimizer": ("numerics/nan-loss", "epsilon", "x = 1\n", "makes no optimizer"),
    "a dtype from elsewhere": (
        "transformers/qwen2-vl-eager-fp16-nan", "bf16", "m = M.from_pretrained(x, torch_dtype=args.dtype)\n", "not known here",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_the_source_leaves_open_is_refused(name: str, tmp_path: Path) -> None:
    """With the reason."""
    issue, fix, code, why = REFUSED[name]
    cause = "numerics/underflow-epsilon" if fix == "epsilon" else None
    assert why in edited(tmp_path, code, issue, fix, cause)


LOOP = """\
for batch in loader:
    scaler.scale(model(batch)).backward()
    scaler.unscale_(optimizer)  # for clipping
    clip(model)
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
"""


def report(folder: Path, line: int) -> str:
    quoted = (folder / "script.py").read_text().splitlines()[line - 1].strip()
    return (
        f'Traceback (most recent call last):\n  File "{folder}/script.py", line {line}, in <module>\n    {quoted}\n'
        '  File "/v/lib/python3.11/site-packages/torch/amp/grad_scaler.py", line 337, in unscale_\n    raise RuntimeError(\n'
        "RuntimeError: unscale_() has already been called on this optimizer since the last update().\n"
    )


def test_the_second_unscale_of_a_step_goes(tmp_path: Path) -> None:
    """From a saved traceback; with gradients accumulated over batches the loop has to be rewritten by hand."""
    path = tmp_path / "script.py"
    path.write_text(LOOP)
    failure = failure_of(diagnose(report(tmp_path, 5), environment="report"))
    assert failure.issue == "amp/scaler-order"
    plans, _ = plans_for(str(path), failure.fixes, failure)
    wanted = LOOP.replace("    clip(model)\n    scaler.unscale_(optimizer)\n", "    clip(model)\n")
    assert plans[0].files[str(path.resolve())].decode() == wanted
    path.write_text(LOOP.replace("    scaler.unscale_(optimizer)\n", "", 1))
    failure = failure_of(diagnose(report(tmp_path, 3), environment="report"))
    assert "accumulated" in plans_for(str(path), [one for one in failure.fixes if one.id == "once"], failure)[1][0].why


HELPER = """\
from torch import nn

emb = nn.Embedding(10, 4)
head = nn.Linear(4, 2)


def step(ids):
    return emb(ids)


def other(a):
    return head(a)
"""


@pytest.mark.parametrize("case", ["quoted", "moved", "no text", "no text below", "other file", "named", "a file not here"])
def test_a_saved_report_is_no_certain_place(case: str, tmp_path: Path) -> None:
    """A line counts by its text, and a file because the user named it: a report may name any."""
    train, helper = tmp_path / "train.py", tmp_path / "sub" / "helper.py"
    helper.parent.mkdir()
    train.write_text(HELPER)
    helper.write_text(HELPER)
    file = {"other file": helper, "named": helper, "a file not here": "/elsewhere/helper.py"}.get(case, "/elsewhere/train.py")
    first = '  File "/elsewhere/train.py", line 8, in step\n    return emb(ids)\n' if case not in ("no text", "named") else ""
    line, code = 12 if "text" in case or case == "moved" else 8, "" if "text" in case else "    return emb(ids)\n"
    (tmp_path / "error.txt").write_text(
        f'Traceback (most recent call last):\n{first}  File "{file}", line {line}, in other\n{code}'
        '  File "/x/lib/python3.11/site-packages/torch/nn/functional.py", line 2551, in embedding\n'
        "RuntimeError: Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; "
        "but got torch.FloatTensor instead (while checking arguments for embedding)\n"
    )
    script = helper if case == "named" else train
    status = run_fix(
        str(script), (), issue=None, fix=None, report=str(tmp_path / "error.txt"), apply=True, proving=False, timeout=None, format="json",
        kb=(), output=str(tmp_path / "told.json"),
    )  # fmt: skip
    told = json.loads((tmp_path / "told.json").read_text())
    edited = HELPER.replace("emb(ids)", "emb(ids.long())")
    right = case in ("quoted", "moved", "named")
    assert status == (0 if right else 1)
    assert script.read_text() == (edited if right else HELPER)
    assert (train if case == "named" else helper).read_text() == HELPER
    if not right:
        whys = " ".join(one["why"] for one in told["refused"])
        assert ("without its text" if "text" in case else "Name helper.py instead of train.py") in whys


def test_settings_are_read_from_the_line_of_a_fix() -> None:
    """With the remark behind them; what is no setting has none."""
    assert settings("bf16=True, fp16=False  (Ampere or newer)") == {"bf16": "True", "fp16": "False"}
    assert settings("drop --fp16") == {}
