"""Tiny models of transformers and diffusers with random weights, each with a program that calls it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import nn

#: A name, a program, the program's names, and the modules by the names that the program gives them.
Program = tuple[str, str, dict[str, Any], dict[str, nn.Module]]

SMALL = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
TEXT = {**SMALL, "vocab_size": 40, "max_position_embeddings": 32}


def transformers_models() -> Iterator[Program]:
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
        (
            "distilbert",
            lambda: hf.DistilBertModel(hf.DistilBertConfig(vocab_size=40, dim=16, n_layers=2, n_heads=2, hidden_dim=32)),
            forward,
            text,
        ),
        ("deberta", lambda: hf.DebertaV2Model(hf.DebertaV2Config(**TEXT)), forward, text),
        ("gpt2", lambda: hf.GPT2LMHeadModel(hf.GPT2Config(vocab_size=40, n_positions=32, n_embd=16, n_layer=2, n_head=2)), decoder, text),
        (
            "gptj",
            lambda: hf.GPTJForCausalLM(hf.GPTJConfig(vocab_size=40, n_positions=32, n_embd=16, n_layer=2, n_head=2, rotary_dim=4)),
            decoder,
            text,
        ),
        (
            "opt",
            lambda: hf.OPTForCausalLM(
                hf.OPTConfig(
                    vocab_size=40,
                    hidden_size=16,
                    num_hidden_layers=2,
                    ffn_dim=32,
                    num_attention_heads=2,
                    max_position_embeddings=32,
                    word_embed_proj_dim=16,
                )
            ),
            decoder,
            text,
        ),
        ("llama", lambda: hf.LlamaForCausalLM(hf.LlamaConfig(**TEXT)), decoder, text),
        (
            "llama-training",
            lambda: hf.LlamaForCausalLM(hf.LlamaConfig(**TEXT)),
            "model.gradient_checkpointing_enable()\nmodel.train()\nloss = model(**inputs, labels=inputs['input_ids']).loss\n",
            text,
        ),
        ("qwen2", lambda: hf.Qwen2ForCausalLM(hf.Qwen2Config(**TEXT, num_key_value_heads=1)), decoder, text),
        ("gemma", lambda: hf.GemmaForCausalLM(hf.GemmaConfig(**TEXT, head_dim=8, num_key_value_heads=1)), forward, text),
        ("phi", lambda: hf.PhiForCausalLM(hf.PhiConfig(**TEXT)), decoder, text),
        ("mixtral", lambda: hf.MixtralForCausalLM(hf.MixtralConfig(**TEXT, num_key_value_heads=1, num_local_experts=2)), forward, text),
        (
            "falcon",
            lambda: hf.FalconForCausalLM(hf.FalconConfig(vocab_size=40, hidden_size=16, num_hidden_layers=2, num_attention_heads=2)),
            forward,
            text,
        ),
        ("bloom", lambda: hf.BloomForCausalLM(hf.BloomConfig(vocab_size=40, hidden_size=16, n_layer=2, n_head=2)), decoder, text),
        (
            "t5",
            lambda: hf.T5ForConditionalGeneration(
                hf.T5Config(vocab_size=40, d_model=16, d_kv=8, d_ff=32, num_layers=2, num_heads=2, decoder_start_token_id=0)
            ),
            decoder,
            text,
        ),
        (
            "bart",
            lambda: hf.BartForConditionalGeneration(
                hf.BartConfig(
                    vocab_size=40,
                    d_model=16,
                    encoder_layers=2,
                    decoder_layers=2,
                    encoder_attention_heads=2,
                    decoder_attention_heads=2,
                    encoder_ffn_dim=32,
                    decoder_ffn_dim=32,
                    max_position_embeddings=32,
                )
            ),
            decoder,
            text,
        ),
        ("vit", lambda: hf.ViTForImageClassification(hf.ViTConfig(**vision)), forward, {"pixel_values": pixels}),
        (
            "swin",
            lambda: hf.SwinModel(hf.SwinConfig(image_size=16, patch_size=2, embed_dim=8, depths=[1, 1], num_heads=[2, 2], window_size=2)),
            forward,
            {"pixel_values": pixels},
        ),
        (
            "convnext",
            lambda: hf.ConvNextModel(hf.ConvNextConfig(hidden_sizes=[4, 8], depths=[1, 1], num_stages=2)),
            forward,
            {"pixel_values": pixels},
        ),
        (
            "resnet",
            lambda: hf.ResNetForImageClassification(hf.ResNetConfig(embedding_size=8, hidden_sizes=[8, 8], depths=[1, 1])),
            forward,
            {"pixel_values": torch.randn(1, 3, 32, 32)},
        ),
        (
            "clip",
            lambda: hf.CLIPModel(hf.CLIPConfig(text_config={**TEXT, "eos_token_id": 2}, vision_config=vision, projection_dim=8)),
            forward,
            {"input_ids": ids, "pixel_values": pixels},
        ),
        (
            "wav2vec2",
            lambda: hf.Wav2Vec2ForCTC(
                hf.Wav2Vec2Config(
                    **SMALL,
                    vocab_size=20,
                    conv_dim=(8, 8),
                    conv_stride=(5, 2),
                    conv_kernel=(10, 3),
                    num_conv_pos_embeddings=4,
                    num_conv_pos_embedding_groups=2,
                )
            ),
            forward,
            {"input_values": torch.randn(1, 400)},
        ),
        (
            "whisper",
            lambda: hf.WhisperModel(
                hf.WhisperConfig(
                    vocab_size=40,
                    d_model=16,
                    encoder_layers=2,
                    decoder_layers=2,
                    encoder_attention_heads=2,
                    decoder_attention_heads=2,
                    encoder_ffn_dim=32,
                    decoder_ffn_dim=32,
                    num_mel_bins=8,
                    max_source_positions=8,
                    pad_token_id=0,
                    bos_token_id=1,
                    eos_token_id=2,
                    decoder_start_token_id=1,
                )
            ),
            forward,
            {"input_features": torch.randn(1, 8, 16), "decoder_input_ids": ids},
        ),
        (
            "blip2",
            lambda: hf.Blip2ForConditionalGeneration(blip2(hf)),
            "out = model.generate(**inputs, max_new_tokens=2)\n",
            {"pixel_values": pixels, "input_ids": torch.tensor([[39, 39, 5]])},
        ),
    ]
    yield trainer(hf)
    for name, make, source, inputs in made:
        torch.manual_seed(0)
        model = make().eval()
        yield name, source, {"__name__": "__main__", "torch": torch, "model": model, "inputs": inputs}, {"model": model}


def trainer(hf: Any) -> Program:
    """Return a program that trains with transformers' Trainer: the user's object is the trainer, the model is its own."""
    from tempfile import mkdtemp

    model = hf.BertForSequenceClassification(hf.BertConfig(**TEXT))
    rows = [{"input_ids": torch.tensor([1, 2, 3]), "labels": torch.tensor(0)}] * 2
    arguments = hf.TrainingArguments(mkdtemp(), max_steps=1, report_to=[], use_cpu=True, save_strategy="no", disable_tqdm=True)
    made = hf.Trainer(model, arguments, train_dataset=rows)
    roots: dict[str, nn.Module] = {"trainer.model": model, "model": model}
    return "trainer", "trainer.train()\n", {"__name__": "__main__", "trainer": made}, roots


def blip2(hf: Any) -> Any:
    """Return the configuration of a tiny BLIP-2."""
    config = hf.Blip2Config.from_vision_qformer_text_configs(
        hf.Blip2VisionConfig(**SMALL, image_size=16, patch_size=8),
        hf.Blip2QFormerConfig(**SMALL, vocab_size=40, encoder_hidden_size=16, cross_attention_frequency=1),
        hf.OPTConfig(
            vocab_size=40,
            hidden_size=16,
            num_hidden_layers=2,
            ffn_dim=32,
            num_attention_heads=2,
            max_position_embeddings=64,
            word_embed_proj_dim=16,
        ),
        num_query_tokens=2,
    )
    config.image_token_index = 39
    return config


def diffusers_models() -> Iterator[Program]:
    """Yield the same of models and pipelines of diffusers."""
    import diffusers as df

    latents, prompt, step = torch.randn(1, 4, 8, 8), torch.randn(1, 4, 16), torch.tensor([1])
    blocks = {"down_block_types": ("DownBlock2D", "CrossAttnDownBlock2D"), "up_block_types": ("CrossAttnUpBlock2D", "UpBlock2D")}

    def unet() -> Any:
        return df.UNet2DConditionModel(
            sample_size=8,
            block_out_channels=(8, 16),
            layers_per_block=1,
            norm_num_groups=4,
            cross_attention_dim=16,
            attention_head_dim=4,
            **blocks,
        )

    def vae() -> Any:
        return df.AutoencoderKL(block_out_channels=(8,), norm_num_groups=4, latent_channels=4, sample_size=8)

    def pipeline() -> Any:
        pipe = df.StableDiffusionPipeline(vae(), None, None, unet(), df.DDIMScheduler(), None, None, requires_safety_checker=False)
        pipe.set_progress_bar_config(disable=True)
        return pipe

    made: list[tuple[str, Callable[[], Any], str, dict[str, Any]]] = [
        (
            "unet",
            unet,
            "noise_pred = model(latents, step, encoder_hidden_states=prompt).sample\n",
            {"latents": latents, "step": step, "prompt": prompt},
        ),
        (
            "vae",
            vae,
            "with torch.no_grad():\n    image = model.decode(latents).sample\n    again = model.encode(image)\n",
            {"latents": latents},
        ),
        (
            "pipe",
            pipeline,
            "image = pipe(prompt_embeds=prompt, negative_prompt_embeds=prompt, num_inference_steps=1, height=64, width=64).images[0]\n",
            {"prompt": prompt},
        ),
        (
            "sd3",
            lambda: df.SD3Transformer2DModel(
                sample_size=8,
                patch_size=2,
                in_channels=4,
                num_layers=2,
                attention_head_dim=8,
                num_attention_heads=2,
                joint_attention_dim=16,
                caption_projection_dim=16,
                pooled_projection_dim=8,
                out_channels=4,
            ),
            "model(latents, encoder_hidden_states=prompt, pooled_projections=pooled, timestep=step)\n",
            {"latents": latents, "prompt": prompt, "pooled": torch.randn(1, 8), "step": step},
        ),
        (
            "pixart",
            lambda: df.PixArtTransformer2DModel(
                sample_size=8,
                patch_size=2,
                in_channels=4,
                out_channels=8,
                num_layers=2,
                num_attention_heads=2,
                attention_head_dim=8,
                cross_attention_dim=16,
                caption_channels=16,
            ),
            "out = model(latents, encoder_hidden_states=prompt, timestep=step, added_cond_kwargs=sizes)\n",
            {"sizes": {"resolution": None, "aspect_ratio": None}, "latents": latents, "prompt": prompt, "step": step},
        ),
        (
            "controlnet",
            lambda: df.ControlNetModel(
                block_out_channels=(8, 16),
                layers_per_block=1,
                norm_num_groups=4,
                cross_attention_dim=16,
                attention_head_dim=4,
                down_block_types=blocks["down_block_types"],
                conditioning_embedding_out_channels=(4, 8),
            ),
            "out = model(latents, step, prompt, torch.randn(1, 3, 16, 16), return_dict=False)\n",
            {"latents": latents, "step": step, "prompt": prompt},
        ),
        (
            "flux",
            lambda: df.FluxTransformer2DModel(
                patch_size=1,
                in_channels=4,
                num_layers=1,
                num_single_layers=1,
                attention_head_dim=16,
                num_attention_heads=2,
                joint_attention_dim=16,
                pooled_projection_dim=8,
                axes_dims_rope=(4, 4, 8),
            ),
            "out = model(tokens, prompt, pooled, step, torch.zeros(4, 3), torch.zeros(4, 3))\n",
            {"tokens": torch.randn(1, 4, 4), "prompt": prompt, "pooled": torch.randn(1, 8), "step": step},
        ),
    ]
    for name, make, source, inputs in made:
        torch.manual_seed(0)
        model = make()
        roots = {"pipe.unet": model.unet, "pipe.vae": model.vae} if name == "pipe" else {"model": model}
        namespace = {"__name__": "__main__", "torch": torch, "pipe" if name == "pipe" else "model": model, **inputs}
        yield f"diffusers-{name}", source, namespace, roots
