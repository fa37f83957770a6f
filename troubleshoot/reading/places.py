"""Whose code a frame is in: the reporter's, a library's, torch's or Python's own."""

# ruff: noqa: SIM905  (lists of words read better as text)
from __future__ import annotations

import re
from functools import lru_cache

from troubleshoot.basics.names import is_folder
from troubleshoot.basics.patterns import anchored, searched
from troubleshoot.reading.report import Frame, Place

#: Libraries whose files are recognised without ``site-packages`` before them: shortened pastes and source checkouts.
KNOWN_PACKAGES = frozenset(
    "torch torchvision torchaudio torchtext functorch transformers diffusers accelerate peft trl bitsandbytes deepspeed "
    "xformers vllm sglang "
    "flash_attn timm lightning pytorch_lightning lightning_fabric sentence_transformers optimum auto_gptq gptqmodel awq datasets "
    "evaluate ultralytics triton apex megatron fairseq fairscale detectron2 mmcv mmdet mmengine monai kornia open_clip clip safetensors "
    "tokenizers huggingface_hub unsloth unsloth_zoo axolotl llamafactory torch_geometric torchmetrics torchao torchtune "
    "speechbrain nemo whisper "
    "faster_whisper whisperx TTS jax flax tensorflow keras onnxruntime openvino intel_extension_for_pytorch torch_npu torch_xla hqq "
    "quanto einops mamba_ssm causal_conv1d ray gradio k_diffusion compressed_tensors llmcompressor lm_eval liger_kernel ignite "
    "composer".split()
)

#: Packages that only call the reporter's program: test runners, shells, servers, command lines.
_HOSTS = frozenset(
    "_pytest pytest pluggy xdist IPython ipykernel traitlets jupyter_client nbclient tornado gradio starlette fastapi uvicorn "
    "anyio flask werkzeug streamlit click typer fire "
    "hydra celery gunicorn debugpy pydevd absl joblib".split()
)

_PACKAGES = anchored(r".*/(?:site|dist)-packages/(.+)$")
_STANDARD = anchored(
    r"(?:.*/)?(?:lib(?:32|64)?/(?:python|pypy)\d(?:\.\d+)?t?/"
    r"|(?:python|Python)3\d*(?:\.\d+)?/(?=[a-z_]+\.py$|asyncio/|concurrent/|multiprocessing/|importlib/|unittest/))"
)
_WINDOWS_STANDARD = anchored(
    r"[A-Za-z]:/.*/[Ll]ib/(?:[a-z_0-9]+\.py"
    r"|(?:asyncio|concurrent|multiprocessing|importlib|unittest|json|http|urllib|ctypes|logging|email|encodings|collections)/.*)$"
)
_REMOTE = anchored(r".*/(transformers_modules|datasets_modules|diffusers_modules)/(.+)$")
_BIN = anchored(r".*/(?:bin|Scripts)/[^/]+$")
_GENERATED = anchored(r"^<(?:frozen|eval_with_key|string|__array_function__|attrs|decorator)|.*/(?:torchinductor_|torch_compile_debug)")


@lru_cache(maxsize=4096)
def locate(path: str) -> tuple[str, str]:
    """Return (owner, shortened path) of a file with forward slashes.

    ``owner`` is "user", "python" (standard library, launch scripts, generated code) or the import name of a package; the path is shortened
    below ``site-packages`` for packages.
    """
    match = _PACKAGES.match(path)
    if match:
        short = match[1]
        owner = short.partition("/")[0].removesuffix(".py")
        # The owner's name gets into commands and titles. What cannot be a package's is a folder of whoever wrote the report.
        return (owner, short) if is_folder(owner) else ("user", path)
    if _GENERATED.match(path):
        return "python", path
    match = _REMOTE.match(path)
    if match:
        return match[1], f"{match[1]}/{match[2]}"
    if _STANDARD.match(path) or _WINDOWS_STANDARD.match(path):
        return "python", path
    if _BIN.match(path) and not path.endswith(".py"):
        return "python", path
    return _checkout(path)


#: The folders of an absolute path, or of one in the home folder. An address (https://...) is none, nor is "and/or".
#: A path begins behind what no folder's name holds: what fails at its end is not tried again from its middle.
_FOLDERS = searched(r"(?<![^\s\"'`>|*?,;()\[\]{}=])(?:~|[A-Za-z]:)?[/\\](?:[^\s/\\:\"'`<>|*?,;()\[\]{}=]{1,100}+[/\\])++(?=[\w.])")
#: Where ComfyUI and the web UIs keep what users install as checkouts.
PLUGIN_FOLDERS = frozenset({"custom_nodes", "extensions"})
_KEPT = KNOWN_PACKAGES | PLUGIN_FOLDERS | {"site-packages", "dist-packages"}
_SEPARATOR = searched(r"[/\\]")


def without_folders(text: str) -> str:
    """Return a text with the folders of absolute paths blanked, every place kept: what somebody calls his folders tells nothing.

    The name of the file stays, and so does what a package, a plug-in or ``site-packages`` (with the Python above it) is the beginning of.
    """
    return _FOLDERS.sub(_blanked, text) if "/" in text or "\\" in text else text


def _blanked(match: re.Match[str]) -> str:
    folders = match[0]
    begin = 0
    for separator in _SEPARATOR.finditer(folders):
        name = folders[begin : separator.start()]
        if name in _KEPT:
            kept = begin - 1 if "packages" not in name else max(folders.rfind(folders[begin - 1], 0, begin - 1), 0)
            return " " * kept + folders[kept:]
        begin = separator.end()
    return " " * (len(folders) - 1) + folders[-1]


def is_outside(owner: str) -> bool:
    """Tell whether an owner is a package above torch that has to do with the failure: neither Python nor what only calls the program."""
    return owner not in ("user", "python", "torch", "functorch") and owner not in _HOSTS


def place_of(frames: tuple[Frame, ...] | list[Frame]) -> Place:
    """Return the deepest frame in the reporter's own code and the deepest one in a package above torch."""
    user = library = None
    for frame in reversed(frames):
        owner, short = locate(frame.path)
        if owner == "user":
            user = user or _spot(short, frame)
        elif library is None and is_outside(owner):
            library = _spot(short, frame)
        if user and library:
            break
    return Place(user, library)


def _spot(short: str, frame: Frame) -> str:
    return f"{short}:{frame.number}" if frame.number is not None else short


def _checkout(path: str) -> tuple[str, str]:
    parts = path.split("/")
    if parts[0] in ("...", "…", "."):
        del parts[0]
    # A checkout: src/transformers/..., diffusers/diffusers/..., or a path that begins with the package.
    for at, part in enumerate(parts[:-1]):
        if part in KNOWN_PACKAGES and (at == 0 or parts[at - 1] in ("src", "...", "…", part)):
            # `transformers/examples/run.py` is a checkout's example, the reporter's own program.
            if parts[at + 1] in ("src", "examples", "scripts", "tests", part):
                continue
            return part, "/".join(parts[at:])
    if path.startswith(("/pytorch/torch/", "/opt/pytorch/pytorch/torch/", "/workspace/pytorch/torch/")) or "/pytorch/torch/" in path:
        return "torch", "torch/" + path.partition("/pytorch/torch/")[2]
    return "user", path
