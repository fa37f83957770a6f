"""What a text says beside its tracebacks."""

from __future__ import annotations

import re

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from troubleshoot.basics import word_tables
from troubleshoot.reading import read_report


def said(text: str, kind: str) -> list[tuple[str, str]]:
    return [(one.name, one.value) for one in read_report(text).mentions if one.kind == kind]


@pytest.mark.parametrize(
    ("text", "name", "version"),
    [
        ("torch 2.3", "torch", "2.3"),
        ("torch==2.3.0+cu121", "torch", "2.3.0+cu121"),
        ("PyTorch 2.1.0", "torch", "2.1.0"),
        ("PyTorch version (GPU?): 2.1.0+cu118 (True)", "torch", "2.1.0+cu118"),
        ("PyTorch version: 2.5.0.dev20240901+cu124", "torch", "2.5.0.dev20240901+cu124"),
        ("[pip3] torch==2.1.0", "torch", "2.1.0"),
        ("torch                     2.1.0+cu118", "torch", "2.1.0+cu118"),
        ('torch = "2.3.0"', "torch", "2.3.0"),
        ("'torch': '2.3.0'", "torch", "2.3.0"),
        ("torch-2.3.0", "torch", "2.3.0"),
        ("pytorch=2.1.0=py3.10_cuda12.1", "torch", "2.1.0"),
        ("torch v2.3.0", "torch", "2.3.0"),
        ("transformers version: 4.50.2", "transformers", "4.50.2"),
        ("- `transformers` version: 4.50.2", "transformers", "4.50.2"),
        ("**transformers**: 4.50.2", "transformers", "4.50.2"),
        ("I use Transformers 4.45.", "transformers", "4.45"),
        ("transformers 版本 4.45", "transformers", "4.45"),
        ("transformers版本：4.45.1", "transformers", "4.45.1"),
        ("transformers 的版本是 4.45.1", "transformers", "4.45.1"),
        ("transformers==5.0.0rc1", "transformers", "5.0.0rc1"),
        ("Huggingface_hub version: 0.23.0", "huggingface-hub", "0.23.0"),
        ("flash-attn 2.5.8", "flash-attn", "2.5.8"),
        ("flash_attn==2.5.8", "flash-attn", "2.5.8"),
        ("Flash Attention 2.5.8", "flash-attn", "2.5.8"),
        ("pytorch-lightning 2.2.1", "pytorch-lightning", "2.2.1"),
        ("my_own.thing==1.0", "my-own-thing", "1.0"),
        ("Successfully installed tokenizers-0.19.1 transformers-4.41.0", "transformers", "4.41.0"),
    ],
)
def test_versions_are_read_in_every_spelling(text: str, name: str, version: str) -> None:
    """Prose, requirements, lists, dumps, in several languages."""
    assert (name, version) in said(text, "package")


@pytest.mark.parametrize(
    "text", ["torch>=2.0", "pytorch/pytorch:2.1.0", "/usr/torch/1.2/x", "torchx 1.2", "transformers is 3.5 times faster"]
)
def test_what_is_no_version_is_left(text: str) -> None:
    """Requirements, images, paths and other packages."""
    assert [one for one in said(text, "package") if one[0] == "torch"] == []
    assert ("transformers", "3.5") not in said("transformers 4.5%", "package")


@pytest.mark.parametrize(
    ("text", "versions"),
    [
        ("It worked on torch 2.11. With torch 2.12 it stops.", ["2.12"]),
        ("It used to work with torch==2.11.0; now I have torch==2.12.1.", ["2.12.1"]),
        ("With torch 2.11 there is no problem, torch 2.12 fails.", ["2.12"]),
        ("After going from torch 2.11.0+cu130 to torch 2.12.1+cu130 it fails.", ["2.12.1+cu130"]),
        ("从 torch 2.11 升级到 2.12 之后报错", ["2.12"]),
        ("Downgrading to torch 2.11 helps.", []),
        ("torch 2.11 正常，torch 2.12 报错", ["2.12"]),
        ("UserWarning: In PyTorch 1.1.0 and later, you should call them in the opposite order", []),
        ("This model requires torch 2.4.", []),
        ("It will be removed in torch 2.9.", []),
        ("需要 torch 2.4 以上", []),
        ("I saw it with torch 2.13.0 too.\n\n### System Info\ntorch 2.12.1", ["2.12.1"]),
        ("The job fails with torch 2.12.", ["2.12"]),
        ("My model runs on torch 2.12 and gives nan.\ntorch: 2.12.0", ["2.12.0"]),
    ],
)
def test_only_the_release_that_fails_counts(text: str, versions: list[str]) -> None:
    """Not the one that worked, a bound, or an announcement; a list of versions decides where prose tells of others."""
    assert [value for name, value in said(text, "package") if name == "torch"] == versions


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("xformers is not installed", "xformers"),
        ("- PEFT version: not installed", "peft"),
        ("ModuleNotFoundError: No module named 'apex'", "apex"),
        ("without xformers", "xformers"),
        ("- `Accelerate` version: not found", "accelerate"),
        ("bitsandbytes 未安装", "bitsandbytes"),
    ],
)
def test_absence_is_stated(text: str, name: str) -> None:
    """A package that is said not to be there."""
    assert (name, "absent") in said(text, "package")


def test_imports_show_presence() -> None:
    """Code that imports a package has it."""
    assert said("from peft import LoraConfig\nimport flash_attn\nimport os\n", "package") == [("peft", ""), ("flash-attn", "")]


@pytest.mark.parametrize(
    "name",
    [
        "Tesla T4",
        "T4",
        "V100",
        "V100-SXM2-32GB",
        "A100",
        "NVIDIA A100-SXM4-80GB",
        "A100 80GB",
        "NVIDIA H100 80GB",
        "GeForce RTX 2080 Ti",
        "RTX 2080 Ti",
        "RTX2080Ti",
        "RTX 3090",
        "1050Ti",
        "GTX 1660",
        "GTX 1660 Ti",
        "GTX 1080 Ti",
        "P100",
        "Tesla P100-PCIE-16GB",
        "K80",
        "Titan X",
        "TITAN RTX",
        "MI250",
        "MI300X",
        "M1",
        "M2 Max",
        "Jetson Orin",
        "Jetson AGX Xavier",
        "Quadro RTX 8000",
        "L4",
        "L40S",
        "A10G",
        "RTX A6000",
        "B200",
        "GB10",
        "910B",
        "Ascend 910B3",
        "H20",
        "RTX 4090 Laptop GPU",
        "Radeon RX 7900 XTX",
        "RX 7900 XTX",
        "Arc A770",
        "DGX Spark",
        "RTX PRO 6000",
    ],
)
def test_accelerators_are_recognised(name: str) -> None:
    """As people write them."""
    found = [value for _, value in said(f"My card: {name}, it fails.", "gpu")]
    if name == "910B":
        found = found or [value for _, value in said("Ascend NPU 910B", "gpu")]
    assert any(value.lower() in (name.lower(), f"nvidia {name}".lower()) for value in found), found


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("fp16 training gives NaN on a 3090", "3090"),
        ("fine on my 4090, not on my 2080ti", "4090"),
        ("8*4090, deepspeed", "4090"),
        ("8xA100 and fp16", "A100"),
        ("在V100上训练 loss 为 nan", "V100"),
        ("我在4090上微调", "4090"),
        ("显卡是3090，fp16 训练", "3090"),
        ("4张A100", "A100"),
    ],
)
def test_a_card_is_named_in_passing(text: str, name: str) -> None:
    """By its number after a preposition, with how many there are, and between Chinese characters."""
    assert name in [value for _, value in said(text, "gpu")]


@pytest.mark.parametrize(
    "text",
    ["stopped on 3090 images", "在3090步之后", "on step 4090", "2 x 1080p frames", "train/3090.png", "loss 1.3090", "to 2080*1080"],
)
def test_other_numbers_are_no_cards(text: str) -> None:
    """A number that could be a card's needs the words around it."""
    assert said(text, "gpu") == []


@pytest.mark.parametrize(
    "text", ["File T4.py", "a step of 3090 items", "layer m1.weight", "P4ssword", "v100.py", "ids 1080, 2080", "model_t4", "L4-norm.x/y"]
)
def test_other_words_are_no_accelerators(text: str) -> None:
    """Numbers, files and names that only look like one."""
    assert [value for _, value in said(text + "\nsee gtx", "gpu")] in ([], ["L4"])


def test_capabilities_are_read() -> None:
    """Said, printed by torch, or as sm_75."""
    assert said("compute capability 7.5", "capability") == [("capability", "7.5")]
    assert said("CUDA capability sm_61 is not compatible", "capability") == [("capability", "6.1")]
    assert said("_CudaDeviceProperties(name='Tesla T4', major=7, minor=5)\ncapability 1.x", "capability")[0] == ("capability", "7.5")


@pytest.mark.parametrize(
    ("text", "dtype"),
    [
        ("torch_dtype=torch.float16", "float16"),
        ('dtype="bfloat16"', "bfloat16"),
        ("--dtype half", "float16"),
        ("--fp16", "float16"),
        ("fp16: true", "float16"),
        ("bf16=True", "bfloat16"),
        ("mixed_precision: bf16", "bfloat16"),
        ("--mixed_precision=fp16", "float16"),
        ("--precision full", "float32"),
        ("--no-half", "float32"),
        ("precision='bf16-mixed'", "bfloat16"),
        ("model.half()", "float16"),
        ("model.bfloat16()", "bfloat16"),
        ("pipe.to('cuda', torch.float16)", "float16"),
        ("I load the model in fp16", "float16"),
        ("running in half precision", "float16"),
        ("I can't load the model in fp16", "float16"),
        ("we could not run in half precision", "float16"),
        ("用fp16推理", "float16"),
        ("bnb_4bit_compute_dtype=torch.bfloat16", "bfloat16"),
        ('{"fp16": {"enabled": true}}', "float16"),
        ("--force-fp16", "float16"),
        ("--bf16-unet", "bfloat16"),
    ],
)
def test_requested_dtypes(text: str, dtype: str) -> None:
    """Options, code, configuration, prose."""
    assert ("requested", dtype) in said(text, "dtype")


@pytest.mark.parametrize(
    "text",
    [
        "fp16: false", "bf16=False", "no fp16 here", "RuntimeError: expected dtype float but found half",
        "an engine built without --fp16", "it works without the `--fp16` flag", "I removed --fp16", "I do not use fp16 for it",
        "we didn't run in half precision", "trained in fp32 instead of using fp16", "不加 --fp16 就正常", "没有用fp16推理",
        "python main.py --fast fp16_accumulation",
    ],
)  # fmt: skip
def test_what_was_not_asked_for(text: str) -> None:
    """Switched off, left out, or only in an error message."""
    assert [one for one in said(text, "dtype") if one == ("requested", "float16")] == []


def test_an_error_message_mentions_no_dtype_or_device() -> None:
    """Its dtypes are the error's, not what someone chose."""
    report = read_report(
        'Traceback (most recent call last):\n  File "x.py", line 1, in <module>\n    f()\n'
        "RuntimeError: expected cuda fp16 but found cpu float32\n"
    )
    assert [one for one in report.mentions if one.name == "mentioned"] == []


def test_source_of_libraries_asks_for_nothing() -> None:
    """A cast in transformers is not the reporter's wish, one in the reporter's script is."""
    frame = '  File "{}", line 1, in f\n    x = x.to(torch.float16)\n'
    head, tail = "Traceback (most recent call last):\n", "RuntimeError: x\n"
    assert said(head + frame.format("/usr/lib/python3/site-packages/transformers/a.py") + tail, "dtype") == []
    assert ("requested", "float16") in said(head + frame.format("train.py") + tail, "dtype")


@pytest.mark.parametrize(
    ("text", "model"),
    [
        ("Salesforce/blip2-opt-2.7b", "Salesforce/blip2-opt-2.7b"),
        ("https://huggingface.co/Qwen/Qwen2.5-7B-Instruct", "Qwen/Qwen2.5-7B-Instruct"),
        ("'stabilityai/stable-diffusion-xl-base-1.0'", "stabilityai/stable-diffusion-xl-base-1.0"),
        ("Blip2ForConditionalGeneration", "Blip2ForConditionalGeneration"),
        ("T5EncoderModel", "T5EncoderModel"),
        ("FluxPipeline", "FluxPipeline"),
        ("Qwen2-VL", "Qwen2-VL"),
        ("whisper large-v3", "whisper large-v3"),
        ("SDXL", "SDXL"),
        ("Flux", "Flux"),
        ("Llama 3.1 8B", "Llama 3.1 8B"),
        ("stable diffusion 1.5", "stable diffusion 1.5"),
        ("opt-1.3b", "opt-1.3b"),
        ("StableDiffusionXLPipeline", "StableDiffusionXLPipeline"),
        ("AutoencoderKL", "AutoencoderKL"),
    ],
)
def test_models_are_recognised(text: str, model: str) -> None:
    """Hub ids, classes and families."""
    assert ("model", model) in said(f"I run {text} on it", "model")


@pytest.mark.parametrize(
    "text",
    [
        "and/or",
        "input/output-2",
        "src/foo-1/bar.py",
        "cpu/gpu-1",
        "https://github.com/a/b-2/issues/1",
        "fp16/bf16-x2",
        "AutoModelForCausalLM",
        "path/to-1/model.safetensors",
        "my-recordings/interview-1.mp3",
        "out-2/picture-3.png",
        "transformers/models-1.py",
    ],
)
def test_other_pairs_are_no_models(text: str) -> None:
    """Paths, addresses of other things, alternatives."""
    assert said(f"see {text} there", "model") == []


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("load_in_4bit=True", "quantization", "bitsandbytes-4bit"),
        ("--load_in_8bit True", "quantization", "bitsandbytes-8bit"),
        ("TheBloke/x-GPTQ", "quantization", "gptq"),
        ("x-7B-AWQ", "quantization", "awq"),
        ("flux fp8", "quantization", "fp8"),
        ("model.gguf", "quantization", "gguf"),
        ('bnb_4bit_quant_type="nf4"', "quantization", "bitsandbytes-4bit"),
        ("QLoRA", "quantization", "bitsandbytes-4bit"),
        ('attn_implementation="flash_attention_2"', "attention", "flash_attention_2"),
        ('attn_implementation="eager"', "attention", "eager"),
        ("sdpa", "attention", "sdpa"),
        ("pipe.enable_xformers_memory_efficient_attention()", "attention", "xformers"),
        ("torchrun --nproc_per_node 8 train.py", "launcher", "torchrun"),
        ("python -m torch.distributed.launch x.py", "launcher", "torchrun"),
        ("accelerate launch train.py", "launcher", "accelerate"),
        ("deepspeed --num_gpus 8 train.py", "launcher", "deepspeed"),
        ("mpirun -np 4 python x.py", "launcher", "mpirun"),
        ("srun python x.py", "launcher", "slurm"),
        ('device_map="auto"', "device_map", "auto"),
        ("device_map={'': 0}", "device_map", "dict"),
        ("with torch.autocast('cuda'):", "autocast", "on"),
        ("torch.autocast('cuda', enabled=False)", "autocast", "off"),
        ("I fine-tune it", "phase", "training"),
        ("微调时", "phase", "training"),
        ("at inference", "phase", "inference"),
        ("torch.onnx.export(model)", "phase", "export"),
        ("torch.compile(model)", "phase", "compile"),
        ("on Windows 11", "os", "windows"),
        ("Ubuntu 22.04", "os", "linux"),
        ("macOS 14", "os", "macos"),
        ("WSL2", "os", "wsl"),
        ("model.to('mps')", "device", "mps"),
        ("--device cuda:0", "device", "cuda"),
        ("CUDA 12.1", "cuda", "12.1"),
        ("CUDA Version: 12.2", "cuda", "12.2"),
        ("Driver Version: 535.104.05", "cuda", "535.104.05"),
        ("ROCm 6.0", "cuda", "6.0"),
        ("Python 3.10.12", "python", "3.10.12"),
        ("/opt/conda/lib/python3.10/site-packages/x", "python", "3.10"),
    ],
)
def test_options_and_circumstances(text: str, kind: str, value: str) -> None:
    """Everything else in the table of mentions."""
    assert value in [found for _, found in said(text, kind)]


def test_flags_have_values() -> None:
    """With a blank, an equals sign, quotes, or none."""
    assert said("python x.py --lr 1e-4 --name='a b' --fp16 --out=/tmp/x\nx --verbose", "flag") == [
        ("lr", "1e-4"),
        ("name", "a b"),
        ("fp16", ""),
        ("out", "/tmp/x"),
        ("verbose", ""),
    ]


def test_mentions_have_their_line_and_are_bounded() -> None:
    """The first of each is kept; a flood ends."""
    report = read_report("one\ntwo with torch==2.3.0\n" + "".join(f"pkg{n}==1.{n}\n" for n in range(2000)))
    assert report.mentions[0].line == 2
    assert report.mentions[0].text == "two with torch==2.3.0"
    assert len(report.mentions) <= 400


@pytest.mark.parametrize(("literals", "pattern"), [row[:2] for rows in word_tables.OPTIONS.values() for row in rows])
@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_a_table_pattern_matches_only_where_a_literal_of_its_occurs(literals: tuple[str, ...], pattern: str, data: st.DataObject) -> None:
    """The literals are looked for first; one that is missing would hide what the pattern finds."""
    # Lower case: Hypothesis would also draw characters such as the Kelvin sign, whose lower case is the letter k.
    drawn = data.draw(st.from_regex(re.compile(pattern)))
    assume(re.search(pattern, drawn))
    assert any(literal in drawn.lower() for literal in literals)


def test_an_error_message_asks_for_no_dtype() -> None:
    """``expected scalar type Float`` and ``--dtype=half`` in a message's advice say nothing about what was requested."""
    report = read_report(
        'Traceback (most recent call last):\n  File "a.py", line 1, in <module>\n    f()\nValueError: set --dtype=half, not type Float\n'
    )
    assert not [one for one in report.mentions if one.kind == "dtype"]


def test_the_matrices_of_an_error_are_no_apple_chips() -> None:
    """Two matrices are called so by torch."""
    assert said("RuntimeError: expected m1 and m2 to have the same dtype, but got: c10::Half != float", "gpu") == []
    assert [value for _, value in said("It fails on my M1 and on an M2 Max.", "gpu")] == ["M1", "M2 Max"]


@pytest.mark.parametrize(
    ("text", "on_cpu"),
    [
        ("I have no GPU, running on CPU with float16", True),
        ("CPU only machine", True),
        ("This runs on a machine without a GPU.", True),
        ("没有显卡，用CPU跑", True),
        ("It works on CPU but on cuda it fails", False),
        ("running on CPU works fine, on the GPU it does not", False),
        ("用 CPU 跑正常，GPU 报错", False),
        ("the CPU usage is high", False),
    ],
)
def test_prose_says_that_it_runs_on_the_cpu(text: str, on_cpu: bool) -> None:
    """Where it fails, not where it works."""
    assert (("requested", "cpu") in said(text, "device")) == on_cpu
