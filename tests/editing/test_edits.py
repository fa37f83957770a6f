"""Edits of real programs: the failure is raised, the diff is the one that somebody would write, and the edited program runs."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("libcst")

from programs_to_edit import changed, fail, plan, refusals, repaired  # noqa: E402

from troubleshoot.lab.editing.planning import plans_for  # noqa: E402

pytestmark = pytest.mark.torch

HEAD = "import torch\nfrom torch import nn\n"


def write(folder: Path, code: str, name: str = "script.py") -> Path:
    path = folder / name
    path.write_text(HEAD + dedent(code), encoding="utf-8")
    return path


#: name -> (program, what the diff removes and adds)
PROGRAMS: dict[str, tuple[str, list[str]]] = {
    "the input is cast at the call, relative to the layer's weight": (
        """
        model = nn.Linear(4, 2).bfloat16()
        features = torch.randn(3, 4)
        out = model(features)  # the call
        """,
        ["-out = model(features)  # the call", "+out = model(features.to(model.weight.dtype))  # the call"],
    ),
    "an input moved to a device gets a dtype there": (
        """
        device = "cpu"
        model = nn.Sequential(nn.Linear(4, 2)).bfloat16().to(device)
        batch = torch.randn(3, 4)
        features = batch.to(device)
        out = model(features)
        """,
        ["-features = batch.to(device)", "+features = batch.to(device, torch.bfloat16)"],
    ),
    "a name that holds the dtype is used": (
        """
        dtype = torch.bfloat16
        model = nn.Sequential(nn.Linear(4, 2)).to(dtype)
        features = torch.randn(3, 4)
        out = model(features)
        """,
        ["-out = model(features)", "+out = model(features.to(dtype))"],
    ),
    "float64 from NumPy becomes float32 where the tensor is made": (
        """
        import numpy as np
        model = nn.Linear(4, 2)
        features = torch.from_numpy(np.ones((3, 4)))
        print(features.shape)
        out = model(features)
        """,
        ["-features = torch.from_numpy(np.ones((3, 4)))", "+features = torch.from_numpy(np.ones((3, 4))).float()"],
    ),
    "an item of a dictionary is cast before the call": (
        """
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(4, 2)

            def forward(self, pixel_values, labels=None):
                return self.fc(pixel_values)

        model = Model().bfloat16()
        inputs = {"pixel_values": torch.randn(3, 4), "labels": torch.tensor([1])}
        out = model(**inputs)
        """,
        ['+inputs["pixel_values"] = inputs["pixel_values"].to(torch.bfloat16)'],
    ),
    "a processor's features are cast where they are moved": (
        """
        class BatchFeature(dict):
            def to(self, *args):
                return BatchFeature({k: v.to(*args) if v.is_floating_point() else v.to(args[0]) for k, v in self.items()})

        def processor(images):
            return BatchFeature(pixel_values=images, input_ids=torch.tensor([1]))

        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(4, 2)

            def forward(self, pixel_values, input_ids):
                return self.fc(pixel_values)

        model = Model().bfloat16()
        inputs = processor(torch.randn(3, 4)).to("cpu")
        out = model(**inputs)
        """,
        ['-inputs = processor(torch.randn(3, 4)).to("cpu")', '+inputs = processor(torch.randn(3, 4)).to("cpu", torch.bfloat16)'],
    ),
    "a part left in float32 is cast after it is put in": (
        """
        model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2)).bfloat16()
        # a new head
        model[1] = nn.Linear(4, 3)

        out = model(torch.randn(2, 4).bfloat16())
        """,
        ["+model[1].to(torch.bfloat16)"],
    ),
    "the model comes into the function as a parameter": (
        """
        def build():
            net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2)).bfloat16()
            net[1].float()
            return net

        def step(model, x):
            return model(x)

        def main():
            network = build()
            for _ in range(2):
                out = step(network, torch.randn(2, 4).bfloat16())

        main()
        """,
        ["+    network[1].to(torch.bfloat16)"],
    ),
    "the model is an attribute of self": (
        """
        class Trainer:
            def __init__(self):
                self.model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2)).bfloat16()
                self.model[1].float()

            def step(self, x):
                return self.model(x)

        Trainer().step(torch.randn(2, 4).bfloat16())
        """,
        ["+        self.model[1].to(torch.bfloat16)"],
    ),
    "a value written into a buffer": (
        """
        cache = torch.zeros(4, 8, dtype=torch.bfloat16)
        keys = torch.randn(2, 8)
        index = torch.tensor([0, 1])
        cache[index] = keys
        """,
        ["-cache[index] = keys", "+cache[index] = keys.to(cache.dtype)"],
    ),
    "activations that code on the way promotes": (
        """
        class Block(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(4, 4)
                self.proj = nn.Linear(4, 2)

            def forward(self, x):
                scores = self.fc(x).float().softmax(-1)
                return self.proj(scores)

        model = Block().bfloat16()
        out = model(torch.randn(2, 4).bfloat16())
        """,
        ["-        return self.proj(scores)", "+        return self.proj(scores.to(self.proj.weight.dtype))"],
    ),
    "an array of NumPy": (
        """
        import numpy as np
        out = np.asarray(torch.ones(3, dtype=torch.bfloat16))
        values = [one.detach().numpy() for one in torch.ones(2, 3, dtype=torch.bfloat16)]
        """,
        ["-out = np.asarray(torch.ones(3, dtype=torch.bfloat16))", "+out = np.asarray(torch.ones(3, dtype=torch.bfloat16).float())"],
    ),
}


@pytest.mark.parametrize("name", [one for one in PROGRAMS if one != "an array of NumPy"])
def test_the_first_edit_is_minimal_and_works(name: str, tmp_path: Path) -> None:
    """Only these lines change, comments stay, and the edited program runs to its end."""
    code, expected = PROGRAMS[name]
    path = write(tmp_path, code)
    made = plan(path, fail(path))
    assert changed(made) == expected
    repaired(path, made)


def test_numpy_gets_float32(tmp_path: Path) -> None:
    """``asarray`` of a bfloat16 tensor, the failing one of two."""
    code, expected = PROGRAMS["an array of NumPy"]
    path = write(tmp_path, code)
    assert changed(plan(path, fail(path))) == expected


def test_float32_takes_back_the_cast_and_leaves_comparisons(tmp_path: Path) -> None:
    """Every request for a half dtype changes; a comparison, a key and the dtype of autocast do not."""
    path = write(
        tmp_path,
        """
        NAMES = {torch.float16: "half"}
        dtype = torch.float16
        model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4)).to(dtype)
        if dtype == torch.float16:
            print(NAMES[dtype])
        model[1].float()
        with torch.autocast("cpu", dtype=torch.float16, enabled=False):
            out = model(torch.randn(2, 4).half())
        """,
    )
    made = plan(path, fail(path), "use-fp32")
    assert changed(made) == [
        "-dtype = torch.float16",
        "+dtype = torch.float32",
        "-    out = model(torch.randn(2, 4).half())",
        "+    out = model(torch.randn(2, 4))",
    ]


def test_autocast_joins_the_with_that_is_there(tmp_path: Path) -> None:
    """A ``with`` of one statement gets an item more; elsewhere the statement is wrapped, its comment included."""
    for before, after in (
        (["with torch.no_grad():", "    out = model(x)  # one"], ['with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):']),
        (["# run it", "out = model(x)  # one"], ['with torch.autocast("cpu", dtype=torch.bfloat16):', "    out = model(x)  # one"]),
    ):
        lines = ["model = nn.Linear(4, 2)", "x = torch.randn(2, 4).bfloat16()", *before]
        path = write(tmp_path, "\n" + "\n".join(lines) + "\n")
        made = plan(path, fail(path), "enable-autocast")
        assert [line[1:] for line in changed(made) if line.startswith("+")] == after
        repaired(path, made)


def test_two_casts_of_one_name_become_one_line(tmp_path: Path) -> None:
    """A value that is used twice in the failing statement is cast once, before it."""
    path = write(
        tmp_path,
        """
        model = nn.Bilinear(4, 4, 2).bfloat16()
        x = torch.randn(3, 4)
        out = model(x, x)
        """,
    )
    made = plan(path, fail(path))
    assert changed(made) == ["+x = x.to(torch.bfloat16)"]
    repaired(path, made)


def test_formatting_encoding_and_line_ends_stay(tmp_path: Path) -> None:
    """Windows line ends, a byte order mark, tabs, an encoding cookie: every other byte is as it was."""
    code = "model = nn.Sequential(nn.Linear( 4,2 )).bfloat16()   # {}\nif True:\n\tx = torch.randn(3,4);  y = 1\n\tout = model( x )\n"
    variants = {
        "crlf": (HEAD + code.format("Grösse")).replace("\n", "\r\n").encode("utf-8"),
        "bom": b"\xef\xbb\xbf" + (HEAD + code.format("Grösse")).encode("utf-8"),
        "latin-1": ("# -*- coding: latin-1 -*-\n" + HEAD + code.format("Grösse")).encode("latin-1"),
        "no newline at the end": (HEAD + code.format("é")).encode("utf-8").rstrip(b"\n"),
    }
    for name, data in variants.items():
        path = tmp_path / f"{name.replace(' ', '_')}.py"
        path.write_bytes(data)
        made = plan(path, fail(path))
        after = made.files[str(path.resolve())]
        assert after == data.replace(b"model( x )", b"model( x.to(torch.bfloat16) )")
        repaired(path, made)


def test_torch_is_imported_where_it_is_missing(tmp_path: Path) -> None:
    """A file that never said torch gets the import, below its docstring and ``__future__``."""
    (tmp_path / "parts.py").write_text(
        HEAD + "def load():\n    model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2)).bfloat16()\n"
        "    model[1].float()\n    return model\n"
        "def batch():\n    return torch.randn(2, 4).bfloat16()\n"
    )
    path = tmp_path / "script.py"
    code = '"""Docs."""\n\nfrom __future__ import annotations\n\nimport parts\n\nmodel = parts.load()\nout = model(parts.batch())\n'
    path.write_text(code)
    made = plan(path, fail(path))
    after = made.files[str(path.resolve())].decode()
    assert after.index("__future__") < after.index("import torch") < after.index("model[1].to(torch.bfloat16)")
    repaired(path, made)


def test_the_failing_line_may_lie_in_a_module_beside_the_script(tmp_path: Path) -> None:
    """The program's own modules are edited too."""
    (tmp_path / "nets.py").write_text(
        HEAD + dedent(
            """
            class Block(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.proj = nn.Linear(4, 2)

                def forward(self, x):
                    return self.proj(x.float())  # stable
            """
        )
    )
    path = tmp_path / "script.py"
    path.write_text("import torch\nimport nets\nmodel = nets.Block().bfloat16()\nout = model(torch.randn(2, 4).bfloat16())\n")
    failure = fail(path)
    made = plan(path, failure, "cast-activations") if any(one.id == "cast-activations" for one in failure.fixes) else plan(path, failure)
    assert list(made.files) == [str((tmp_path / "nets.py").resolve())]
    assert changed(made)[1] == "+        return self.proj(x.float().to(self.proj.weight.dtype))  # stable"


REFUSED: dict[str, tuple[str, str, str]] = {
    "the object is made in the call": (
        """
        def step(model, x):
            return model(x)

        step(nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2)).bfloat16(), torch.randn(2, 4))
        """,
        "cast-model",
        "made in the call itself",
    ),
    "the block stands on the line of its header": (
        """
        model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2)).bfloat16()
        model[1].float()
        x = torch.randn(2, 4).bfloat16()
        if True: out = model(x)
        """,
        "enable-autocast",
        "header of a block",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_certain_is_refused(name: str, tmp_path: Path) -> None:
    """With the reason, and without an edit in a wrong place."""
    code, fix, why = REFUSED[name]
    path = write(tmp_path, code)
    failure = fail(path)
    assert why in refusals(path, failure, fix)[0].why


@pytest.mark.parametrize(
    ("folder", "why"),
    [("site-packages/nets", "installed package"), ("modules/transformers_modules/org/nets", "pin a revision")],
)
def test_code_that_is_not_the_users_is_never_edited(folder: str, why: str, tmp_path: Path) -> None:
    """The failing line lies in an installed package, or in a model's remote code: no edit there, and it says what to do instead."""
    library = tmp_path / folder
    library.mkdir(parents=True)
    (library / "nets.py").write_text(
        HEAD + "class Block(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.fc = nn.Linear(4, 4)\n"
        "        self.proj = nn.Linear(4, 2)\n    def forward(self, x):\n        return self.proj(self.fc(x).float().softmax(-1))\n"
    )
    path = write(
        tmp_path,
        f"""
        import sys
        sys.path.insert(0, {str(library)!r})
        sys.modules.pop("nets", None)
        import nets
        model = nets.Block().bfloat16()
        out = model(torch.randn(3, 4).bfloat16())
        """,
    )
    failure = fail(path)
    plans, refused = plans_for(str(path), failure.fixes, failure)
    assert all(list(one.files) == [str(path.resolve())] for one in plans)
    assert any(why in one.why for one in refused if one.fix.kind == "cast-activations"), refused


def test_every_fix_of_every_program_leaves_valid_python(tmp_path: Path) -> None:
    """Whatever edit is offered, it can be compiled, and it leaves most lines alone."""
    count = 0
    for number, (code, _) in enumerate(PROGRAMS.values()):
        path = write(tmp_path, code, f"script{number}.py")
        failure = fail(path)
        plans, _ = plans_for(str(path), failure.fixes, failure)
        for one in plans:
            for file, after in one.files.items():
                compile(after, file, "exec")
            assert len(changed(one)) <= 8
            count += 1
    assert count > len(PROGRAMS)
