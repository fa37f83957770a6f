"""Which files of which packages go into the table of released lines: those that entries name, and those that tracebacks pass most."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase

from troubleshoot.knowledge.base import KnowledgeBase
from troubleshoot.knowledge.schema import Condition, Entry

#: The families of transformers whose modeling files are traced; files that entries name come on top.
_MODELS = (
    "bart", "bert", "blip", "blip_2", "bloom", "clip", "cohere", "deberta_v2", "deepseek_v3", "distilbert", "falcon", "gemma", "gemma2",
    "gemma3", "gpt2", "gpt_neox", "gptj", "gpt_oss", "idefics2", "instructblip", "llama", "llama4", "llava", "llava_next", "mistral",
    "mixtral", "mllama", "mt5", "musicgen", "olmo", "opt", "paligemma", "phi", "phi3", "qwen2", "qwen2_5_vl", "qwen2_vl", "qwen3",
    "roberta", "siglip", "speecht5", "stablelm", "starcoder2", "t5", "umt5", "vit", "wav2vec2", "whisper", "xlm_roberta",
)  # fmt: skip

#: distribution -> (folder below site-packages, oldest release, patterns of files below the folder; a star passes no slash)
TRACED: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "accelerate": (
        "accelerate",
        "0.10",
        ("accelerator.py", "big_modeling.py", "hooks.py", "optimizer.py", "utils/bnb.py", "utils/modeling.py", "utils/operations.py"),
    ),
    "diffusers": (
        "diffusers",
        "0.3",
        (
            "image_processor.py", "loaders.py", "loaders/lora_base.py", "loaders/lora_pipeline.py", "loaders/unet.py", "pipeline_utils.py",
            "models/attention.py", "models/attention_processor.py", "models/autoencoder_kl.py", "models/autoencoders/autoencoder_kl.py",
            "models/autoencoders/vae.py", "models/controlnet.py", "models/controlnets/controlnet*.py", "models/downsampling.py",
            "models/embeddings.py", "models/lora.py", "models/modeling_utils.py", "models/normalization.py", "models/resnet.py",
            "models/transformer_2d.py", "models/transformers/transformer_2d.py", "models/transformers/transformer_flux.py",
            "models/transformers/transformer_sd3.py", "models/unet_2d_blocks.py", "models/unet_2d_condition.py",
            "models/unets/unet_2d_blocks.py", "models/unets/unet_2d_condition.py", "models/upsampling.py", "models/vae.py",
            "pipelines/controlnet/pipeline_controlnet.py", "pipelines/controlnet/pipeline_controlnet_sd_xl.py",
            "pipelines/flux/pipeline_flux.py", "pipelines/pipeline_utils.py",
            "pipelines/stable_diffusion/pipeline_stable_diffusion*.py",
            "pipelines/stable_diffusion_3/pipeline_stable_diffusion_3.py",
            "pipelines/stable_diffusion_xl/pipeline_stable_diffusion_xl*.py",
            "schedulers/scheduling_ddim.py", "schedulers/scheduling_ddpm.py", "schedulers/scheduling_dpmsolver_multistep.py",
            "schedulers/scheduling_euler*.py", "schedulers/scheduling_flow_match_euler_discrete.py", "schedulers/scheduling_pndm.py",
        ),
    ),
    "open-clip-torch": (
        "open_clip",
        "2.0",
        ("coca_model.py", "factory.py", "hf_model.py", "loss.py", "model.py", "timm_model.py", "transformer.py"),
    ),
    "peft": (
        "peft",
        "0.1",
        (
            "peft_model.py", "tuners/adalora/layer.py", "tuners/adaption_prompt.py", "tuners/adaption_prompt/layer.py",
            "tuners/ia3/layer.py",
            "tuners/lora.py", "tuners/lora/bnb.py", "tuners/lora/dora.py", "tuners/lora/gptq.py", "tuners/lora/layer.py",
            "tuners/lora/model.py", "tuners/tuners_utils.py",
        ),
    ),
    "torch": (
        "torch",
        "1.8",
        (
            "_tensor.py", "amp/autocast_mode.py", "amp/grad_scaler.py", "autograd/__init__.py", "autograd/function.py",
            "autograd/grad_mode.py", "autograd/graph.py", "cuda/__init__.py", "cuda/amp/autocast_mode.py", "cuda/amp/grad_scaler.py",
            "functional.py", "nn/functional.py", "nn/init.py", "nn/modules/*.py", "nn/parallel/data_parallel.py",
            "nn/parallel/distributed.py", "nn/utils/clip_grad.py", "optim/adam.py", "optim/adamw.py", "optim/lr_scheduler.py",
            "optim/optimizer.py", "optim/sgd.py", "serialization.py", "utils/_contextlib.py", "utils/checkpoint.py",
            "utils/data/dataloader.py",
        ),
    ),
    "transformers": (
        "transformers",
        "4.0",
        (
            "generation/logits_process.py", "generation/utils.py", "generation_utils.py", "integrations/bitsandbytes.py",
            "integrations/finegrained_fp8.py", "integrations/flash_attention.py", "integrations/sdpa_attention.py",
            "modeling_flash_attention_utils.py", "modeling_utils.py", "pipelines/automatic_speech_recognition.py", "pipelines/base.py",
            "pipelines/text_generation.py", "pytorch_utils.py", "trainer.py", "trainer_pt_utils.py", "trainer_seq2seq.py",
            "utils/generic.py", *(f"models/{name}/modeling_{name}.py" for name in _MODELS),
        ),
    ),
}  # fmt: skip


def patterns(package: str, named: Iterable[str]) -> tuple[str, ...]:
    """Return the patterns of a package's files: the fixed ones, and those files that entries name."""
    folder, _, fixed = TRACED[package]
    own = [name.removeprefix(f"{folder}/") for name in named if name.startswith(f"{folder}/")]
    # `models/t5/modeling_t5.py` and `modeling_t5.py` may be of any package: the pattern decides nothing where it has no such file.
    loose = [f"*/{name}" for name in named if name.rpartition("/")[2].startswith("modeling_") and not name.startswith(f"{folder}/")]
    return tuple(dict.fromkeys((*fixed, *own, *(loose if folder == "transformers" else ()))))


def wanted(file: str, among: Iterable[str]) -> bool:
    """Tell whether a file below a package's folder fits one of the patterns; a leading ``*/`` stands for any folders."""
    return any(
        fnmatchcase(file, one) if one.startswith("*/") else file.count("/") == one.count("/") and fnmatchcase(file, one) for one in among
    )


def files_named(base: KnowledgeBase) -> tuple[str, ...]:
    """Return the Python files that the entries name in their frames and conditions, sorted."""
    return tuple(sorted({name for id_ in base.ids() for name in _named_by(base.entry(id_)) if name.endswith(".py")}))


def _named_by(entry: Entry) -> Iterator[str]:
    yield from (one.file for one in entry.signature.frames if one.file)
    waiting: list[Condition] = [*entry.evidence.required, *entry.evidence.supporting, *entry.evidence.refuting]
    for weighted in entry.causes:
        waiting += [*weighted.needs, *weighted.likelier]
    while waiting:
        one = waiting.pop()
        if one.frame:
            yield one.frame
        waiting += [*one.any, *one.all, *one.none]
