"""Looking at a live exception runs nothing of the user's, touches no device, keeps nothing alive, and ends in time."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import time
import weakref
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from live_failures import IDS, Model  # noqa: E402

from troubleshoot import diagnose  # noqa: E402
from troubleshoot.engine.live import look  # noqa: E402
from troubleshoot.engine.live.objects import Clock, TimeUpError, instance_dict, read_tensor  # noqa: E402

pytestmark = pytest.mark.torch


class Hostile:
    """An object whose every special method fails."""

    def __getattribute__(self, name: str) -> Any:
        raise SystemError(f"__getattribute__({name})")

    __repr__ = __str__ = __bool__ = __len__ = __iter__ = __hash__ = __eq__ = __getitem__ = __call__ = lambda *_: 1 / 0  # type: ignore[assignment]


class HostileModule(torch.nn.Module):
    """A module whose attribute access fails once it is built."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = torch.nn.Linear(8, 8)
        self.armed = True

    def __getattr__(self, name: str) -> Any:
        raise SystemError(name)

    def __repr__(self) -> str:
        raise SystemError("repr")

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hostile = Hostile()
        options = {"hostile": hostile, hostile.__class__ if False else 1: 2}
        assert options
        return instance_dict(self)["_modules"]["inner"](x)


class LoudTensor(torch.Tensor):
    """A tensor whose ``__torch_function__`` must not be called by a reader."""

    calls = 0

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        LoudTensor.calls += 1
        return super().__torch_function__(func, types, args, kwargs or {})


def caught(fail: Any) -> BaseException:
    """Return what ``fail`` raises."""
    try:
        fail()
    except BaseException as error:
        return error
    raise AssertionError("nothing was raised")


def test_special_methods_of_locals_and_modules_are_not_called() -> None:
    """A model whose attribute access raises is still read."""
    seen = look(caught(lambda: HostileModule()(torch.randn(1, 8, dtype=torch.float64))))
    assert seen is not None
    assert seen.blame is not None
    assert seen.blame.module == "inner"


def test_torch_function_is_not_called() -> None:
    """Headers are read below the level at which subclasses dispatch."""
    tensor = torch.randn(2, 8).as_subclass(LoudTensor)
    LoudTensor.calls = 0
    header = read_tensor(tensor)
    assert (header.dtype, header.device, header.shape) == ("float32", "cpu", (2, 8))
    assert LoudTensor.calls == 0


def test_fake_tensors_are_read_without_dispatch() -> None:
    """Their device is what they pretend, their dtype what they have."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        fake = torch.empty(3, dtype=torch.float16)
    header = read_tensor(fake)
    assert (header.dtype, header.device) == ("float16", "cpu")


def test_a_subclass_that_dispatches_is_never_run() -> None:
    """What cannot be read without its code is unknown."""

    class Wrapper(torch.Tensor):
        @staticmethod
        def __new__(cls) -> Any:
            return torch.Tensor._make_wrapper_subclass(cls, (2,), dtype=torch.bfloat16, device="cpu", dispatch_device=True)

        @classmethod
        def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            raise SystemError("dispatched")

    header = read_tensor(Wrapper())
    assert (header.dtype, header.device, header.shape) == ("bfloat16", None, None)


def test_nothing_is_kept_alive() -> None:
    """After the exception is gone, so are its tensors, without the garbage collector."""
    gc.collect()
    gc.disable()
    try:
        model = Model().bfloat16()
        model.layers[1].down.float()
        died = weakref.ref(model.layers[1].down.weight)

        def run(model: Any) -> object:
            try:
                return model(IDS)
            except RuntimeError as error:
                return diagnose(error)

        kept = run(model)
        del model
        # A module is part of no cycle; what is left must be freed by counting references.
        assert died() is None
        assert kept is not None
    finally:
        gc.enable()


def test_a_running_function_can_free_its_locals_afterwards() -> None:
    """Before Python 3.13 a read ``f_locals`` would keep a copy of every local on the frame."""
    big = torch.zeros(4)
    died = weakref.ref(big)
    layer = torch.nn.Linear(4, 4).half()
    try:
        layer(big)
    except RuntimeError as error:
        assert look(error) is not None
    del big
    assert died() is None


def test_a_held_locals_dict_stays_as_it_is() -> None:
    """Somebody else's ``locals()`` is not emptied."""
    big = torch.zeros(4)
    layer = torch.nn.Linear(4, 4).half()
    mine = locals()
    try:
        layer(big)
    except RuntimeError as error:
        look(error)
    assert mine["big"] is big
    assert mine["layer"] is layer


def test_the_clock_ends_a_look_at_a_huge_model() -> None:
    """What was seen until then counts, and the caller gets an answer."""
    with pytest.raises(TimeUpError):
        Clock(-1.0).check()
    model = Model().bfloat16()
    model.layers[1].down.float()
    error = caught(lambda: model(IDS))
    assert look(error, seconds=-1.0) is None or look(error, seconds=-1.0).blame is None  # type: ignore[union-attr]


def test_a_runaway_recursion_is_read() -> None:
    """Only both ends of a traceback with tens of thousands of frames are looked at."""
    limit = sys.getrecursionlimit()

    def recurse(depth: int) -> None:
        if depth == 0:
            torch.nn.Linear(4, 4).half()(torch.zeros(4))
        recurse(depth - 1)

    done: list[object] = []

    def run() -> None:
        sys.setrecursionlimit(60_000)
        started = time.perf_counter()
        error = caught(lambda: recurse(50_000))
        assert started > 0
        done.append(diagnose(error))

    threading.stack_size(512 * 1024 * 1024)
    try:
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(0)
        sys.setrecursionlimit(limit)
    (diagnosis,) = done
    assert diagnosis.verdict in ("known", "likely")  # type: ignore[attr-defined]


def test_torch_is_not_imported() -> None:
    """A program without torch gets its diagnosis without it."""
    code = (
        "import sys, troubleshoot\n"
        "try: raise RuntimeError('expected scalar type Float but found Half')\n"
        "except RuntimeError as error: print(troubleshoot.diagnose(error).verdict, 'torch' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["likely", "False"]


def test_pasted_text_does_not_load_the_live_modules() -> None:
    """Start-up of the command is a contract."""
    code = "import sys, troubleshoot; troubleshoot.diagnose('RuntimeError: x'); print('troubleshoot.engine.live' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_the_module_of_a_huge_model_is_found_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thousands of experts beside the way to the failure: the modules on the way are looked at first."""
    from torch import nn

    class Mixture(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.experts = nn.ModuleList(nn.ModuleList(nn.Linear(2, 2, bias=False) for _ in range(500)) for _ in range(20))
            self.layers = nn.ModuleList(nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4)) for _ in range(10))

        def forward(self, x: Any) -> Any:
            for layer in self.layers:
                x = layer(x)
            return x

    model = Mixture().bfloat16()
    model.layers[9][1].float()
    error = caught(lambda: model(torch.ones(1, 4, dtype=torch.bfloat16)))
    # The time is up after 200 of ten thousand modules, however busy the machine is: only the order counts.
    checks = iter(range(100_000))

    def check(clock: Clock) -> None:
        if next(checks) == 200:
            raise TimeUpError

    monkeypatch.setattr(Clock, "check", check)
    seen = look(error)
    assert next(checks) > 200
    assert seen is not None
    assert seen.modules[-1].path == "layers.9.1"


def test_dtensors_are_read_by_their_local_part(tmp_path: Any) -> None:
    """Sharded parameters dispatch by themselves; their own attributes tell the device."""
    import torch.distributed as dist

    if not dist.is_available():
        pytest.skip("torch without distributed")
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Replicate, distribute_tensor

    dist.init_process_group("gloo", init_method=f"file://{tmp_path}/store", rank=0, world_size=1)
    try:
        header = read_tensor(distribute_tensor(torch.zeros(4, dtype=torch.float16), init_device_mesh("cpu", (1,)), [Replicate()]))
    finally:
        dist.destroy_process_group()
    assert (header.dtype, header.device) == ("float16", "cpu")
