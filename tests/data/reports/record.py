"""Record the reports in this directory: real errors of real programs, printed by the real tools.

    python record.py WORKDIR [--only NAME] [--ipython LABEL=PATH ...]

The interpreter that runs this needs torch, ipython, nbconvert, ipykernel, rich, pytest and accelerate. ``--ipython 7.34=/path/to/ipython`` adds recordings of other
IPython releases (which need no torch). Directories and host names are replaced by neutral ones; nothing else is edited. README.md lists the versions.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import socket
import subprocess
import sys
import sysconfig
from pathlib import Path

HERE = Path(__file__).parent

MODEL = '''\
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.proj = nn.Linear(8, 8).half()

    def forward(self, x):
        return self.proj(x)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block(), Block()])

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x


def run():
    model = Model()
    return model(torch.randn(2, 8))
'''

TRAIN = """\
from model import run


def main():
    run()


if __name__ == "__main__":
    main()
"""

CHAINED = """\
from model import run


def main():
    try:
        run()
    except RuntimeError as error:
        try:
            raise ValueError("step 3 failed") from error
        except ValueError:
            raise KeyError("cleanup")


main()
"""

RICH = """\
import sys

from rich.console import Console
from rich.traceback import Traceback

from model import run

width, mode = int(sys.argv[1]), sys.argv[2]
console = Console(width=width, force_terminal=mode == "colour", legacy_windows=mode == "windows", file=sys.stdout, safe_box=True)
if mode == "ascii":
    class Ascii:
        encoding = "ascii"
        def write(self, text): sys.stdout.write(text)
        def flush(self): sys.stdout.flush()
        def isatty(self): return False
    console = Console(width=width, file=Ascii())
try:
    run()
except RuntimeError:
    console.print(Traceback(show_locals=mode == "locals", width=width))
"""

TEST = """\
from model import run


def test_forward():
    run()


def test_shape():
    import torch

    out = torch.zeros(2, dtype=torch.float16)
    assert out.dtype == torch.float32
"""

DIST = """\
import os
import sys
import time

import torch
import torch.distributed as dist
from torch.distributed.elastic.multiprocessing.errors import record

from model import run


def step(kind, rank):
    if kind == "all":
        run()
    if kind == "one":
        if rank == 1:
            time.sleep(0.5)
            run()
        dist.all_reduce(torch.ones(2))
    if kind == "late":
        # Rank 0 prints first, on purpose, but a collective tells it of rank 1's end.
        if rank == 1:
            run()
        dist.barrier()


def main():
    dist.init_process_group("gloo")
    step(sys.argv[1], dist.get_rank())


if len(sys.argv) > 2 and sys.argv[2] == "record":
    main = record(main)

if __name__ == "__main__":
    main()
"""

ACCELERATE = """\
from accelerate import Accelerator

from model import run

accelerator = Accelerator(cpu=True)
run()
"""

SPAWN = """\
import torch.multiprocessing as mp

from model import run


def work(index):
    run()


if __name__ == "__main__":
    mp.spawn(work, nprocs=2)
"""

LOADER = """\
import torch
from torch.utils.data import DataLoader, Dataset

from model import run


class Data(Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        return run()


if __name__ == "__main__":
    for batch in DataLoader(Data(), num_workers=2):
        print(batch)
"""

GROUP = """\
import asyncio

from model import run


async def one():
    run()


async def two():
    raise ValueError("second\\nwith a second line")


async def main():
    async with asyncio.TaskGroup() as group:
        group.create_task(one())
        group.create_task(two())


asyncio.run(main())
"""

COMPILE = """\
import torch


@torch.compile(fullgraph=True, backend="eager")
def f(x):
    y = x.half() + 1
    print("hello", torch._dynamo.graph_break())
    return y


f(torch.ones(2))
"""

STATE = """\
from torch import nn

nn.Linear(4, 4).load_state_dict(nn.Linear(8, 8, bias=False).state_dict())
"""

TQDM_LOG = """\
import logging
import sys

from model import run

logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s", level=logging.INFO)
log = logging.getLogger("trainer")
log.info("loading facebook/opt-1.3b in fp16")
sys.stderr.write("\\r  0%|          | 0/100 [00:00<?, ?it/s]\\r  1%|1         | 1/100 [00:00<00:09, 10.30it/s]")
try:
    run()
except RuntimeError:
    log.exception("step failed")
run()
"""

NOTEBOOK_CELLS = ["from model import run\nx = 1", "def go():\n    y = 2\n    return run()\n\ngo()"]
#: The same error without torch, for releases of IPython in environments of their own.
PLAIN_MODEL = '''\
class Linear:
    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    def forward(self, x):
        raise RuntimeError("mat1 and mat2 must have the same dtype, but got Float and Half")


def run():
    return Linear()(1)
'''


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("workdir", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--ipython", action="append", default=[])
    options = parser.parse_args()
    work = options.workdir.resolve() / "project"
    work.mkdir(parents=True, exist_ok=True)
    sources = {
        "model": MODEL, "train": TRAIN, "chained": CHAINED, "show": RICH, "test_model": TEST, "dist_train": DIST, "accel": ACCELERATE, "spawned": SPAWN, "loader": LOADER,
        "group": GROUP, "compiled": COMPILE, "state": STATE, "logged": TQDM_LOG,
    }  # fmt: skip
    for name, source in sources.items():
        (work / f"{name}.py").write_text(source)
    plain = options.workdir.resolve() / "plain"
    plain.mkdir(exist_ok=True)
    (plain / "model.py").write_text(PLAIN_MODEL)

    def save(name: str, text: str) -> None:
        (HERE / name).write_text(sanitise(text, options.workdir.resolve()), encoding="utf-8", newline="")
        print(name, len(text))

    def record(name: str, command: list[str], stdin: str | None = None, cwd: Path = work, **extra: str) -> None:
        if options.only and options.only not in name:
            return
        environment = {**os.environ, "COLUMNS": "100", "OMP_NUM_THREADS": "1", "PYTHONPATH": str(cwd), **extra}
        done = subprocess.run(
            command, cwd=cwd, env=environment, input=stdin.encode() if stdin else None, stdin=None if stdin else subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300, check=False,
        )  # fmt: skip
        save(name, done.stdout.decode("utf-8", "replace"))

    python = sys.executable
    record("cpython_torch.txt", [python, "train.py"])
    record("cpython_chained.txt", [python, "chained.py"])
    record("cpython_group.txt", [python, "group.py"])
    record("cpython_spawn.txt", [python, "spawned.py"])
    record("cpython_dataloader.txt", [python, "loader.py"])
    record("cpython_dynamo.txt", [python, "compiled.py"])
    record("cpython_state_dict.txt", [python, "state.py"])
    record("cpython_logged.txt", [python, "logged.py"])
    for mode, width in (("plain", 100), ("narrow", 60), ("locals", 100), ("colour", 100), ("windows", 100), ("ascii", 80)):
        record(f"rich_{mode}.txt", [python, "show.py", str(width), mode])
    for style in ("long", "short", "native", "line", "auto"):
        record(f"pytest_{style}.txt", [python, "-m", "pytest", "-p", "no:cacheprovider", f"--tb={style}", "test_model.py"])
    ipython = [python, "-m", "IPython", "--simple-prompt", "--no-banner", "--no-confirm-exit"]
    cells = "from model import run\ndef go(): return run()\n\ngo()\n"
    record("ipython_current.txt", [*ipython, "--colors=nocolor"], stdin=cells)
    record("ipython_current_colour.txt", [*ipython, "--colors=linux"], stdin=cells)
    for spec in options.ipython:
        label, _, path = spec.partition("=")
        record(f"ipython_{label}.txt", [path, "--simple-prompt", "--no-banner", "--no-confirm-exit", "--colors=NoColor"], stdin=cells, cwd=plain)
    if not options.only or options.only in "jupyter_notebook.txt":
        notebook = {
            "cells": [{"cell_type": "code", "id": str(n), "source": cell, "metadata": {}, "outputs": [], "execution_count": None} for n, cell in enumerate(NOTEBOOK_CELLS)],
            "metadata": {"kernelspec": {"name": "python3", "display_name": "p", "language": "python"}}, "nbformat": 4, "nbformat_minor": 5,
        }  # fmt: skip
        (work / "nb.ipynb").write_text(json.dumps(notebook))
        command = [python, "-m", "nbconvert", "--execute", "--allow-errors", "--to", "notebook", "--output", "out.ipynb", "nb.ipynb"]
        subprocess.run(command, cwd=work, check=True, timeout=300)
        ran = json.loads((work / "out.ipynb").read_text())
        (output,) = [one for cell in ran["cells"] for one in cell["outputs"] if one["output_type"] == "error"]
        save("jupyter_notebook.txt", "\n".join(output["traceback"]) + "\n")
    torchrun = [python, "-m", "torch.distributed.run", "--nproc-per-node", "3", "--master-port", str(_free_port())]
    for kind in ("all", "one", "late"):
        record(f"torchrun_{kind}.txt", [*torchrun, "dist_train.py", kind])
        record(f"torchrun_{kind}_record.txt", [*torchrun, "dist_train.py", kind, "record"])
        record(f"torchrun_{kind}_tee.txt", [*torchrun, "--log-dir", str(work / "logs"), "--tee", "3", "dist_train.py", kind])
    record("torchrun_all_local_prefix.txt", [*torchrun, "--log-dir", str(work / "logs"), "--tee", "3", "dist_train.py", "all"],
           TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE="[${role_name}${local_rank}|${rank}]: ")  # fmt: skip
    record("accelerate_launch.txt", [python, "-m", "accelerate.commands.launch", "--cpu", "--num_processes", "2", "--num_machines", "1", "--mixed_precision", "no", "accel.py"])
    record("interleaved.txt", ["bash", "-c", f"for i in 1 2 3 4; do {python} train.py & done; wait"])
    record("prefixed_by_sed.txt", ["bash", "-c", f"for i in 0 1 2; do {python} train.py 2>&1 | sed -u \"s/^/$i: /\" & done; wait"])


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("", 0))
        return int(probe.getsockname()[1])


def sanitise(text: str, work: Path) -> str:
    """Replace the directories and the name of this machine by neutral ones."""
    pairs = [
        (str(work / "project"), "/home/user/project"),
        (str(work / "plain"), "/home/user/project"),
        (str(work), "/home/user"),
        (str(Path(sys.prefix)), "/home/user/venv"),
        (str(Path(sys.base_prefix)), "/usr/local"),
        (sysconfig.get_paths()["purelib"], "/home/user/venv/lib/python3.11/site-packages"),
        (socket.gethostname(), "node01"),
    ]
    import torch

    pairs.insert(0, (str(Path(torch.__file__).parents[1]), "/home/user/venv/lib/python3.11/site-packages"))
    home = str(Path.home())
    for old, new in pairs:
        text = text.replace(old, new)
        if old.startswith(home):
            text = text.replace("~" + old[len(home) :], new)
    text = re.sub(re.escape(home) + r"/\.pyenv/versions/(\d\.\d+)\.\d+", r"/usr/local", text)
    text = re.sub(r"~/\.pyenv/versions/(\d\.\d+)\.\d+", r"/usr/local", text)
    text = re.sub(r"IPython: \w+/(?:plain|project)", "IPython: user/project", text)
    return re.sub(r"/tmp/(torchelastic_|ipykernel_|tmp)\w*", r"/tmp/\1x", text)


if __name__ == "__main__":
    main()
