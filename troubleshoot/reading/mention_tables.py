# ruff: noqa: SIM905  (lists of words read better as text)
"""The names that mentions are made of: distributions, accelerators, model families, and the words that call for a search."""

from __future__ import annotations

#: How people write a distribution (lower case, ``_`` as ``-``) -> its normalised name.
PACKAGES: dict[str, str] = {
    name: name
    for name in (
        "torch torchvision torchaudio torchtext transformers diffusers accelerate peft trl bitsandbytes deepspeed xformers "
        "vllm sglang flash-attn timm "
        "lightning pytorch-lightning sentence-transformers optimum auto-gptq autoawq gptqmodel datasets evaluate ultralytics "
        "triton apex safetensors "
        "tokenizers huggingface-hub unsloth numpy scipy einops torchmetrics torchao tensorflow jax flax onnx onnxruntime onnxruntime-gpu "
        "open-clip-torch monai fairscale fairseq megatron-core mmcv mmengine mmdet hqq optimum-quanto gradio ray sentencepiece "
        "openai-whisper "
        "faster-whisper k-diffusion compressed-tensors transformer-engine liger-kernel mamba-ssm causal-conv1d "
        "intel-extension-for-pytorch torch-npu "
        "torch-xla torch-directml axolotl llamafactory nemo-toolkit speechbrain torch-geometric torchtune gguf comfyui kornia detectron2 "
        "controlnet-aux compel invisible-watermark"
    ).split()
} | {
    "pytorch": "torch", "py-torch": "torch", "flash attention": "flash-attn", "flash-attention": "flash-attn",
    "flashattention": "flash-attn",
    "flash-attn 2": "flash-attn", "open-clip": "open-clip-torch", "ipex": "intel-extension-for-pytorch", "hf transformers": "transformers",
    "transformer engine": "transformer-engine", "pytorch lightning": "pytorch-lightning", "nvidia-apex": "apex",
    "hub": "huggingface-hub", "quanto": "optimum-quanto", "huggingface hub": "huggingface-hub", "awq": "autoawq",
}  # fmt: skip
del PACKAGES["hub"], PACKAGES["awq"]

#: Import names that differ from the distribution's.
IMPORTS: dict[str, str] = {
    "flash_attn": "flash-attn", "pytorch_lightning": "pytorch-lightning", "sentence_transformers": "sentence-transformers",
    "auto_gptq": "auto-gptq",
    "awq": "autoawq", "huggingface_hub": "huggingface-hub", "open_clip": "open-clip-torch", "whisper": "openai-whisper",
    "faster_whisper": "faster-whisper",
    "k_diffusion": "k-diffusion", "transformer_engine": "transformer-engine", "mamba_ssm": "mamba-ssm", "causal_conv1d": "causal-conv1d",
    "intel_extension_for_pytorch": "intel-extension-for-pytorch", "torch_npu": "torch-npu", "torch_xla": "torch-xla",
    "torch_directml": "torch-directml",
    "torch_geometric": "torch-geometric", "quanto": "optimum-quanto", "compressed_tensors": "compressed-tensors",
    "liger_kernel": "liger-kernel",
}  # fmt: skip

#: Words (lower case, from the token pattern of ``mentions``) that begin the name of an accelerator.
GPU_WORDS = frozenset(
    "sm compute t4 p4 p40 p100 k80 k40 m40 m60 v100 v100s a2 a10 a10g a16 a30 a40 a100 a800 h20 h100 h200 h800 gh200 b100 b200 "
    "b300 gb10 gb200 gb300 l4 l20 l40 l40s "
    "rtx gtx geforce tesla quadro titan nvidia radeon rx instinct mi25 mi50 mi60 mi100 mi200 mi210 mi250 mi250x mi300 mi300x "
    "mi300a mi325x mi325 mi350x mi355x "
    "m1 m2 m3 m4 m5 apple silicon jetson orin xavier nano thor dgx spark arc ascend atlas gaudi gaudi2 gaudi3 tpu gfx ti xtx "
    "laptop gpu".split()
)

#: Words that begin the name of a well-known model.
FAMILIES = frozenset(
    "qwen llama codellama vicuna alpaca mistral mixtral ministral gemma paligemma phi falcon bloom bloomz opt gpt gptj gptneox "
    "t flan mt umt byt bert roberta deberta albert "
    "distilbert electra xlm bart mbart pegasus marian whisper sdxl sd stable flux wan hunyuan hunyuanvideo cogvideox cogvlm "
    "blip instructblip llava internvl chatglm glm "
    "deepseek baichuan starcoder mpt mamba clip siglip sam dino dinov vit swin wav hubert musicgen bark speecht kandinsky "
    "pixart controlnet segformer detr layoutlm "
    "florence idefics smolvlm smollm molmo pixtral fuyu kosmos minicpm olmo stablelm redpajama dolly yi internlm rwkv nllb "
    "seamless seamlessm mllama chameleon animatediff "
    "ltx mochi allegro sana auraflow lumina zephyr nemotron granite command aya dbrx jamba longformer bigbird led reformer "
    "clap encodec xtts parakeet canary bge "
    "unet yolo yolov resnet efficientnet convnext z-image".split()
)

#: Words that call for the search of one kind of mention.
DTYPE_WORDS = frozenset("fp16 float16 half bfloat16 bf16 bfp16 fp32 float32 fp64 float64 double fp8 float8 dtype type precision".split())
QUANT_WORDS = frozenset("bit bnb gptq awq autoawq gguf ggml nf4 nf qlora fp8 float8 hqq torchao quanto llm exl2 nunchaku".split())
ATTENTION_WORDS = frozenset("attn sdpa xformers flash eager attention flashattention scaled flex sage sageattn".split())
LAUNCH_WORDS = frozenset(
    "torchrun accelerate deepspeed mpirun mpiexec srun sbatch slurm ray raytrainworker launch launcher elastic torchelastic "
    "lightning distributed".split()
)
PHASE_WORDS = frozenset(
    "train training trainer finetune finetuning tuning tune fine sft inference generate generation generating predict "
    "prediction loading load loads loaded pretrained save "
    "saving export exporting onnx compile dynamo inductor torchinductor sampling backward optimizer".split()
)
OS_WORDS = frozenset("windows linux ubuntu debian centos rhel fedora macos darwin wsl wsl2 os osx win10 win11 win32 colab kaggle".split())
DEVICE_WORDS = frozenset("cuda cpu mps xpu npu device gpu hpu xla dml".split())
