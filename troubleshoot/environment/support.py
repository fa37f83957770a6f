"""Which accelerator computes in which dtype, per kind of operation, with the source of each statement.

``native``: the hardware computes in it. ``emulated``: it works, through float32 and conversions. ``slow``: natively, at a small fraction of
the float32 rate. ``none``: the operation raises. ``unknown``: no source was found.
"""

from __future__ import annotations

from dataclasses import dataclass

from troubleshoot.environment.model import Accelerator

#: Kinds of operation that differ. ``attention`` is scaled_dot_product_attention with a fused kernel; its math fallback is a matmul.
OPERATIONS = ("elementwise", "matmul", "convolution", "attention")

#: The dtypes that are told apart; tf32 stands for float32 with TensorFloat-32 allowed.
DTYPES = (
    "float64",
    "float32",
    "tf32",
    "float16",
    "bfloat16",
    "float8_e4m3fn",
    "float8_e5m2",
    "float8_e4m3fnuz",
    "float8_e5m2fnuz",
    "float4_e2m1fn_x2",
    "int8",
)

_SPELLINGS = {"float4": "float4_e2m1fn_x2", "float8": "float8_e4m3fn", "fp8": "float8_e4m3fn"}

CUDA_THROUGHPUT = "https://docs.nvidia.com/cuda/cuda-c-programming-guide/#arithmetic-instructions"
CUDA_CAPABILITIES = "https://docs.nvidia.com/cuda/cuda-c-programming-guide/#compute-capabilities"
CUBLAS = "https://docs.nvidia.com/cuda/cublas/#cublasgemmex"
BF16_EMULATED = "https://github.com/pytorch/pytorch/issues/124996"
BF16_CONVOLUTION = "https://github.com/pytorch/pytorch/pull/81139"
GTX16_NAN = "https://github.com/pytorch/pytorch/issues/58123"
SDPA = "https://github.com/pytorch/pytorch/blob/main/aten/src/ATen/native/transformers/cuda/sdp_utils.cpp"
SCALED_MM = "https://github.com/pytorch/pytorch/blob/main/aten/src/ATen/native/cuda/Blas.cpp"
ROCM = "https://rocm.docs.amd.com/en/latest/reference/precision-support.html"
MPS_BF16 = "https://github.com/pytorch/pytorch/pull/119641"
MPS_BF16_EMULATED = "https://github.com/huggingface/transformers/pull/40458"
MPS_DTYPES = "https://docs.pytorch.org/docs/stable/notes/mps.html"
XPU = "https://docs.pytorch.org/docs/stable/notes/get_start_xpu.html"
ASCEND = "https://www.hiascend.com/document"
GAUDI = "https://docs.habana.ai/en/latest/PyTorch/PyTorch_Mixed_Precision/index.html"
TPU = "https://cloud.google.com/tpu/docs/bfloat16"
CPU_HALF = "https://github.com/pytorch/pytorch/issues/97068"


@dataclass(frozen=True)
class Support:
    """How a dtype is supported: ``state`` is native, emulated, slow, none or unknown; ``note`` says what follows; ``source`` is a URL.

    ``caveat`` names a defect that is known although the operation is supported.
    """

    state: str
    note: str
    source: str
    caveat: str | None = None

    @property
    def usable(self) -> bool | None:
        """True where results come without an error, None where that is unknown."""
        return None if self.state == "unknown" else self.state != "none"


_UNKNOWN = Support("unknown", "nothing is known of this combination", "")


def support(accelerator: Accelerator | str, dtype: str, operation: str = "matmul") -> Support:
    """Tell how ``accelerator`` (or "cpu") supports ``dtype`` in a kind of operation of ``OPERATIONS``.

    An accelerator that is known by its architecture or compute capability alone is enough. Where the architecture's members differ, the
    answer is unknown. Raises ValueError for another operation.
    """
    if operation not in OPERATIONS:
        raise ValueError(f"operation must be one of {', '.join(OPERATIONS)}, not {operation!r}")
    dtype = _SPELLINGS.get(dtype, dtype)
    if dtype not in DTYPES:
        return _UNKNOWN
    if isinstance(accelerator, str):
        return _cpu(dtype, operation) if accelerator == "cpu" else _UNKNOWN
    rules = {"cuda": _cuda, "rocm": _rocm, "mps": _mps, "xpu": _xpu, "npu": _npu, "hpu": _hpu, "xla": _xla}.get(accelerator.kind)
    return rules(accelerator, dtype, operation) if rules else _UNKNOWN


def _cuda(accelerator: Accelerator, dtype: str, operation: str) -> Support:
    capability = accelerator.capability
    if capability is not None:
        return _nvidia(capability, dtype, operation, accelerator.name)
    if accelerator.architecture is None:
        return _UNKNOWN
    from troubleshoot.environment import gpus

    members = {
        known for kind, known, architecture, _ in gpus.GENERATIONS if kind == "cuda" and architecture == accelerator.architecture and known
    }
    answers = [_nvidia(one, dtype, operation, accelerator.name) for one in sorted(members)]
    if answers and len({one.state for one in answers}) == 1:
        return answers[0]
    return _UNKNOWN


def _nvidia(capability: tuple[int, int], dtype: str, operation: str, name: str) -> Support:
    if dtype == "float32":
        return Support("native", "", CUDA_THROUGHPUT)
    if dtype == "float64":
        if capability in ((6, 0), (7, 0), (8, 0), (9, 0), (10, 0)):
            return Support("native", "half the float32 rate", CUDA_THROUGHPUT)
        return Support("slow", "1/24 of the float32 rate or less", CUDA_THROUGHPUT)
    if dtype == "float16":
        return _nvidia_float16(capability, operation, name)
    if dtype == "bfloat16":
        return _nvidia_bfloat16(capability, operation)
    if dtype == "tf32":
        if operation == "elementwise":
            return Support("none", "TensorFloat-32 exists in matrix products and convolutions only", CUDA_CAPABILITIES)
        if capability >= (8, 0):
            return Support("native", "", CUDA_CAPABILITIES)
        return Support(
            "none", "TensorFloat-32 needs compute capability 8.0; the switches have no effect and float32 is used", CUDA_CAPABILITIES
        )
    if dtype == "int8":
        return _nvidia_int8(capability, operation)
    if dtype.endswith("fnuz"):
        return Support("none", "the fnuz formats are AMD's (MI300); NVIDIA's are float8_e4m3fn and float8_e5m2", SCALED_MM)
    if dtype == "float4_e2m1fn_x2":
        if operation == "matmul" and capability >= (10, 0):
            return Support("native", "block-scaled matrix products only (torch._scaled_mm, torchao, Transformer Engine)", CUDA_CAPABILITIES)
        return Support(
            "none", "4-bit floating point needs compute capability 10.0 and exists in block-scaled matrix products only", CUDA_CAPABILITIES
        )
    if operation == "matmul" and capability >= (8, 9):
        return Support(
            "native",
            "scaled matrix products only (torch._scaled_mm, torchao, Transformer Engine); torch.matmul has no float8 kernel",
            SCALED_MM,
        )
    if operation == "matmul":
        return Support(
            "none",
            "float8 matrix products need compute capability 8.9; weights can be stored in float8 and converted before use",
            SCALED_MM,
        )
    return Support("none", "float8 is for storage and scaled matrix products; other operations have no float8 kernel", SCALED_MM)


def _nvidia_float16(capability: tuple[int, int], operation: str, name: str) -> Support:
    if operation == "attention" and capability < (7, 5):
        return Support(
            "native" if capability >= (7, 0) else "emulated",
            "FlashAttention needs compute capability 8.0 (PyTorch's own: 7.5 before 2.5); the memory-efficient kernel is used",
            SDPA,
        )
    if capability < (5, 3):
        return Support("emulated", "stored in 16 bits, computed in float32", CUDA_THROUGHPUT)
    if capability == (6, 1):
        return Support(
            "slow",
            "1/64 of the float32 rate in half arithmetic; PyTorch's matrix products accumulate in float32 and gain memory, not time",
            CUDA_THROUGHPUT,
        )
    caveat = None
    if capability == (7, 5) and _is_tu11x(name):
        caveat = "GTX 16xx: float16 convolutions through cuDNN return NaN with CUDA 10.2 and later builds; use float32 there"
    tensor_cores = capability >= (7, 0) and not (capability == (7, 5) and _is_tu11x(name))
    return Support(
        "native",
        "tensor cores" if tensor_cores and operation in ("matmul", "convolution") else "",
        GTX16_NAN if caveat else CUDA_THROUGHPUT,
        caveat,
    )


def _is_tu11x(name: str) -> bool:
    """TU116 and TU117 have compute capability 7.5 without tensor cores."""
    from troubleshoot.environment.hardware import find_gpu

    known = find_gpu(name)
    return known is not None and known.name.startswith(
        ("GTX 16", "MX450", "MX550", "CMP 30HX", "T1000", "T600", "T400", "T500", "T1200", "T2000", "Quadro T")
    )


def _nvidia_bfloat16(capability: tuple[int, int], operation: str) -> Support:
    if capability >= (8, 0):
        return Support("native", "", CUDA_THROUGHPUT)
    if operation == "convolution":
        return Support(
            "none",
            "cuDNN has no bfloat16 convolution below compute capability 8.0: autocast's and channels-last convolutions raise, others fall to slow kernels",
            BF16_CONVOLUTION,
        )
    if operation == "attention":
        return Support("emulated", "the fused kernels need compute capability 8.0 for bfloat16; only the math fallback runs", SDPA)
    return Support(
        "emulated",
        "computed in float32 with conversions, slower than float32; torch.cuda.is_bf16_supported() says True all the same",
        BF16_EMULATED,
    )


def _nvidia_int8(capability: tuple[int, int], operation: str) -> Support:
    if operation == "elementwise":
        return Support("native", "", CUDA_THROUGHPUT)
    if operation != "matmul":
        return Support("none", "PyTorch has no int8 kernel for it on CUDA", CUDA_THROUGHPUT)
    if capability >= (7, 2):
        return Support(
            "native", "tensor cores, through torch._int_mm, bitsandbytes or torchao; torch.matmul itself takes no int8", CUDA_THROUGHPUT
        )
    if capability >= (6, 1):
        return Support("emulated", "4-way dot product instructions, no tensor cores", CUDA_THROUGHPUT)
    return Support("emulated", "no 8-bit arithmetic: computed in wider types", CUDA_THROUGHPUT)


_CDNA = ("cdna1", "cdna2", "cdna3", "cdna4")


def _rocm(accelerator: Accelerator, dtype: str, operation: str) -> Support:
    architecture = accelerator.architecture or ""
    if not architecture:
        return _UNKNOWN
    if dtype in ("float32", "float64"):
        slow = dtype == "float64" and architecture not in _CDNA
        return Support("slow" if slow else "native", "1/16 of the float32 rate or less" if slow else "", ROCM)
    if dtype == "float16":
        return (
            Support("emulated", "stored in 16 bits; no packed half arithmetic", ROCM)
            if architecture == "gcn"
            else Support("native", "", ROCM)
        )
    if dtype == "bfloat16":
        if architecture in _CDNA or architecture in ("rdna3", "rdna3.5", "rdna4"):
            note = "matrix cores; element-wise arithmetic goes through float32" if operation == "elementwise" else ""
            return Support("native", note, ROCM)
        return Support(
            "emulated", "no bfloat16 instructions: computed in float32; torch.cuda.is_bf16_supported() is True on every AMD GPU", ROCM
        )
    if dtype == "tf32":
        state = "native" if architecture == "cdna3" and operation != "elementwise" else "none"
        return Support(state, "" if state == "native" else "no TensorFloat-32 matrix instructions", ROCM)
    if dtype == "int8":
        return (
            Support("native", "", ROCM)
            if operation == "elementwise" or architecture in (*_CDNA, "rdna3", "rdna3.5", "rdna4")
            else Support("emulated", "no matrix instructions for int8", ROCM)
        )
    if operation != "matmul":
        return Support("none", "float8 and float4 are for storage and scaled matrix products", ROCM)
    if dtype.endswith("fnuz"):
        return (
            Support("native", "MI300's own float8 formats", ROCM)
            if architecture == "cdna3"
            else Support("none", "the fnuz formats are MI300's (gfx942) only", ROCM)
        )
    if dtype == "float4_e2m1fn_x2":
        return (
            Support("native", "block-scaled matrix products", ROCM)
            if architecture == "cdna4"
            else Support("none", "4-bit floating point needs MI350 (gfx950)", ROCM)
        )
    if architecture in ("cdna4", "rdna4"):
        return Support("native", "scaled matrix products", ROCM)
    if architecture == "cdna3":
        return Support(
            "none",
            "MI300 (gfx942) takes float8_e4m3fnuz and float8_e5m2fnuz; the OCP formats float8_e4m3fn and float8_e5m2 need MI350",
            ROCM,
        )
    return Support("none", "no float8 matrix instructions", ROCM)


def _mps(accelerator: Accelerator, dtype: str, operation: str) -> Support:
    if dtype == "float64":
        return Support("none", "Metal has no float64: tensors must be converted to float32 before they are moved", MPS_DTYPES)
    if dtype in ("float32", "float16"):
        return Support("native", "", MPS_DTYPES)
    if dtype == "bfloat16":
        if accelerator.architecture in ("apple-m1", "apple-m2"):
            return Support("emulated", "needs macOS 14 and PyTorch 2.3; computed in float32 on M1 and M2", MPS_BF16_EMULATED)
        if accelerator.architecture is None:
            return Support("unknown", "needs macOS 14 and PyTorch 2.3; native from M3 on, emulated on M1 and M2", MPS_BF16_EMULATED)
        return Support("native", "needs macOS 14 and PyTorch 2.3", MPS_BF16)
    if dtype == "int8":
        return Support("native", "", MPS_DTYPES) if operation == "elementwise" else Support("none", "no int8 kernel", MPS_DTYPES)
    return Support("none", "float8, float4 and TensorFloat-32 do not exist on MPS", MPS_DTYPES)


def _xpu(accelerator: Accelerator, dtype: str, operation: str) -> Support:
    architecture = accelerator.architecture
    if dtype == "float64":
        if architecture == "xe-hpg":
            return Support("none", "Arc A-series has no float64; it is emulated only if the driver is told to", XPU)
        return Support("native", "", XPU) if architecture in ("xe-hpc", "xe2") else _UNKNOWN
    if dtype in ("float32", "float16", "bfloat16", "int8"):
        return Support("native", "", XPU)
    if dtype == "tf32":
        return Support("native", "", XPU) if architecture == "xe-hpc" and operation != "elementwise" else _UNKNOWN
    return _UNKNOWN


def _npu(accelerator: Accelerator, dtype: str, operation: str) -> Support:
    architecture = accelerator.architecture
    if dtype in ("float32", "float16"):
        return Support("native", "", ASCEND)
    if dtype == "bfloat16" and architecture in ("ascend-910", "ascend-310p"):
        return Support("none", "Ascend 910 (A1) and 310P have no bfloat16; 910B and later do", ASCEND)
    if dtype == "bfloat16" and architecture in ("ascend-910b", "ascend-910c"):
        return Support("native", "", ASCEND)
    return _UNKNOWN


def _hpu(accelerator: Accelerator, dtype: str, operation: str) -> Support:
    if dtype in ("float32", "bfloat16"):
        return Support("native", "", GAUDI)
    if dtype == "float16":
        return (
            Support("none", "first-generation Gaudi has no float16", GAUDI)
            if accelerator.architecture == "gaudi"
            else Support("native", "", GAUDI)
        )
    if dtype.startswith("float8") and not dtype.endswith("fnuz") and operation == "matmul":
        return (
            Support("none", "first-generation Gaudi has no float8", GAUDI)
            if accelerator.architecture == "gaudi"
            else Support("native", "", GAUDI)
        )
    return _UNKNOWN


def _xla(accelerator: Accelerator, dtype: str, operation: str) -> Support:
    if dtype in ("float32", "bfloat16"):
        return Support("native", "", TPU)
    if dtype == "float16":
        return Support("emulated", "TPUs compute in bfloat16 and float32", TPU)
    return _UNKNOWN


def _cpu(dtype: str, operation: str) -> Support:
    if dtype in ("float64", "float32"):
        return Support("native", "", CPU_HALF)
    if dtype == "float16":
        return Support(
            "emulated",
            "many operations had no float16 kernel on the CPU before PyTorch 2.2 (\"not implemented for 'Half'\"); those that exist are slower than float32",
            CPU_HALF,
        )
    if dtype == "bfloat16":
        return Support("emulated", "fast only with AVX512-BF16 or AMX; computed in float32 elsewhere", CPU_HALF)
    if dtype == "int8":
        return (
            Support("native", "", CPU_HALF)
            if operation in ("elementwise", "matmul")
            else Support("none", "no int8 kernel outside quantized operators", CPU_HALF)
        )
    return Support("none", "float8, float4 and TensorFloat-32 are for accelerators; the CPU stores and converts float8", CPU_HALF)
