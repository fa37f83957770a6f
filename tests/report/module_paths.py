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
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
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
    """What came out: ``right`` names the module, ``within`` names a part of the way, the rest is silent or wrong."""

    right: int = 0
    within: int = 0
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


def failures(
    name: str, source: str, namespace: dict[str, Any], roots: dict[str, nn.Module], seed: int, count: int
) -> Iterator[Failed]:
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
        if error is None or "dtype" not in str(error).lower() and "type" not in str(error).lower():
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
        else:
            figures.wrong.append((form, path, one))


# Plain models -------------------------------------------------------------------------------------------------------------------------

PLAIN = '''
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
        self.downs = nn.ModuleList([nn.ModuleList([nn.Conv2d(3 if i == 0 else dim, dim, 3, padding=1), nn.GroupNorm(2, dim)]) for i in range(3)])
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
'''


def plain_models() -> Iterator[tuple[str, str, dict[str, Any], dict[str, nn.Module]]]:
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


# Models of transformers and diffusers ----------------------------------------------------------------------------------------------------

SMALL = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
TEXT = {**SMALL, "vocab_size": 40, "max_position_embeddings": 32}


def transformers_models() -> Iterator[tuple[str, str, dict[str, Any], dict[str, nn.Module]]]:
    """Yield the same of models of transformers."""
    import transformers as hf

    ids = torch.tensor([[1, 5, 6, 7]])
    pixels = torch.randn(1, 3, 16, 16)
    vision = {**SMALL, "image_size": 16, "patch_size": 8}
    text = {"input_ids": ids}
    decoder = "out = model.generate(**inputs, max_new_tokens=2, do_sample=False, pad_token_id=0)\n"
    forward = "with torch.no_grad():\n    outputs = model(**inputs)\n"
    made: list[tuple[str, Callable[[], Any], str, dict[str, Any]]] = [
        ("bert", lambda: hf.BertForSequenceClassification(hf.BertConfig(**TEXT)), forward, text),
        ("distilbert", lambda: hf.DistilBertModel(hf.DistilBertConfig(vocab_size=40, dim=16, n_layers=2, n_heads=2, hidden_dim=32)), forward, text),
        ("deberta", lambda: hf.DebertaV2Model(hf.DebertaV2Config(**TEXT)), forward, text),
        ("gpt2", lambda: hf.GPT2LMHeadModel(hf.GPT2Config(vocab_size=40, n_positions=32, n_embd=16, n_layer=2, n_head=2)), decoder, text),
        ("gptj", lambda: hf.GPTJForCausalLM(hf.GPTJConfig(vocab_size=40, n_positions=32, n_embd=16, n_layer=2, n_head=2, rotary_dim=4)), decoder, text),
        ("opt", lambda: hf.OPTForCausalLM(hf.OPTConfig(vocab_size=40, hidden_size=16, num_hidden_layers=2, ffn_dim=32, num_attention_heads=2, max_position_embeddings=32, word_embed_proj_dim=16)), decoder, text),
        ("llama", lambda: hf.LlamaForCausalLM(hf.LlamaConfig(**TEXT)), decoder, text),
        ("llama-training", lambda: hf.LlamaForCausalLM(hf.LlamaConfig(**TEXT)), "model.gradient_checkpointing_enable()\nmodel.train()\nloss = model(**inputs, labels=inputs['input_ids']).loss\n", text),
        ("qwen2", lambda: hf.Qwen2ForCausalLM(hf.Qwen2Config(**TEXT, num_key_value_heads=1)), decoder, text),
        ("gemma", lambda: hf.GemmaForCausalLM(hf.GemmaConfig(**TEXT, head_dim=8, num_key_value_heads=1)), forward, text),
        ("phi", lambda: hf.PhiForCausalLM(hf.PhiConfig(**TEXT)), decoder, text),
        ("mixtral", lambda: hf.MixtralForCausalLM(hf.MixtralConfig(**TEXT, num_key_value_heads=1, num_local_experts=2)), forward, text),
        ("falcon", lambda: hf.FalconForCausalLM(hf.FalconConfig(vocab_size=40, hidden_size=16, num_hidden_layers=2, num_attention_heads=2)), forward, text),
        ("bloom", lambda: hf.BloomForCausalLM(hf.BloomConfig(vocab_size=40, hidden_size=16, n_layer=2, n_head=2)), decoder, text),
        ("t5", lambda: hf.T5ForConditionalGeneration(hf.T5Config(vocab_size=40, d_model=16, d_kv=8, d_ff=32, num_layers=2, num_heads=2, decoder_start_token_id=0)), decoder, text),
        ("bart", lambda: hf.BartForConditionalGeneration(hf.BartConfig(vocab_size=40, d_model=16, encoder_layers=2, decoder_layers=2, encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=32, decoder_ffn_dim=32, max_position_embeddings=32)), decoder, text),
        ("vit", lambda: hf.ViTForImageClassification(hf.ViTConfig(**vision)), forward, {"pixel_values": pixels}),
        ("swin", lambda: hf.SwinModel(hf.SwinConfig(image_size=16, patch_size=2, embed_dim=8, depths=[1, 1], num_heads=[2, 2], window_size=2)), forward, {"pixel_values": pixels}),
        ("convnext", lambda: hf.ConvNextModel(hf.ConvNextConfig(hidden_sizes=[4, 8], depths=[1, 1], num_stages=2)), forward, {"pixel_values": pixels}),
        ("resnet", lambda: hf.ResNetForImageClassification(hf.ResNetConfig(embedding_size=8, hidden_sizes=[8, 8], depths=[1, 1])), forward, {"pixel_values": torch.randn(1, 3, 32, 32)}),
        ("clip", lambda: hf.CLIPModel(hf.CLIPConfig(text_config={**TEXT, "eos_token_id": 2}, vision_config=vision, projection_dim=8)), forward, {"input_ids": ids, "pixel_values": pixels}),
        ("wav2vec2", lambda: hf.Wav2Vec2ForCTC(hf.Wav2Vec2Config(**SMALL, vocab_size=20, conv_dim=(8, 8), conv_stride=(5, 2), conv_kernel=(10, 3), num_conv_pos_embeddings=4, num_conv_pos_embedding_groups=2)), forward, {"input_values": torch.randn(1, 400)}),
        ("whisper", lambda: hf.WhisperModel(hf.WhisperConfig(vocab_size=40, d_model=16, encoder_layers=2, decoder_layers=2, encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=32, decoder_ffn_dim=32, num_mel_bins=8, max_source_positions=8, pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1)), forward, {"input_features": torch.randn(1, 8, 16), "decoder_input_ids": ids}),
        ("blip2", lambda: hf.Blip2ForConditionalGeneration(blip2(hf)), "out = model.generate(**inputs, max_new_tokens=2)\n", {"pixel_values": pixels, "input_ids": torch.tensor([[39, 39, 5]])}),
    ]  # fmt: skip
    for name, make, source, inputs in made:
        torch.manual_seed(0)
        model = make().eval()
        yield name, source, {"__name__": "__main__", "torch": torch, "model": model, "inputs": inputs}, {"model": model}


def blip2(hf: Any) -> Any:
    """Return the configuration of a tiny BLIP-2."""
    config = hf.Blip2Config.from_vision_qformer_text_configs(
        hf.Blip2VisionConfig(**SMALL, image_size=16, patch_size=8),
        hf.Blip2QFormerConfig(**SMALL, vocab_size=40, encoder_hidden_size=16, cross_attention_frequency=1),
        hf.OPTConfig(vocab_size=40, hidden_size=16, num_hidden_layers=2, ffn_dim=32, num_attention_heads=2, max_position_embeddings=64, word_embed_proj_dim=16),
        num_query_tokens=2,
    )  # fmt: skip
    config.image_token_index = 39
    return config


def diffusers_models() -> Iterator[tuple[str, str, dict[str, Any], dict[str, nn.Module]]]:
    """Yield the same of models and pipelines of diffusers."""
    import diffusers as df

    latents, prompt, step = torch.randn(1, 4, 8, 8), torch.randn(1, 4, 16), torch.tensor([1])
    blocks = {"down_block_types": ("DownBlock2D", "CrossAttnDownBlock2D"), "up_block_types": ("CrossAttnUpBlock2D", "UpBlock2D")}

    def unet() -> Any:
        return df.UNet2DConditionModel(sample_size=8, block_out_channels=(8, 16), layers_per_block=1, norm_num_groups=4, cross_attention_dim=16, attention_head_dim=4, **blocks)  # fmt: skip

    def vae() -> Any:
        return df.AutoencoderKL(block_out_channels=(8,), norm_num_groups=4, latent_channels=4, sample_size=8)

    def pipeline() -> Any:
        pipe = df.StableDiffusionPipeline(vae(), None, None, unet(), df.DDIMScheduler(), None, None, requires_safety_checker=False)
        pipe.set_progress_bar_config(disable=True)
        return pipe

    made: list[tuple[str, Callable[[], Any], str, dict[str, Any]]] = [
        ("unet", unet, "noise_pred = model(latents, step, encoder_hidden_states=prompt).sample\n", {"latents": latents, "step": step, "prompt": prompt}),
        ("vae", vae, "with torch.no_grad():\n    image = model.decode(latents).sample\n    again = model.encode(image)\n", {"latents": latents}),
        ("pipe", pipeline, "image = pipe(prompt_embeds=prompt, negative_prompt_embeds=prompt, num_inference_steps=1, height=64, width=64).images[0]\n", {"prompt": prompt}),
        ("sd3", lambda: df.SD3Transformer2DModel(sample_size=8, patch_size=2, in_channels=4, num_layers=2, attention_head_dim=8, num_attention_heads=2, joint_attention_dim=16, caption_projection_dim=16, pooled_projection_dim=8, out_channels=4), "model(latents, encoder_hidden_states=prompt, pooled_projections=pooled, timestep=step)\n", {"latents": latents, "prompt": prompt, "pooled": torch.randn(1, 8), "step": step}),
        ("pixart", lambda: df.PixArtTransformer2DModel(sample_size=8, patch_size=2, in_channels=4, out_channels=8, num_layers=2, num_attention_heads=2, attention_head_dim=8, cross_attention_dim=16, caption_channels=16), "out = model(latents, encoder_hidden_states=prompt, timestep=step, added_cond_kwargs={'resolution': None, 'aspect_ratio': None})\n", {"latents": latents, "prompt": prompt, "step": step}),
        ("controlnet", lambda: df.ControlNetModel(block_out_channels=(8, 16), layers_per_block=1, norm_num_groups=4, cross_attention_dim=16, attention_head_dim=4, down_block_types=blocks["down_block_types"], conditioning_embedding_out_channels=(4, 8)), "out = model(latents, step, prompt, torch.randn(1, 3, 16, 16), return_dict=False)\n", {"latents": latents, "step": step, "prompt": prompt}),
        ("flux", lambda: df.FluxTransformer2DModel(patch_size=1, in_channels=4, num_layers=1, num_single_layers=1, attention_head_dim=16, num_attention_heads=2, joint_attention_dim=16, pooled_projection_dim=8, axes_dims_rope=(4, 4, 8)), "out = model(hidden_states=torch.randn(1, 4, 4), encoder_hidden_states=prompt, pooled_projections=pooled, timestep=step, img_ids=torch.zeros(4, 3), txt_ids=torch.zeros(4, 3))\n", {"prompt": prompt, "pooled": torch.randn(1, 8), "step": step}),
    ]  # fmt: skip
    for name, make, source, inputs in made:
        torch.manual_seed(0)
        model = make()
        roots = {"pipe.unet": model.unet, "pipe.vae": model.vae} if name == "pipe" else {"model": model}
        namespace = {"__name__": "__main__", "torch": torch, "pipe" if name == "pipe" else "model": model, **inputs}
        yield f"diffusers-{name}", source, namespace, roots


def figures_of(models: Iterator[tuple[str, str, dict[str, Any], dict[str, nn.Module]]], seed: int, count: int) -> dict[str, Figures]:
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
    sources = {"plain": plain_models}
    sources.update({name: make for name, make in (("transformers", transformers_models), ("diffusers", diffusers_models)) if importlib.util.find_spec(name)})
    for source, models in sources.items():
        for form, one in figures_of(models(), given.seed, given.count).items():
            print(f"{source} {form}: {one.count} failures, right or silent {one.held:.3f}, said {one.said:.3f}")
            if given.misses:
                for kind, missed in (("wrong", one.wrong), ("silent", one.less)):
                    for (path, true), times in Counter((path, min(failed.true)) for _, path, failed in missed).most_common(12):
                        print(f"   {kind} {times}: {path!r} for {true}")


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    main()
