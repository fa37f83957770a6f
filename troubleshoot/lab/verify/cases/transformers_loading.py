"""How transformers takes a dtype: by what name, from what value, and what it does with it."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

from troubleshoot.lab.verify.outcomes import Program, Setting
from troubleshoot.lab.verify.registry import case

_INSTALLS = {"transformers": "4.57.6", "accelerate": "1.5.2"}


def _tiny(folder: Path, dtype: Any = None) -> Path:
    """Save a tiny random OPT once, in a dtype, and return its folder."""
    import torch
    from transformers import OPTConfig, OPTForCausalLM

    place = folder / f"opt-{str(dtype or torch.float32).removeprefix('torch.')}"
    if not (place / "config.json").is_file():
        config = OPTConfig(
            vocab_size=64, hidden_size=32, num_hidden_layers=1, num_attention_heads=4, ffn_dim=64, max_position_embeddings=64,
            word_embed_proj_dim=32, dropout=0.0, attention_dropout=0.0, bos_token_id=2, eos_token_id=2, pad_token_id=1,
        )  # fmt: skip
        torch.manual_seed(1)
        OPTForCausalLM(config).to(dtype or torch.float32).save_pretrained(place)
    return place


def _logits(model: Any, inputs: dict[str, Any]) -> Any:
    import torch

    with torch.no_grad():
        return model(**inputs).logits


def _ids(setting: Setting) -> dict[str, Any]:
    import torch

    return {"input_ids": torch.randint(3, 60, (2, 6), generator=torch.Generator().manual_seed(2)).to(setting.device)}


@case(
    issues=("checkpoint/dtype-argument-renamed",),
    tier="upstream",
    dtypes=("bfloat16", "float16"),
    present={"transformers": ""},
    installs={"transformers": "4.55.4", "accelerate": "1.5.2"},
    plays=("old-name", "cast-after"),
    facts={"model": "OPTForCausalLM"},
    seconds=6.0,
)
def dtype_by_its_new_name(setting: Setting) -> Program:
    """The model is loaded with dtype= on a release that knows torch_dtype= only."""
    from transformers import OPTForCausalLM

    place = _tiny(setting.folder)
    if setting.variant == "old-name" or not setting.faulty:
        model = OPTForCausalLM.from_pretrained(place, torch_dtype=setting.dtype)
    elif setting.variant == "cast-after":
        model = OPTForCausalLM.from_pretrained(place)
    else:
        model = OPTForCausalLM.from_pretrained(place, dtype=setting.dtype)
    return Program(model.eval().to(setting.device), _ids(setting), _logits)


@case(
    issues=("checkpoint/dtype-argument-invalid",),
    tier="upstream",
    present={"transformers": ""},
    installs=_INSTALLS,
    plays=("real-dtype",),
    seconds=6.0,
)
def dtype_by_a_short_name(setting: Setting) -> Program:
    """torch_dtype is given as "fp16", which is no name of a dtype."""
    from transformers import OPTForCausalLM

    given: Any = "fp16" if setting.shows("real-dtype") else setting.dtype
    model = OPTForCausalLM.from_pretrained(_tiny(setting.folder), torch_dtype=given)
    return Program(model.eval().to(setting.device), _ids(setting), _logits)


@case(
    issues=("checkpoint/dtype-not-json",),
    tier="upstream",
    present={"transformers": ""},
    installs=_INSTALLS,
    plays=("as-string",),
    unplayable={"upgrade": "converts the configs of the library; this dict is the user's own, which 5.23.0 refuses as well"},
    seconds=6.0,
)
def dtype_inside_a_nested_dict(setting: Setting) -> Program:
    """A config holds a torch.dtype in a nested dict of the user's, and is saved."""
    from transformers import OPTConfig, OPTForCausalLM

    place = _tiny(setting.folder)
    model = OPTForCausalLM.from_pretrained(place).to(setting.dtype).eval()
    config = OPTConfig.from_pretrained(place)
    config.trainer_settings = {"compute": {"torch_dtype": setting.dtype if setting.shows("as-string") else setting.name}}

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        config.save_pretrained(setting.folder / "saved")
        return _logits(model, inputs)

    return Program(model.to(setting.device), _ids(setting), call)


@case(
    issues=("checkpoint/loaded-as-float32",),
    tier="upstream",
    dtypes=("bfloat16", "float16"),
    present={"transformers": ""},
    installs=_INSTALLS,
    plays=("state-dtype",),
    unplayable={"install-accelerate": "it is installed", "cast-before-saving": "is about how the checkpoint was made"},
    symptom="from_pretrained loads the model in float32 although the checkpoint is in bfloat16.",
    seconds=6.0,
)
def checkpoint_dtype_not_kept(setting: Setting) -> Program:
    """A half-precision checkpoint is loaded without naming a dtype."""
    import torch
    from transformers import OPTForCausalLM

    place = _tiny(setting.folder, setting.dtype if setting.faulty else None)
    if setting.faulty:
        # The same weights as the reference's, rounded.
        _tiny(setting.folder, setting.dtype)
    more = {} if setting.shows("state-dtype") else {"torch_dtype": "auto"}
    model = OPTForCausalLM.from_pretrained(place, **more)

    def check(model: Any, _output: Any) -> str | None:
        held = next(model.parameters()).dtype
        return f"the checkpoint is {setting.name}, the model {held}" if held == torch.float32 and setting.name != "float32" else None

    return Program(model.eval().to(setting.device), _ids(setting), _logits, check)


@case(
    issues=("transformers/processor-float32-inputs",),
    tier="upstream",
    present={"transformers": ">=4.30"},
    installs=_INSTALLS,
    plays=("cast-inputs",),
    unplayable={"use-pipeline": "needs a tokenizer and a feature extractor, of which a tiny random model has none"},
    facts={"model": "WhisperForConditionalGeneration"},
    seconds=6.0,
)
def whisper_float32_features(setting: Setting) -> Program:
    """The feature extractor's float32 log-mel spectrogram goes into a half-precision Whisper."""
    import torch
    from transformers import WhisperConfig, WhisperForConditionalGeneration

    place = setting.folder / "whisper"
    if not (place / "config.json").is_file():
        torch.manual_seed(1)
        config = WhisperConfig(
            vocab_size=64, num_mel_bins=8, d_model=16, encoder_layers=1, encoder_attention_heads=2, decoder_layers=1,
            decoder_attention_heads=2, encoder_ffn_dim=32, decoder_ffn_dim=32, max_source_positions=10, max_target_positions=16,
            pad_token_id=1, bos_token_id=2, eos_token_id=2, decoder_start_token_id=3, suppress_tokens=[], begin_suppress_tokens=[],
        )  # fmt: skip
        WhisperForConditionalGeneration(config).save_pretrained(place)
    model = WhisperForConditionalGeneration.from_pretrained(place, torch_dtype=setting.dtype).eval().to(setting.device)
    features = torch.randn(1, 8, 20, generator=torch.Generator().manual_seed(2)).to(setting.device)
    if not setting.shows("cast-inputs"):
        features = features.to(setting.dtype)
    inputs = {"input_features": features, "decoder_input_ids": torch.tensor([[3, 5, 7]]).to(setting.device)}
    return Program(model, inputs, _logits)


@case(
    issues=("checkpoint/dtype-string-refused",),
    tier="upstream",
    dtypes=("bfloat16", "float16"),
    present={"transformers": ">=4.26"},
    installs={"transformers": "4.41.2", "accelerate": "1.5.2"},
    plays=("real-dtype",),
    seconds=6.0,
)
def dtype_by_its_name(setting: Setting) -> Program:
    """torch_dtype is given as "bfloat16", as a command line or a YAML file gives it."""
    from transformers import OPTForCausalLM

    given: Any = setting.name if setting.shows("real-dtype") else setting.dtype
    model = OPTForCausalLM.from_pretrained(_tiny(setting.folder), torch_dtype=given)
    return Program(model.eval().to(setting.device), _ids(setting), _logits)


@case(
    issues=("transformers/default-dtype-left-changed",),
    tier="upstream",
    dtypes=("float16", "bfloat16"),
    present={"transformers": ">=4.26"},
    installs={"transformers": "4.48.3", "accelerate": "1.5.2"},
    plays=("reset", "float-inputs"),
    symptom="torch.get_default_dtype() is torch.float16 since a from_pretrained that failed: every new tensor and layer is half precision.",
    seconds=6.0,
)
def default_dtype_after_failed_load(setting: Setting) -> Program:
    """from_pretrained fails while it builds the model, and the notebook goes on: new layers are in half precision."""
    import torch
    from transformers import OPTForCausalLM

    if setting.faulty:
        with suppress(TypeError):
            OPTForCausalLM.from_pretrained(_tiny(setting.folder), torch_dtype=setting.dtype, no_such_argument=True)
    if setting.variant == "reset":
        torch.set_default_dtype(torch.float32)
    left = torch.get_default_dtype()
    given = torch.float32 if setting.variant == "float-inputs" else None
    layer = torch.nn.Linear(8, 4, dtype=given)
    with torch.no_grad():
        layer.weight.copy_(torch.linspace(-1, 1, 32).view(4, 8))
        layer.bias.zero_()
    torch.set_default_dtype(torch.float32)

    def check(model: Any, _output: Any) -> str | None:
        held = model.weight.dtype
        return f"a new layer is {held}: the default dtype is {left}" if held != torch.float32 else None

    x = torch.linspace(0, 1, 16).view(2, 8)
    return Program(layer, {"x": x}, lambda model, inputs: model(inputs["x"].to(model.weight.dtype)).detach(), check)


@case(
    issues=("transformers/from-config-half-precision",),
    tier="upstream",
    dtypes=("bfloat16", "float16"),
    present={"transformers": ">=4.40"},
    installs=_INSTALLS,
    plays=("state-float32",),
    symptom="AutoModelForCausalLM.from_config(config) creates the new model in bfloat16 instead of float32, as the config says.",
    seconds=6.0,
)
def new_model_in_the_dtype_of_a_config(setting: Setting) -> Program:
    """A model is made anew from the config of a half-precision checkpoint, to be trained."""
    import torch
    from transformers import AutoModelForCausalLM, OPTConfig

    config = OPTConfig.from_pretrained(_tiny(setting.folder, torch.float32 if setting.name == "float32" else setting.dtype))
    more = {} if setting.shows("state-float32") else {"torch_dtype": torch.float32}
    model = AutoModelForCausalLM.from_config(config, **more).eval()
    held = next(model.parameters()).dtype
    # Random numbers depend on the dtype that they are drawn in: all get the same.
    numbers = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for one in model.parameters():
            one.copy_(torch.randn(one.shape, generator=numbers) * 0.1)

    def check(model: Any, _output: Any) -> str | None:
        return None if next(model.parameters()).dtype == torch.float32 else f"the new model is {held}, as the config's checkpoint is"

    return Program(model.to(setting.device), _ids(setting), _logits, check)


@case(
    issues=("transformers/fp8-checkpoint-unknown",),
    tier="upstream",
    dtypes=("bfloat16",),
    devices=("cpu",),
    present={"transformers": ">=4.36"},
    installs={"transformers": "4.48.3", "accelerate": "1.5.2"},
    plays=("converted",),
    unplayable={"upgrade": "4.49.0 knows the method and asks for a GPU", "engine": "is another program"},
    facts={"model": "deepseek-ai/DeepSeek-V3"},
    stand_in="a tiny OPT whose config names the method stands for DeepSeek-V3: the method is refused before a model is built",
    seconds=6.0,
)
def fp8_checkpoint(setting: Setting) -> Program:
    """The config of a checkpoint names block-wise fp8, as that of DeepSeek-V3 does."""
    import json
    import shutil

    from transformers import OPTForCausalLM

    place = _tiny(setting.folder)
    if setting.shows("converted"):
        named = setting.folder / "named-fp8"
        shutil.copytree(place, named, dirs_exist_ok=True)
        config = json.loads((named / "config.json").read_text(encoding="utf-8"))
        config["quantization_config"] = {"quant_method": "fp8", "activation_scheme": "dynamic", "weight_block_size": [128, 128]}
        (named / "config.json").write_text(json.dumps(config), encoding="utf-8")
        place = named
    model = OPTForCausalLM.from_pretrained(place, torch_dtype=setting.dtype)
    return Program(model.eval().to(setting.device), _ids(setting), _logits)
