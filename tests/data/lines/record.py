"""Record the tracebacks in this directory: released packages fail on the spot, on tiny random models; nothing is downloaded.

    /path/to/venv/bin/python record.py

Run it with an interpreter that has torch, transformers, peft, accelerate and diffusers; it writes one file per program, named after the releases
that its frames are from. Only directories are replaced by neutral ones.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

HERE = Path(__file__).parent


def t5_generates() -> None:
    """The feed-forward's output layer stays in float32."""
    from transformers import T5Config, T5ForConditionalGeneration

    config = T5Config(vocab_size=64, d_model=16, d_kv=8, d_ff=32, num_layers=2, num_heads=2, decoder_start_token_id=0)
    model = T5ForConditionalGeneration(config).half()
    model.decoder.block[0].layer[2].DenseReluDense.wi.float()
    model.generate(torch.ones(1, 4, dtype=torch.long), max_new_tokens=3)


def llama() -> Any:
    """A tiny Llama."""
    from transformers import LlamaConfig, LlamaForCausalLM

    sizes = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 2}
    return LlamaForCausalLM(LlamaConfig(vocab_size=64, **sizes))


def llama_generates() -> None:
    """A head in float32 on a model in bfloat16."""
    model = llama().to(torch.bfloat16)
    model.lm_head.float()
    model.generate(torch.ones(1, 4, dtype=torch.long), max_new_tokens=3)


def whisper_hears() -> None:
    """Features in float32 for a model in float16."""
    from transformers import WhisperConfig, WhisperForConditionalGeneration

    sizes = {"encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 2, "decoder_attention_heads": 2, "d_model": 16}
    config = WhisperConfig(vocab_size=64, encoder_ffn_dim=32, decoder_ffn_dim=32, max_source_positions=50, **sizes, pad_token_id=0, bos_token_id=1,
                           eos_token_id=2, decoder_start_token_id=3, suppress_tokens=None, begin_suppress_tokens=None)  # fmt: skip
    model = WhisperForConditionalGeneration(config).half()
    model(input_features=torch.randn(1, 80, 100), decoder_input_ids=torch.ones(1, 2, dtype=torch.long))


def lora_computes() -> None:
    """A base layer in float32 below a LoRA on a model in float16."""
    from peft import LoraConfig, get_peft_model

    model = get_peft_model(llama().half(), LoraConfig(r=2, target_modules=["q_proj"]))
    model.base_model.model.model.layers[0].self_attn.q_proj.base_layer.float()
    model(torch.ones(1, 4, dtype=torch.long))


def hooked_computes() -> None:
    """accelerate's hook moves the input, and leaves its dtype."""
    from accelerate.hooks import AlignDevicesHook, add_hook_to_module

    model = torch.nn.Sequential(torch.nn.Linear(4, 4).half())
    add_hook_to_module(model, AlignDevicesHook(execution_device="cpu", io_same_device=True))
    model(torch.randn(2, 4))


def unet_computes() -> None:
    """Latents in float32 for a UNet in float16."""
    from diffusers import UNet2DConditionModel

    model = UNet2DConditionModel(
        sample_size=8, block_out_channels=(8, 8), layers_per_block=1, cross_attention_dim=8, attention_head_dim=4, norm_num_groups=4,
        down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"), up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"),
    ).half()  # fmt: skip
    model(torch.randn(1, 4, 8, 8).half(), torch.tensor([1]), torch.randn(1, 3, 8))


def vae_decodes() -> None:
    """Latents in float32 for a VAE in float16."""
    from diffusers import AutoencoderKL

    model = AutoencoderKL(block_out_channels=(8, 8), down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2,
                          norm_num_groups=4).half()  # fmt: skip
    model.decode(torch.randn(1, 4, 8, 8))


#: program -> the packages whose releases the file's name tells
PROGRAMS: dict[Callable[[], None], tuple[str, ...]] = {
    t5_generates: ("transformers",),
    llama_generates: ("transformers",),
    whisper_hears: ("transformers",),
    lora_computes: ("peft", "transformers"),
    hooked_computes: ("accelerate",),
    unet_computes: ("diffusers",),
    vae_decodes: ("diffusers",),
}


def main() -> None:
    """Run every program and write what it prints."""
    for program, packages in PROGRAMS.items():
        try:
            program()
        except RuntimeError:
            text = traceback.format_exc()
        else:
            sys.exit(f"{program.__name__} did not fail")
        text = text.replace(str(Path(torch.__file__).parents[1]), f"{sys.prefix}/lib/python3.11/site-packages")
        text = text.replace(sys.prefix, "/home/user/venv").replace(str(HERE), "/home/user")
        releases = [f"{name}-{version(name)}" for name in (*packages, "torch")]
        (HERE / f"{program.__name__}_{'_'.join(releases)}.txt").write_text(text, encoding="utf-8", newline="\n")
        print(program.__name__, text.splitlines()[-1])


if __name__ == "__main__":
    main()
