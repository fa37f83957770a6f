"""The module in which it failed, and its operands, from the frames of a printed traceback; held against live exceptions."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from troubleshoot import diagnose
from troubleshoot.basics.patterns import COMPILED
from troubleshoot.curation.growth import superlinear
from troubleshoot.reading import module_path, operations, read_report
from troubleshoot.reading.calls import read_line
from troubleshoot.reading.named import names_of

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
HERE = "/home/me/train.py"
MODELS = "/usr/lib/python3.10/site-packages/transformers/models/bert/modeling_bert.py"
TORCH = "/usr/lib/python3.10/site-packages/torch"
#: The frames of nn.Module's own call.
CALL = ((f"{TORCH}/nn/modules/module.py", "_call_impl", "return forward_call(*args, **kwargs)"),)
LINEAR = (*CALL, (f"{TORCH}/nn/modules/linear.py", "forward", "return F.linear(input, self.weight, self.bias)"))
SITE = "/usr/lib/python3.10/site-packages"
HOOK = (f"{SITE}/accelerate/hooks.py", "new_forward", "output = module._old_forward(*args, **kwargs)")
DECORATOR = (f"{TORCH}/utils/_contextlib.py", "decorate_context", "return func(*args, **kwargs)")
SEQUENTIAL = (f"{TORCH}/nn/modules/container.py", "forward", "input = module(input)")
CHECKPOINT = (f"{TORCH}/utils/checkpoint.py", "checkpoint", "return CheckpointFunction.apply(function)")
LOADING = (f"{TORCH}/nn/modules/module.py", "load_state_dict", "raise RuntimeError(")
MESSAGE = "RuntimeError: mat1 and mat2 must have the same dtype, but got Float and Half"

SCALAR = "RuntimeError: expected scalar type Float but found Half"
WRITE = "RuntimeError: Index put requires the source and destination dtypes match, got Half for the destination and Float for the source."
SDPA = (
    "RuntimeError: Expected query, key, and value to have the same dtype, but got query.dtype: float key.dtype: c10::Half and "
    "value.dtype: c10::Half instead."
)
DEVICES = "RuntimeError: Expected all tensors to be on the same device, but"
TWO = f"{DEVICES} found at least two devices, cuda:0 and cpu! (when checking argument for argument mat2 in method wrapper_CUDA_mm)"
ONE = f"{DEVICES} got mat2 is on cpu, different from other tensors on cuda:0 (when checking argument in method wrapper_CUDA_bmm)"

Shown = tuple[str, str, str]


def traceback_of(*frames: Shown | str, message: str = MESSAGE) -> str:
    """Return a traceback; a text among the frames stands between them."""
    lines = ["Traceback (most recent call last):"]
    for number, frame in enumerate(frames):
        if isinstance(frame, str):
            lines.append(frame)
        else:
            file, function, code = frame
            lines += [f'  File "{file}", line {number + 10}, in {function}', *(f"    {line}" for line in code.splitlines())]
    return "\n".join([*lines, message])


def path_of(text: str) -> str:
    """Return the module path that is read."""
    report = read_report(text)
    assert report.cause is not None
    return names_of(report.cause.root, report, {}).place.module


def mine(function: str, code: str) -> Shown:
    return (HERE, function, code)


def theirs(function: str, code: str) -> Shown:
    return (MODELS, function, code)


START = mine("<module>", "out = model(**inputs)")


@pytest.mark.parametrize(
    ("path", "frames"),
    [
        (
            "model.encoder.dense",
            (START, *CALL, theirs("forward", "h = self.encoder(x)"), *CALL, theirs("forward", "h = self.dense(h)"), *LINEAR),
        ),
        ("model.layers[0].fc", (START, *CALL, mine("forward", "x = self.layers[0](x)"), *CALL, mine("forward", "x = self.fc(x)"), *LINEAR)),
        ("model.layers[…]", (START, *CALL, mine("forward", "x = self.layers[i](x)"), *LINEAR)),
        ('model.heads["cls"]', (START, *CALL, mine("forward", "return self.heads['cls'](x)"), *LINEAR)),
        # A loop variable: what it goes through is not shown, or it is.
        ("model.….fc", (START, *CALL, mine("forward", "x = layer(x)"), *CALL, mine("forward", "x = self.fc(x)"), *LINEAR)),
        ("model.layers[…]", (START, *CALL, mine("forward", "for layer in self.layers: x = layer(x)"), *LINEAR)),
        ("", (START, *CALL, mine("forward", "for conv, norm in self.pairs: x = norm(x)"), *LINEAR)),
        # Sequential says which loop it is.
        ("model.net[…]", (START, *CALL, mine("forward", "x = self.net(x)"), *CALL, SEQUENTIAL, *LINEAR)),
        # Methods, decorators, super.
        (
            "model.norm",
            (
                mine("<module>", "model.generate(ids)"),
                DECORATOR,
                theirs("generate", "out = self._decode(ids)"),
                theirs("_decode", "h = self.norm(h)"),
                *LINEAR,
            ),
        ),
        (
            "model.fc",
            (
                START,
                *CALL,
                theirs("wrapper", "return func(self, *args, **kwargs)"),
                theirs("forward", "x = super().forward(x)"),
                theirs("forward", "x = self.fc(x)"),
                *LINEAR,
            ),
        ),
        (
            "model.fc",
            (
                START,
                *CALL,
                theirs("forward", "x = chunked(self.feed, 1, x)"),
                theirs("chunked", "return fn(*inputs)"),
                theirs("feed", "x = self.fc(x)"),
                *LINEAR,
            ),
        ),
        # Gradient checkpointing calls what it was handed.
        (
            "model.block.fc",
            (
                START,
                *CALL,
                theirs("forward", "h = checkpoint(self.block.__call__, h)"),
                CHECKPOINT,
                *CALL,
                theirs("forward", "x = self.fc(x)"),
                *LINEAR,
            ),
        ),
        # accelerate's hooks stand in front of a forward.
        ("model.fc", (START, *CALL, HOOK, theirs("forward", "x = self.fc(x)"), *LINEAR)),
        # The user's own functions and classes; a library's own variables.
        (
            "net.fc",
            (
                mine("<module>", "main()"),
                mine("main", "train(args)"),
                mine("train", "loss = net(x)"),
                *CALL,
                mine("forward", "return self.fc(x)"),
                *LINEAR,
            ),
        ),
        (
            "runner.model.fc",
            (mine("<module>", "runner.step(x)"), mine("step", "y = self.model(x)"), *CALL, mine("forward", "return self.fc(x)"), *LINEAR),
        ),
        (
            "self.fc",
            (
                ("/usr/lib/python3.10/site-packages/lightning/call.py", "run", "return hook(batch)"),
                mine("training_step", "y = self.fc(batch)"),
                *LINEAR,
            ),
        ),
        ("….dense", (theirs("forward", "h = self.dense(h)"), *LINEAR)),
        (
            "model.….wte",
            (
                mine("<module>", "model.generate(x)"),
                theirs("generate", "outputs = encoder(x)"),
                *CALL,
                theirs("forward", "x = self.wte(x)"),
                *LINEAR,
            ),
        ),
        # Two calls could be the one, the line is missing, or frames are.
        ("", (START, *CALL, mine("forward", "x = self.fc2(self.fc1(x))"), *LINEAR)),
        ("model.fc1", (START, *CALL, mine("forward", "x = self.drop(self.fc1(x))"), *LINEAR)),
        ("model.….fc", (START, *CALL, mine("forward", ""), *CALL, mine("forward", "x = self.fc(x)"), *LINEAR)),
        ("model.….fc", (START, *CALL, "  ...", mine("forward", "x = self.fc(x)"), *LINEAR)),
        ("", (mine("<module>", "model.train(n_epochs=200)"), LINEAR[-1])),
        ("", (mine("<module>", "model.load_state_dict(state)"), LOADING)),
        # Before Python 3.8 a line may be the one where the arguments of another call end.
        ("", (START, *CALL, ("/usr/lib/python3.7/site-packages/a/b.py", "forward", "self.inner(y))"), *LINEAR)),
        ("model.inner", (START, *CALL, ("/usr/lib/python3.10/site-packages/a/b.py", "forward", "self.inner(y))"), *LINEAR)),
    ],
)
def test_the_path_follows_the_calls(path: str, frames: tuple[Shown | str, ...]) -> None:
    """Right, or less: never something wrong."""
    assert path_of(traceback_of(*frames)) == path


def test_carets_tell_which_call_it_was() -> None:
    """As Python 3.11 prints them: an unmarked line is meant as a whole."""
    code = "x = self.fc2(self.fc1(x))\n             ^^^^^^^^^^^"
    assert path_of(traceback_of(START, *CALL, mine("forward", code), *LINEAR)) == "model.fc1"
    code = "x = self.fc2(self.fc1(x))\n    ^^^^^^^^^^^^^^^^^^^^^"
    assert path_of(traceback_of(START, *CALL, mine("forward", code), *LINEAR)) == "model.fc2"
    marked = mine("forward", "y = self.block(x)\n    ^^^^^^^^^^^^^")
    assert path_of(traceback_of(START, *CALL, marked, *CALL, mine("forward", "self.fc2(self.fc1(x))"), *LINEAR)) == "model.block.fc2"


def test_a_notebook_shows_the_loop() -> None:
    """The lines around the one that ran are code too."""
    called = (
        f"File {TORCH}/nn/modules/module.py:1739, in Module._call_impl(self, *args, **kwargs)\n"
        "   1738     return forward_call(*args, **kwargs)\n-> 1739 return self._call_impl(*args, **kwargs)\n\n"
    )
    text = (
        "RuntimeError                              Traceback (most recent call last)\n"
        "Cell In[3], line 1\n----> 1 out = model(x)\n\n"
        f"{called}"
        "Cell In[2], line 8, in Net.forward(self, x)\n      6 def forward(self, x):\n      7     for i, block in enumerate(self.blocks):\n"
        f"----> 8         x = block(x)\n      9     return x\n\n{called}"
        f"File {TORCH}/nn/modules/linear.py:125, in Linear.forward(self, input)\n"
        f"--> 125 return F.linear(input, self.weight, self.bias)\n\n{MESSAGE}\n"
    )
    assert path_of(text) == "model.blocks[…]"


def test_the_example_of_the_front_page() -> None:
    """Line, module, operation and operands, in Python and in JSON."""
    found = diagnose(EXAMPLES / "blip2-half.txt", environment="report")
    assert found.place.module == "model.qformer.layernorm"
    assert found.place.operation == "layer_norm"
    assert found.place.user is not None
    assert (found.place.user.file, found.place.user.line, found.place.user.code) == ("caption.py", 14, "out = model.generate(**inputs)")
    assert found.place.library is not None
    assert found.place.library.file == "transformers/models/blip_2/modeling_blip_2.py"
    assert [(one.name, one.role, one.dtype) for one in found.operands] == [
        ("query_embeds", "input", "float32"),
        ("model.qformer.layernorm.weight", "weight", "float16"),
    ]
    data = found.to_dict()
    assert data["place"]["module"] == "model.qformer.layernorm"
    assert data["operands"][0] == {"name": "query_embeds", "role": "input", "dtype": "float32", "device": ""}


@pytest.mark.parametrize(
    ("code", "message", "operands"),
    [
        ("h = F.linear(x, self.w)", MESSAGE, [("x", "input", "float32", ""), ("model.w", "weight", "float16", "")]),
        (
            "h = (attn @ v).transpose(1, 2)",
            SCALAR,
            [("attn", "input", "float32", ""), ("v", "other", "float16", "")],
        ),
        (
            "x[mask] = new",
            WRITE,
            [("x", "input", "float16", ""), ("new", "values", "float32", "")],
        ),
        (
            "h = F.linear(x, self.w)",
            TWO,
            [("x", "input", "", "cuda:0"), ("model.w", "weight", "", "cpu")],
        ),
        (
            "h = torch.bmm(q, k)",
            ONE,
            [("q", "input", "", "cuda:0"), ("k", "mat2", "", "cpu")],
        ),
        (
            "a = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)",
            SDPA,
            [("q", "query", "float32", ""), ("k", "key", "float16", ""), ("v", "value", "float16", "")],
        ),
        # Which of the two is float32 depends on how the linear layer was computed: names only.
        (
            "h = F.linear(x, self.w)",
            SCALAR,
            [("x", "input", "", ""), ("model.w", "weight", "", "")],
        ),
        ("h = foo(x)", "RuntimeError: CUDA out of memory.", []),
    ],
)
def test_operands_have_the_names_of_the_code(code: str, message: str, operands: list[tuple[str, ...]]) -> None:
    """The order of the arguments says which dtype or device is whose."""
    found = diagnose(traceback_of(START, *CALL, mine("forward", code), message=message), environment="report")
    assert [(one.name, one.role, one.dtype, one.device) for one in found.operands] == operands


@given(st.text(alphabet="ab.()[]'\"\\,=@ #*0…\n", max_size=600))
@settings(max_examples=150, deadline=None)
def test_no_line_of_code_breaks_the_reader(code: str) -> None:
    """Whatever somebody pasted."""
    line = read_line(code)
    assert all(call.start <= call.open for call in line.calls)
    assert all(isinstance(call.arguments, list) for call in line.calls)
    diagnose(traceback_of(mine("forward", code.replace("\n", " ") or "x"), *LINEAR), environment="report").to_dict()


def test_a_long_line_and_a_deep_traceback_take_no_time() -> None:
    """A line is read up to a limit; a runaway recursion is no module path."""
    began = time.process_time()
    assert len(read_line("self.a(" * 100_000).calls) < 100
    assert path_of(traceback_of(*[mine("f", "return self.f(x)")] * 900, *LINEAR)) == ""
    assert time.process_time() - began < 2


def test_the_patterns_are_linear() -> None:
    """They run over what a stranger pasted."""
    own = [one for module in (module_path, operations) for one in vars(module).values() if one in COMPILED.values()]
    searched = {id(compiled): search for (_, _, search), compiled in COMPILED.items()}
    assert len(own) > 5
    assert [str(growth) for one in own if (growth := superlinear(one, searched[id(one)]))] == []


# Against live exceptions --------------------------------------------------------------------------------------------------------------


def test_paths_of_plain_models_are_those_of_the_live_exception() -> None:
    """Models in the style of timm and of plain programs; one submodule at a time has another dtype."""
    pytest.importorskip("torch")
    from module_paths import figures_of, plain_models

    found = figures_of(plain_models(), seed=0, count=6)
    for figures in found.values():
        assert figures.count >= 15
        assert figures.held == 1
    assert found["carets"].said >= 0.6


@pytest.fixture
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look as long as it takes: a busy machine takes longer than the limit."""
    monkeypatch.setattr("troubleshoot.engine.live.looking.LIMIT", 10.0)


def live(source: str) -> tuple[Any, Any]:
    """Run a program that fails; return the diagnosis of its exception, and that of what Python would have printed."""
    import traceback

    import torch
    from module_paths import PLAIN, run

    namespace: dict[str, Any] = {"__name__": "plain"}
    assert run("plain", PLAIN, namespace) is None
    error = run("live", f"import torch\nimport torch.nn.functional as F\n{source}", {**namespace, "torch": torch})
    assert error is not None
    assert error.__traceback__ is not None
    text = "".join(traceback.format_exception(type(error), error, error.__traceback__.tb_next))
    return diagnose(error, environment="report"), diagnose(text, environment="report")


@pytest.mark.usefixtures("unhurried")
def test_a_live_exception_knows_the_index() -> None:
    """The rest is as in the text."""
    pytest.importorskip("torch")
    known, read = live("model = Net()\nmodel.blocks[1].mlp.fc2.half()\nmodel(torch.randn(1, 3, 16, 16))\n")
    assert known.place.module == "model.blocks[1].mlp.fc2"
    assert read.place.module == "model.….mlp.fc2"
    assert known.place.user == read.place.user or known.place.user.code == read.place.user.code
    dtypes = {one.role: one.dtype for one in known.operands}
    assert (dtypes["input"], dtypes["weight"]) == ("float32", "float16")
    assert {one.role: one.dtype for one in read.operands} == {"input": "float32", "weight": "float16"}
    assert {one.role: one.name for one in known.operands}["weight"] == "model.blocks[1].mlp.fc2.weight"


@pytest.mark.usefixtures("unhurried")
@pytest.mark.parametrize(
    "code",
    [
        "F.linear(x, w.half())",
        "F.linear(x, w.half(), b.half())",
        "x.half() @ w",
        "torch.matmul(x3.double(), x3)",
        "torch.bmm(x3, x3.half())",
        "F.conv1d(x3, k.half())",
        "F.conv1d(x3.half(), k, b3)",
        "F.grid_sample(img, grid.half())",
        "F.scaled_dot_product_attention(x3, x3.half(), x3.half())",
        "x[m] = y.half()",
    ],
)
def test_dtypes_are_told_of_the_right_operands(code: str) -> None:
    """Every order that the message has, on the CPU."""
    torch = pytest.importorskip("torch")
    names = (
        "x, w, b, x3, k, b3 = map(torch.randn, ((4, 4), (4, 4), (4,), (2, 4, 4), (4, 4, 1), (4,)))\n"
        "img, grid, m, y = torch.randn(1, 1, 4, 4), torch.randn(1, 2, 2, 2), torch.tensor([0]), torch.randn(1, 4)\n"
    )
    _, read = live(f"{names}{code}\n")
    namespace: dict[str, Any] = {"torch": torch}
    exec(names, namespace)
    told = [one for one in read.operands if one.dtype]
    assert len(told) >= 2
    assert all(one.name for one in told)
    for one in told:
        assert one.dtype == str(eval(one.name, namespace).dtype).removeprefix("torch."), one


@pytest.mark.slow
@pytest.mark.parametrize("library", ["transformers", "diffusers"])
def test_paths_of_libraries_are_those_of_the_live_exception(library: str) -> None:
    """Right or silent in 95 of 100, and said in 60: as Python 3.11 prints it, and without its carets."""
    pytest.importorskip(library)
    import tiny_models
    from module_paths import figures_of

    for figures in figures_of(getattr(tiny_models, f"{library}_models")(), seed=0, count=10).values():
        assert figures.count >= 50
        assert figures.held >= 0.95, [(path, sorted(failed.true)) for _, path, failed in figures.wrong]
        assert figures.said >= 0.6
