"""The module path that is read from a printed traceback, held against the one that a live exception knows.

    python tests/report/module_paths.py [--seeds N] [--misses]

Tiny models with random weights; one submodule at a time is made float64 or float16, at random, until a call fails. Two texts are made of
each failure: as Python 3.11 prints it, and without carets, as older ones do. Models of transformers and diffusers are used where these are
installed.
"""

from __future__ import annotations

import argparse
import importlib.util
import linecache
import random
import re
import sys
import traceback
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from tiny_models import Program, diffusers_models, transformers_models
from torch import nn

from troubleshoot.reading import read_report
from troubleshoot.reading.named import names_of

CARETS = re.compile(r"^ +[~^]+ *\n", re.MULTILINE)
#: A program of which nobody would say that it is a library.
SCRIPT = "/home/me/project/{name}.py"


@dataclass
class Failed:
    """A failure: the printed text, and the names that the module which failed has from the user's objects."""

    model: str
    text: str
    true: set[str]

    @property
    def texts(self) -> dict[str, str]:
        """The same failure as two releases of Python print it."""
        return {"carets": self.text, "bare": CARETS.sub("", self.text)}


@dataclass
class Figures:
    """What came out: ``right`` names the module, ``whole`` all of the way but indexes; the rest is silent or wrong."""

    right: int = 0
    whole: int = 0
    silent: int = 0
    wrong: list[tuple[str, str, Failed]] = field(default_factory=list)
    less: list[tuple[str, str, Failed]] = field(default_factory=list)

    @property
    def count(self) -> int:
        """How many there are."""
        return self.right + self.silent + len(self.wrong)

    @property
    def said(self) -> float:
        """The share for which a path was told."""
        return (self.right + len(self.wrong)) / self.count

    @property
    def held(self) -> float:
        """The share that is right or silent."""
        return 1 - len(self.wrong) / self.count


def read_path(text: str) -> str:
    """Return the module path that is read from a text."""
    report = read_report(text)
    return names_of(report.cause.root, report, {}).place.module if report.cause else ""


def fits(path: str, true: set[str]) -> bool:
    """Tell whether a path is one of the true ones: ``…`` stands for any steps, ``[…]`` for any index, ``self`` for any object."""
    parts = [one or two for one, two in re.findall(r"(\[[^\]]*\])|([^.\[\]]+)", path)]
    pattern = ""
    for number, part in enumerate(parts):
        if part == "…" or (part == "self" and number == 0):
            pattern += r"(?:\.[^.]+)*?"
        elif part == "[…]" or part.startswith("[-"):
            pattern += r"\.[^.]+"
        else:
            pattern += r"\." + re.escape(part.strip("[]\"'"))
    return any(re.fullmatch(pattern, f".{one}") for one in true)


def run(name: str, source: str, namespace: dict[str, Any]) -> BaseException | None:
    """Run a program and return what it raised."""
    file = SCRIPT.format(name=name)
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    try:
        exec(compile(source, file, "exec"), namespace)
    except Exception as error:
        return error
    return None


def true_names(error: BaseException, roots: dict[str, nn.Module]) -> set[str]:
    """Return the names of the innermost module whose ``forward`` was running, from each of the user's objects."""
    leaf = None
    for frame, _ in traceback.walk_tb(error.__traceback__):
        first = frame.f_code.co_varnames[0] if frame.f_code.co_argcount else ""
        one = frame.f_locals.get(first)
        if isinstance(one, nn.Module) and frame.f_code.co_name in ("forward", "_call_impl"):
            leaf = one
    found = set()
    for root, module in roots.items():
        for name, one in module.named_modules(remove_duplicate=False):
            if one is leaf:
                found.add(f"{root}.{name}".rstrip("."))
    return found


def failures(name: str, source: str, namespace: dict[str, Any], roots: dict[str, nn.Module], seed: int, count: int) -> Iterator[Failed]:
    """Change the dtype of one module after another, and yield what fails."""
    chance = random.Random(f"{name} {seed}")
    places = [one for module in roots.values() for one in module.modules() if any(True for _ in one.parameters(recurse=False))]
    for _ in range(count):
        broken = chance.choice(places)
        dtype = chance.choice((torch.float64, torch.float16))
        broken.to(dtype)
        try:
            error = run(name, source, dict(namespace))
        finally:
            broken.to(torch.float32)
        if error is None or "type" not in str(error).lower():
            continue
        true = true_names(error, roots)
        tb = error.__traceback__.tb_next if error.__traceback__ else None
        if true:
            yield Failed(name, "".join(traceback.format_exception(type(error), error, tb)), true)


def measure(found: Iterator[Failed], form: str, figures: Figures) -> None:
    """Count what is read from the texts of one form."""
    for one in found:
        path = read_path(one.texts[form])
        if not path:
            figures.silent += 1
            figures.less.append((form, path, one))
        elif fits(path, one.true):
            figures.right += 1
            figures.whole += "…" not in path.replace("[…]", "")
        else:
            figures.wrong.append((form, path, one))


PLAIN = """
import torch
from torch import nn
import torch.nn.functional as F


class Norm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return F.linear(x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6), torch.diag(self.weight))


class Mlp(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.fc1 = nn.Linear(dim, dim)
        self.act = nn.GELU()
        self.drop = nn.Dropout(0.0)
        self.fc2 = nn.Linear(dim, dim)

    def forward(self, x):
        return self.drop(self.fc2(self.drop(self.act(self.fc1(x)))))


class Attention(nn.Module):
    def __init__(self, dim, heads=2):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.q_norm, self.k_norm = Norm(dim // heads), Norm(dim // heads)
        self.proj = nn.Linear(dim, dim)

    def attend(self, q, k, v):
        q, k = self.q_norm(q), self.k_norm(k)
        return F.scaled_dot_product_attention(q, k, v)

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = self.qkv(x).reshape(b, n, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
        x = self.attend(q, k, v)
        return self.proj(x.transpose(1, 2).reshape(b, n, c))


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attn, self.mlp = Attention(dim), Mlp(dim)

    def forward(self, x):
        x = x + self.attn(self.norm1(x))
        x = x + self.mlp(self.norm2(x))
        return x


class Stem(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.convs = nn.Sequential(nn.Conv2d(3, dim, 3, 2, 1), nn.BatchNorm2d(dim), nn.ReLU(), nn.Conv2d(dim, dim, 3, 2, 1))

    def forward(self, x):
        return self.convs(x).flatten(2).transpose(1, 2)


class Net(nn.Module):
    def __init__(self, dim=16, depth=3):
        super().__init__()
        self.stem = Stem(dim)
        self.blocks = nn.ModuleList(Block(dim) for _ in range(depth))
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(dim, 2, dim, batch_first=True), 2)
        self.heads = nn.ModuleDict({"cls": nn.Linear(dim, 4), "box": nn.Sequential(nn.Linear(dim, dim), nn.Linear(dim, 4))})
        self.norm = nn.LayerNorm(dim)

    def forward_features(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        x, _ = self.rnn(x)
        return self.norm(self.encoder(x))

    def forward_head(self, x, pre_logits: bool = False):
        x = x.mean(1)
        return self.heads["cls"](x), self.heads["box"](x)

    def forward(self, x):
        x = self.forward_features(x)
        return self.forward_head(x)


class Unet(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        pairs = [(nn.Conv2d(dim if i else 3, dim, 3, padding=1), nn.GroupNorm(2, dim)) for i in range(3)]
        self.downs = nn.ModuleList(nn.ModuleList(pair) for pair in pairs)
        self.mid = nn.ModuleDict({"conv": nn.Conv2d(dim, dim, 1)})
        self.out = nn.ConvTranspose2d(dim, 3, 2)

    def forward(self, x):
        for conv, norm in self.downs:
            x = F.silu(norm(conv(x)))
        for name, layer in self.mid.items():
            x = layer(x)
        return self.out(x)


class Trainer:
    def __init__(self, model):
        self.model = model

    def step(self, batch):
        loss = self.compute(batch)
        return loss

    def compute(self, batch):
        out = self.model(batch)
        return out


def evaluate(model, batch):
    with torch.no_grad():
        return model(batch)
"""


def plain_models() -> Iterator[Program]:
    """Yield name, program, its names, and the modules by the user's names of models in the style of timm and of plain programs."""
    for name, call in (
        ("net", "out = model(x)\n"),
        ("unet", "out = model(x)\n"),
        ("evaluate", "print(evaluate(model, x))\n"),
        ("trainer", "trainer = Trainer(model)\nfor _ in range(2):\n    loss = trainer.step(x)\n"),
    ):
        namespace: dict[str, Any] = {"__name__": name}
        error = run(f"{name}_model", PLAIN, namespace)
        assert error is None, error
        model = namespace["Unet" if name == "unet" else "Net"]()
        # A module's training flag decides which of torch's own code runs.
        namespace.update(model=model.train(), x=torch.randn(1, 3, 16, 16))
        roots = {"model": model}
        if name == "trainer":
            roots = {"trainer.model": model, "self.model": model}
        yield name, call, namespace, roots


def figures_of(models: Iterator[Program], seed: int, count: int) -> dict[str, Figures]:
    """Return the figures by the form of the text."""
    found = {"carets": Figures(), "bare": Figures()}
    for name, source, namespace, roots in models:
        failed = list(failures(name, source, namespace, roots, seed, count))
        if not failed:
            print(f"{name}: nothing failed: {run(name, source, dict(namespace))!r}", file=sys.stderr)
        for form, figures in found.items():
            measure(iter(failed), form, figures)
    return found


def main() -> None:
    """Print the figures."""
    options = argparse.ArgumentParser()
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--count", type=int, default=12)
    options.add_argument("--misses", action="store_true")
    given = options.parse_args()
    sources = {"plain": plain_models, "transformers": transformers_models, "diffusers": diffusers_models}
    for source, models in sources.items():
        if source != "plain" and importlib.util.find_spec(source) is None:
            continue
        for form, one in figures_of(models(), given.seed, given.count).items():
            shares = f"right or silent {one.held:.3f}, said {one.said:.3f}, the whole way {one.whole / one.count:.3f}"
            print(f"{source} {form}: {one.count} failures, {shares}")
            if given.misses:
                for kind, missed in (("wrong", one.wrong), ("silent", one.less)):
                    for (path, true), times in Counter((path, min(failed.true)) for _, path, failed in missed).most_common(12):
                        print(f"   {kind} {times}: {path!r} for {true}")


if __name__ == "__main__":
    main()
