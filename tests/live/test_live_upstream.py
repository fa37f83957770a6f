"""Founding cases live, on the releases of the real packages that had them: tiny random models, each in an environment of its own."""

from __future__ import annotations

import json
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

from troubleshoot.lab.verify.isolated import prepare
from troubleshoot.lab.verify.signals import Stop

pytestmark = [pytest.mark.torch, pytest.mark.slow]

ROOT = Path(__file__).resolve().parents[2]

#: The tool comes last and only once it has failed, so that nothing of this environment is there when the model is built.
PROGRAM = """
import json, sys
{build}
try:
    {call}
except RuntimeError as error:
    sys.path += {paths!r}
    import troubleshoot
    print(json.dumps(troubleshoot.diagnose(error).to_dict()))
"""

BLIP2 = """
import torch
from transformers import Blip2Config, Blip2ForConditionalGeneration, Blip2QFormerConfig, Blip2VisionConfig, OPTConfig
small = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4)
config = Blip2Config.from_vision_qformer_text_configs(
    Blip2VisionConfig(**small, intermediate_size=64, image_size=32, patch_size=8),
    Blip2QFormerConfig(**small, intermediate_size=64, vocab_size=64, encoder_hidden_size=32, cross_attention_frequency=1),
    OPTConfig(vocab_size=64, ffn_dim=64, max_position_embeddings=64, word_embed_proj_dim=32, **small), num_query_tokens=4)
config.image_token_index = 63
Blip2ForConditionalGeneration(config).save_pretrained({folder!r})
model = Blip2ForConditionalGeneration.from_pretrained({folder!r}, torch_dtype=torch.float16)
tokens = torch.tensor([[63, 63, 63, 63, 5, 6]])
pixels = torch.randn(1, 3, 32, 32, dtype=torch.float16)
"""

#: torchvision's wheels are compiled for CUDA; beside a CPU build of torch its operators are declared so that the rest can be imported.
OPEN_CLIP = """
import torch
if torch.version.cuda is None:
    declared = torch.library.Library("torchvision", "DEF")
    for name in ("nms", "qnms"):
        declared.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
import open_clip
with open({folder!r} + "/tiny-clip.json", "w") as file:
    json.dump({
        "embed_dim": 32, "vision_cfg": {"image_size": 32, "layers": 2, "width": 64, "head_width": 16, "patch_size": 8},
        "text_cfg": {"context_length": 16, "vocab_size": 128, "width": 32, "heads": 2, "layers": 2}}, file)
open_clip.add_model_config({folder!r} + "/tiny-clip.json")
model = open_clip.create_model("tiny-clip", precision="fp16")
model.to(torch.float16)
images = torch.randn(2, 3, 32, 32, dtype=torch.float16)
"""


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Environments are made below the test's own folder."""
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.setenv(name, str(tmp_path / "cache"))


def failing(build: str, call: str, wanted: dict[str, str], folder: Path) -> dict[str, Any]:
    """Run a program on released packages and return the diagnosis of what it raised."""
    interpreter = prepare(wanted, Stop())
    program = PROGRAM.format(
        build=build.replace("{folder!r}", repr(str(folder))), call=call, paths=[str(ROOT), sysconfig.get_paths()["purelib"]]
    )
    done = subprocess.run([interpreter.python, "-c", program], capture_output=True, text=True, env=interpreter.environment(), cwd=folder)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_blip2_names_the_query_tokens(tmp_path: Path) -> None:
    """Release 4.50.2 keeps the query tokens in float32, and the Q-Former's LayerNorm in half precision meets them."""
    wanted = {"transformers": "4.50.2", "accelerate": "1.5.2"}
    found = failing(BLIP2, "model(pixel_values=pixels, input_ids=tokens)", wanted, tmp_path)
    assert found["diagnoses"][0]["issue"] == "transformers/blip2-query-tokens-fp32"
    assert found["verdict"] == "known"
    culprit = found["culprit"]
    assert (culprit["module"], culprit["class"]) == ("qformer.layernorm", "LayerNorm")
    assert (culprit["has"], culprit["meets"]) == ("float16", "float32")
    assert "query_tokens" in culprit["why"]


def test_open_clip_names_the_norm_that_was_cast(tmp_path: Path) -> None:
    """A model built for half precision and cast once more: its norms cast their input to float32 and need float32 parameters."""
    found = failing(OPEN_CLIP, "model.encode_image(images)", {"open_clip_torch": "3.3.0"}, tmp_path)
    assert found["diagnoses"][0]["issue"] == "open_clip/layernorm-fp32-cast"
    assert found["diagnoses"][0]["cause"] == "dtype-mismatch/broken-fp32-guard"
    assert found["culprit"]["module"] == "visual.ln_pre"
    assert found["diagnoses"][0]["fixes"][0]["fits"] is not False
