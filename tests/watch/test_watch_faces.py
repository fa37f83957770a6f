"""The report as text, JSON and HTML, the diagnosis, loss scales, wrapped models."""

from __future__ import annotations

import json
import socket
import xml.etree.ElementTree
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from watch_models import TinyT5, ids  # noqa: E402

from troubleshoot.basics.errors import InputError  # noqa: E402
from troubleshoot.lab.watching import Watch, loss_scales, watch  # noqa: E402
from troubleshoot.lab.watching.scales import ScaleHistory  # noqa: E402

pytestmark = pytest.mark.torch


@pytest.fixture(scope="module")
def overflowed() -> Watch:
    """A finished watch of the overflowing model, forward and backward."""
    model = TinyT5().half().eval()
    with watch(model) as watching:
        model(ids()).sum().backward()
    return watching


def test_the_text_names_module_step_and_what_to_do(overflowed: Watch) -> None:
    """The first line is the finding; the proposal is there as code."""
    text = overflowed.report()
    assert text.splitlines()[0] == "First overflow: block.1.feed_forward.wo (Linear), a value in float16, step 0 of 1 step."
    assert "keep_float32(model, ['block.1.feed_forward.wo'])" in text
    assert str(overflowed) == text


def test_the_json_is_strict_and_complete(overflowed: Watch) -> None:
    """NaN and infinities are texts, so that every parser reads it; every range is in it."""
    data = json.loads(overflowed.report("json"), parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    assert data["first"]["value"] in ("inf", "-inf")
    assert len(data["ranges"]) == len(overflowed.ranges)
    assert data["proposal"]["modules"] == ["block.1.feed_forward.wo"]


def test_the_page_has_a_well_formed_chart_with_both_limits_and_loads_nothing(overflowed: Watch) -> None:
    """One SVG, a bar per range, lines at the limits of float16 and bfloat16; no script, no address."""
    page = overflowed.report("html")
    chart = xml.etree.ElementTree.fromstring(page[page.index("<svg") : page.index("</svg>") + 6])
    assert len(chart.findall("g/rect")) == len(overflowed.ranges)
    texts = [one.text for one in chart.iter("text")]
    assert "float16 65504" in texts
    assert any(one is not None and one.startswith("bfloat16 3.3895e+38") for one in texts)
    assert "<script" not in page
    assert "http://" not in page
    assert "https://" not in page


def test_names_in_the_page_are_escaped() -> None:
    """A class name that is markup stays text."""
    cls = type("<b>Odd</b>", (nn.Linear,), {})
    model = nn.Sequential(cls(1, 1))
    with watch(model) as watching:
        model(torch.zeros(1, 1))
    assert "<b>Odd" not in watching.report("html")


def test_another_format_is_refused(overflowed: Watch) -> None:
    """The error names the formats."""
    with pytest.raises(InputError, match="text, json or html"):
        overflowed.report("pdf")


def test_an_overflow_is_diagnosed_without_an_exception(overflowed: Watch) -> None:
    """The engine answers with float16's overflow, and its first fixes are bfloat16 or float32."""
    diagnosis = overflowed.diagnose(environment="report")
    assert diagnosis.verdict == "known"
    assert diagnosis.first is not None
    assert diagnosis.first.cause == "numerics/fp16-overflow"


def test_a_healthy_model_is_not_diagnosed() -> None:
    """Where nothing went wrong, the engine abstains."""
    model = TinyT5(overflowing=()).half().eval()
    with watch(model) as watching:
        model(ids())
    assert watching.diagnose(environment="report").verdict == "unknown"


def test_nan_weights_are_told_from_an_overflow() -> None:
    """A layer whose own weights are NaN is a matter of the checkpoint."""
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2)).half()
    model[1].weight.data[0, 0] = float("nan")
    with watch(model) as watching:
        model(torch.ones(1, 2, dtype=torch.float16))
    diagnosis = watching.diagnose(environment="report")
    assert diagnosis.first is not None
    assert diagnosis.first.cause == "checkpoint/nan-weights"


def test_underflowing_gradients_are_diagnosed() -> None:
    """Subnormal gradients lead to the entry on underflow."""
    model = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 8)).half()
    with watch(model) as watching:
        output = model(torch.randn(4, 8, dtype=torch.float16))
        output.backward(torch.full_like(output, 2e-6))
    diagnosis = watching.diagnose(environment="report")
    assert diagnosis.first is not None
    assert diagnosis.first.cause == "numerics/underflow-epsilon"


def test_nan_in_a_float32_model_is_no_problem_of_precision() -> None:
    """Without half precision it is the data, the learning rate or the model: where it began is told, a cause is not made up."""
    model = nn.Sequential(nn.Linear(1, 1, bias=False), nn.Linear(1, 1, bias=False))
    model[0].weight.data.fill_(3e38)
    with watch(model) as watching:
        model(torch.full((1, 1), 10.0))
    diagnosis = watching.diagnose(environment="report")
    assert diagnosis.first is None
    assert watching.report().splitlines()[0] == "First overflow: 0 (Linear), a value in float32, step 0 of 1 step."


def test_a_grad_scaler_is_followed() -> None:
    """The history holds the scale of every step; gradients that always overflow exhaust it, and that is the diagnosis."""
    model = nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**16)
    with watch(model, scaler=scaler) as watching:
        for _ in range(18):
            optimizer.zero_grad()
            scaler.scale((model(torch.ones(1, 2)) * float("inf")).sum()).backward()
            scaler.step(optimizer)
            scaler.update()
    assert watching.scales.points[0] == (0, 65536.0)
    assert watching.scales.verdict == "exhausted"
    diagnosis = watching.scales.diagnose(environment="report")
    assert diagnosis.first is not None
    assert diagnosis.first.cause == "numerics/loss-scale-exhausted"


LOGS = {
    "apex": ("Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to 32768.0", 32768.0),
    "deepspeed": ("[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 65536, reducing to 16384.0", 16384.0),
    "fairseq": (
        "2024-01-01 | INFO | fairseq.trainer | NOTE: gradient overflow detected, ignoring gradient, setting loss scale to: 64.0",
        64.0,
    ),
    "fairseq-json": ('{"epoch": 1, "loss": "11.6", "loss_scale": "128", "train_wall": "5"}', 128.0),
    "megatron": (" iteration 12/ 500 | lm loss: 9.1E+00 | loss scale: 4294967296.0 | grad norm: 2.1 |", 4294967296.0),
    "guided-diffusion": ("Found NaN, decreased lg_loss_scale to 19.0", 2.0**19),
}


@pytest.mark.parametrize("log", LOGS)
def test_loss_scales_are_read_from_the_logs_of(log: str) -> None:
    """The scale after the step is what counts."""
    line, scale = LOGS[log]
    assert loss_scales(f"something else\n{line}\n").final == scale


def test_what_a_history_says() -> None:
    """Steady, settled and exhausted histories are told apart, and so are their diagnoses."""

    def history(*values: float) -> ScaleHistory:
        return ScaleHistory(tuple(enumerate(values)))

    assert history().verdict == "none"
    assert history(65536, 65536, 131072).verdict == "steady"
    settled = history(65536, 32768, 16384, 16384, 16384)
    assert (settled.verdict, settled.drops) == ("settled", 2)
    assert history(4, 2, 1, 0.5).verdict == "exhausted"
    assert history(8, 8, 4, 2).verdict == "falling"
    first = settled.diagnose(environment="report").first
    assert first is not None
    assert first.cause == "numerics/benign-overflow-skip"


@given(st.lists(st.floats(min_value=1e-6, max_value=1e9), max_size=30))
def test_a_history_counts_what_a_log_of_it_says(values: list[float]) -> None:
    """Written as apex writes it and read again, a history is the same."""
    text = "\n".join(f"Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to {one}" for one in values)
    read = loss_scales(text)
    assert [one for _, one in read.points] == values
    assert read.describe()


@pytest.fixture
def group() -> Iterator[None]:
    """A gloo process group of this process alone."""
    if not torch.distributed.is_available() or not torch.distributed.is_gloo_available():
        pytest.skip("this torch has no gloo")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    torch.distributed.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=0, world_size=1)
    yield
    torch.distributed.destroy_process_group()


def test_under_ddp_modules_go_by_their_own_names(group: None) -> None:
    """The wrapper's `module.` is left out, forward and backward are seen, and the set is verified on the model inside."""
    inner = TinyT5().half().eval()
    model = nn.parallel.DistributedDataParallel(inner)
    with watch(model) as watching:
        model(ids()).sum().backward()
    assert watching.first is not None
    assert watching.first["module"] == "block.1.feed_forward.wo"
    assert any(one.direction == "backward" for one in watching.ranges)
    assert watching.verify(lambda: inner(ids())).modules == ("block.1.feed_forward.wo",)


@pytest.mark.filterwarnings("ignore:FSDP", "ignore:.*NO_SHARD", "ignore:.*deprecated")
@pytest.mark.parametrize("kind", ["fully_shard", "FullyShardedDataParallel"])
def test_under_fsdp_modules_go_by_their_own_names(group: None, kind: str) -> None:
    """Both kinds of FSDP are seen through, forward and backward; a set is verified on a model that is whole, and that is said."""
    fsdp = pytest.importorskip("torch.distributed.fsdp")
    if not hasattr(fsdp, kind):
        pytest.skip(f"this torch has no {kind}")
    model = TinyT5().half().eval()
    if kind == "fully_shard":
        mesh = torch.distributed.device_mesh.init_device_mesh("cpu", (1,))
        for block in model.block:
            fsdp.fully_shard(block, mesh=mesh)
        fsdp.fully_shard(model, mesh=mesh)
    else:
        model = fsdp.FullyShardedDataParallel(model, device_id=torch.device("cpu"))
    with watch(model) as watching:
        model(ids()).sum().backward()
    assert watching.error is None
    assert watching.first is not None
    assert watching.first["module"] == "block.1.feed_forward.wo"
    assert any(one.direction == "backward" for one in watching.ranges)
    with pytest.raises(InputError, match="sharded"):
        watching.verify()


def test_checkpointed_blocks_that_run_again_are_the_same_step() -> None:
    """Recomputation during backward begins no new step, and gradients of the recomputed activations are seen."""

    class Checkpointed(TinyT5):
        def forward(self, ids: torch.Tensor) -> torch.Tensor:
            x = self.shared(ids)
            mask = torch.ones(10, 10, dtype=torch.bool).triu(1)
            for block in self.block:
                x = torch.utils.checkpoint.checkpoint(block, x, mask, use_reentrant=False)
            return self.head(self.final_layer_norm(x))

    model = Checkpointed(overflowing=())
    with watch(model) as watching:
        for _ in range(2):
            model(ids()).sum().backward()
    assert watching.steps == 2
    assert any(one.direction == "backward" and one.module.startswith("block.0") for one in watching.ranges)


def test_a_compiled_model_runs_uncompiled_while_it_is_watched() -> None:
    """Compiled code does not call hooks; watched, the model is run eagerly and its modules are seen."""
    if not hasattr(torch.compiler, "set_stance"):
        pytest.skip("this torch cannot force eager execution")
    inner = TinyT5().half().eval()
    model = torch.compile(inner, backend="eager")
    model(ids())
    with watch(model) as watching:
        model(ids())
    assert watching.first is not None
    assert watching.first["module"] == "block.1.feed_forward.wo"


def test_the_components_of_a_pipeline_are_watched_by_name() -> None:
    """A mapping may hold things that are no modules; each module's call is a step."""
    encoder, decoder = nn.Linear(2, 2).half(), nn.Linear(2, 2).half()
    decoder.weight.data.fill_(6e4)
    with watch({"text_encoder": encoder, "vae": decoder, "scheduler": object()}) as watching:
        decoder(encoder(torch.ones(1, 2, dtype=torch.float16)) + 3)
    assert watching.first is not None
    assert watching.first["module"] == "vae"


def test_something_that_is_no_module_is_refused() -> None:
    """The error says what watch takes."""
    with pytest.raises(InputError, match=r"torch\.nn\.Module"):
        watch(object())


def test_watch_is_public_and_stays_the_function() -> None:
    """Importing the package that holds it does not replace the function."""
    import troubleshoot.lab.watching.session

    assert callable(troubleshoot.watch)
    assert troubleshoot.watch is watch
