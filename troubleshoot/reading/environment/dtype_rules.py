"""The table of dtype support: one row per statement, each with the URL that says so.

The first row that fits decides. ``UNREAD`` names the sources that could not be opened, or only in part, when the table was last checked.
Literals only. ``native``: the hardware computes in it. ``emulated``: it works, by way of wider types.
``slow``: native, at a small fraction of the float32 rate. ``none``: there is no such kernel, so operations raise or never
reach the fast library.
"""

from __future__ import annotations

#: Kinds of operation that differ. ``attention`` is a fused kernel of scaled_dot_product_attention; its math fallback is a matmul.
OPERATIONS = ("elementwise", "matmul", "convolution", "attention")

#: The dtypes that are told apart; tf32 stands for float32 with TensorFloat-32 allowed.
DTYPES = (
    "float64", "float32", "tf32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz",
    "float4_e2m1fn_x2", "int8",
)  # fmt: skip

_ANY = OPERATIONS
_MM = ("matmul",)
_GEMM = ("matmul", "convolution", "attention")
_OCP8 = ("float8_e4m3fn", "float8_e5m2")
_FNUZ8 = ("float8_e4m3fnuz", "float8_e5m2fnuz")
_LOW = (*_OCP8, *_FNUZ8, "float4_e2m1fn_x2")

_THROUGHPUT = "https://docs.nvidia.com/cuda/cuda-c-best-practices-guide/#throughput-of-native-arithmetic-instructions"
_CAPABILITIES = "https://docs.nvidia.com/cuda/cuda-c-programming-guide/#compute-capabilities"
_HALF_ON_61 = "https://forums.developer.nvidia.com/t/half-precision-throughput-on-compute-6-1/68177"
_BF16_EMULATED = "https://github.com/pytorch/pytorch/pull/148322"
_BF16_CONVOLUTION = "https://github.com/pytorch/pytorch/pull/81139"
_SDPA = "https://github.com/pytorch/pytorch/blob/main/aten/src/ATen/native/transformers/cuda/sdp_utils.cpp"
_SCALED_MM = "https://github.com/pytorch/pytorch/pull/164251"
_ROCM = "https://rocm.docs.amd.com/en/latest/reference/precision-support.html"
_ROCM_CDNA = "https://rocm.docs.amd.com/projects/rocprofiler-compute/en/develop/conceptual/cdna/cdna-performance-model.html"
_CDNA1_MFMA = "https://reviews.llvm.org/D128079"
_FNUZ = "https://github.com/triton-lang/triton/pull/7186"
_TORCH_CUDA = "https://github.com/pytorch/pytorch/blob/main/torch/cuda/__init__.py"
_MPS = "https://developer.apple.com/documentation/metalperformanceshaders/mpsdatatype"
_MPS_BF16 = "https://github.com/huggingface/transformers/pull/40458"
_MPS_FLOAT8 = "https://github.com/pytorch/pytorch/pull/194074"
_XPU = "https://docs.pytorch.org/docs/stable/notes/get_start_xpu.html"
_XPU_BF16 = "https://github.com/intel/intel-xpu-backend-for-triton/pull/1888"
_XPU_FLOAT64 = "https://github.com/pytorch/pytorch/issues/147731"
_ASCEND_910A = "https://github.com/vllm-project/vllm-ascend/issues/9294"
_ASCEND_BF16 = "https://www.hiascend.com/document/detail/en/canncommercial/850/API/ascendcopapi/atlasascendc_api_07_0021.html"
_GAUDI = "https://docs.habana.ai/en/latest/Pytorch_Operators/Pytorch_Operators.html"
_GAUDI_BF16 = "https://huggingface.co/docs/transformers/v5.10.2/perf_train_gaudi"
_TPU = "https://cloud.google.com/tpu/docs/bfloat16"
_TPU_HALF = "https://github.com/pytorch/xla/pull/2536"
_CPU_HALF = "https://github.com/f-dangel/singd/issues/71"
_CPU_BF16 = "https://intel.github.io/intel-extension-for-pytorch/latest/tutorials/features/amp.html"
_DTYPES_PAGE = "https://docs.pytorch.org/docs/stable/tensor_attributes.html"

#: Sources that could not be read in November 2026, or not as a whole, with what was read instead.
UNREAD: dict[str, str] = {
    _THROUGHPUT: "not opened; its table was read where others quote it, for 3.0 to 8.6 and 10.0 to 12.0",
    _CAPABILITIES: "not opened",
    _ROCM: "opened in part: the lists of types, not the table by architecture",
    _TPU_HALF: "not opened; in pytorch/xla 1937 a maintainer says that TPUs have no float16 of their own",
    _CDNA1_MFMA: "opened in part",
}

_BF16_SLOW = (
    "computed in float32 with conversions and without fast libraries; torch.cuda.is_bf16_supported() says True all the same"
    " (False up to PyTorch 2.2)"
)
_FP8_STORED = "float8 is for storage and scaled matrix products; nothing else has a float8 kernel"

#: A statement about NVIDIA GPUs: from this compute capability, to before that one, dtypes, operations, state, note, source.
NvidiaRule = tuple[tuple[int, int], tuple[int, int], tuple[str, ...], tuple[str, ...], str, str, str]

NVIDIA: tuple[NvidiaRule, ...] = (
    ((3, 0), (99, 0), ("float32",), _ANY, "native", "", _THROUGHPUT),
    ((6, 0), (6, 1), ("float64",), _ANY, "native", "half the float32 rate", _THROUGHPUT),
    ((7, 0), (7, 1), ("float64",), _ANY, "native", "half the float32 rate", _THROUGHPUT),
    ((8, 0), (8, 1), ("float64",), _ANY, "native", "half the float32 rate", _THROUGHPUT),
    ((9, 0), (9, 1), ("float64",), _ANY, "native", "half the float32 rate", _THROUGHPUT),
    ((10, 0), (10, 1), ("float64",), _ANY, "native", "half the float32 rate", _THROUGHPUT),
    ((3, 5), (3, 8), ("float64",), _ANY, "native", "a third of the float32 rate", _THROUGHPUT),
    ((3, 0), (99, 0), ("float64",), _ANY, "slow", "1/24 of the float32 rate or less", _THROUGHPUT),
    ((3, 0), (99, 0), ("tf32",), ("elementwise",), "none", "TensorFloat-32 exists in matrix products and convolutions only", _CAPABILITIES),
    ((8, 0), (99, 0), ("tf32",), _ANY, "native", "", _TORCH_CUDA),
    ((3, 0), (8, 0), ("tf32",), _ANY, "none", "needs compute capability 8.0; the switches do nothing and float32 is used", _TORCH_CUDA),
    ((3, 0), (5, 3), ("float16",), _ANY, "emulated", "stored in 16 bits, computed in float32", _THROUGHPUT),
    ((6, 1), (6, 2), ("float16",), _ANY, "slow",
     "1/64 of the float32 rate in half arithmetic; matrix products accumulate in float32 and save memory, not time", _HALF_ON_61),
    ((5, 3), (8, 0), ("float16",), ("attention",), "native",
     "the memory-efficient kernel: FlashAttention needs compute capability 8.0 (PyTorch before 2.2: 7.5)", _SDPA),
    ((5, 3), (7, 0), ("float16",), _ANY, "native", "twice the float32 rate, no tensor cores", _THROUGHPUT),
    ((7, 0), (99, 0), ("float16",), ("elementwise",), "native", "", _THROUGHPUT),
    ((7, 0), (99, 0), ("float16",), _ANY, "native", "tensor cores (the GTX 16 series has none)", _SDPA),
    ((8, 0), (99, 0), ("bfloat16",), ("elementwise",), "native", "", _THROUGHPUT),
    ((8, 0), (99, 0), ("bfloat16",), _ANY, "native", "tensor cores", _SDPA),
    ((3, 0), (8, 0), ("bfloat16",), ("convolution",), "none",
     "cuDNN has no bfloat16 convolution below compute capability 8.0: PyTorch leaves cuDNN for slow kernels of its own",
     _BF16_CONVOLUTION),
    ((3, 0), (8, 0), ("bfloat16",), ("attention",), "emulated", "no fused kernel below 8.0: only the math fallback runs", _SDPA),
    ((3, 0), (8, 0), ("bfloat16",), _ANY, "emulated", _BF16_SLOW, _BF16_EMULATED),
    ((3, 0), (99, 0), ("int8",), ("elementwise",), "native", "", _THROUGHPUT),
    ((3, 0), (99, 0), ("int8",), ("convolution", "attention"), "none", "PyTorch has no int8 kernel for it on CUDA", _THROUGHPUT),
    ((7, 2), (99, 0), ("int8",), _MM, "native",
     "tensor cores, through torch._int_mm, bitsandbytes or torchao; torch.matmul itself takes no int8", _CAPABILITIES),
    ((6, 1), (7, 2), ("int8",), _MM, "emulated", "4-way dot products, no tensor cores", _THROUGHPUT),
    ((3, 0), (6, 1), ("int8",), _MM, "emulated", "no 8-bit arithmetic: computed in wider types", _THROUGHPUT),
    ((3, 0), (99, 0), _FNUZ8, _ANY, "none", "the fnuz formats are AMD's (MI300); here it is float8_e4m3fn and float8_e5m2", _FNUZ),
    ((10, 0), (99, 0), ("float4_e2m1fn_x2",), _MM, "native",
     "block-scaled matrix products only (torch._scaled_mm, torchao, Transformer Engine)", _CAPABILITIES),
    ((3, 0), (99, 0), ("float4_e2m1fn_x2",), _ANY, "none",
     "4-bit floating point exists in block-scaled matrix products only, from compute capability 10.0", _CAPABILITIES),
    ((8, 9), (99, 0), _OCP8, _MM, "native",
     "scaled matrix products only (torch._scaled_mm, torchao, Transformer Engine); torch.matmul has no float8 kernel", _SCALED_MM),
    ((3, 0), (8, 9), _OCP8, _MM, "none",
     "float8 matrix products need compute capability 8.9; weights can be stored in float8 and converted before use", _SCALED_MM),
    ((3, 0), (99, 0), _OCP8, _ANY, "none", _FP8_STORED, _DTYPES_PAGE),
)  # fmt: skip

#: A statement about another kind of device: kind, architectures (empty: all of them, also where it is not known), dtypes, operations,
#: state, note, source.
Rule = tuple[str, tuple[str, ...], tuple[str, ...], tuple[str, ...], str, str, str]

_CDNA = ("cdna1", "cdna2", "cdna3", "cdna4")
_WMMA = ("rdna3", "rdna3.5", "rdna4")
_OLD_AMD = ("gcn", "vega", "vega20", "rdna1", "rdna2")
_AMD = (*_OLD_AMD, *_WMMA, *_CDNA)

OTHERS: tuple[Rule, ...] = (
    ("rocm", (), ("float32",), _ANY, "native", "", _ROCM),
    ("rocm", _CDNA, ("float64",), _ANY, "native", "", _ROCM_CDNA),
    ("rocm", ("vega20",), ("float64",), _ANY, "native", "a quarter to half of the float32 rate", _ROCM),
    ("rocm", _AMD, ("float64",), _ANY, "slow", "1/16 of the float32 rate or less", _ROCM),
    ("rocm", ("gcn",), ("float16",), _ANY, "emulated", "stored in 16 bits; no packed half arithmetic", _ROCM),
    ("rocm", (), ("float16",), _ANY, "native", "", _ROCM),
    ("rocm", (*_CDNA, *_WMMA), ("bfloat16",), ("elementwise",), "emulated", "conversions to float32; matrix products are native", _ROCM),
    ("rocm", ("cdna1",), ("bfloat16",), _GEMM, "native",
     "matrix cores; AMD's profiler documentation lists no 16-bit matrix products for MI100, the instruction set has them", _CDNA1_MFMA),
    ("rocm", ("cdna2", "cdna3", "cdna4"), ("bfloat16",), _GEMM, "native", "matrix cores", _ROCM_CDNA),
    ("rocm", _WMMA, ("bfloat16",), _GEMM, "native", "matrix cores", _ROCM),
    ("rocm", _OLD_AMD, ("bfloat16",), _ANY, "emulated",
     "computed in float32; torch.cuda.is_bf16_supported() says True on every AMD GPU", _TORCH_CUDA),
    ("rocm", (), ("tf32",), ("elementwise",), "none", "TensorFloat-32 exists in matrix products only", _ROCM),
    ("rocm", ("cdna3",), ("tf32",), _GEMM, "native", "", _ROCM_CDNA),
    ("rocm", ("cdna4",), ("tf32",), _GEMM, "emulated",
     "MI350 has no TensorFloat-32 instructions; torch.cuda.is_tf32_supported() says True", _ROCM_CDNA),
    ("rocm", _AMD, ("tf32",), _ANY, "none", "no TensorFloat-32 instructions: float32 is used", _TORCH_CUDA),
    ("rocm", (), ("int8",), ("elementwise",), "native", "", _ROCM),
    ("rocm", (*_CDNA, *_WMMA), ("int8",), _MM, "native", "matrix cores", _ROCM),
    ("rocm", _OLD_AMD, ("int8",), _MM, "emulated", "no matrix cores", _ROCM),
    ("rocm", ("cdna3",), _FNUZ8, _MM, "native", "MI300's own float8 formats", _FNUZ),
    ("rocm", _AMD, _FNUZ8, _ANY, "none", "the fnuz formats exist on MI300 (gfx942) only, in matrix products", _FNUZ),
    ("rocm", ("cdna4", "rdna4"), _OCP8, _MM, "native", "scaled matrix products only", _ROCM),
    ("rocm", ("cdna3",), _OCP8, _MM, "none",
     "MI300 (gfx942) takes float8_e4m3fnuz and float8_e5m2fnuz; float8_e4m3fn and float8_e5m2 need MI350", _FNUZ),
    ("rocm", ("cdna4",), ("float4_e2m1fn_x2",), _MM, "native", "block-scaled matrix products only", _ROCM),
    ("rocm", _AMD, _LOW, _ANY, "none", "for storage; no kernel computes in it", _ROCM),
    ("mps", (), ("float64",), _ANY, "none", "Metal has no float64: tensors must become float32 before they are moved",
     "https://github.com/pytorch/pytorch/issues/122602"),
    ("mps", (), ("float32", "float16"), _ANY, "native", "", _MPS),
    ("mps", ("apple-m1", "apple-m2"), ("bfloat16",), _ANY, "emulated",
     "needs macOS 14 and PyTorch 2.3; computed in float32 on M1 and M2", _MPS_BF16),
    ("mps", ("apple-m3", "apple-m4", "apple-m5"), ("bfloat16",), _ANY, "native", "needs macOS 14 and PyTorch 2.3", _MPS_BF16),
    ("mps", (), ("bfloat16",), _ANY, "unknown",
     "needs macOS 14 and PyTorch 2.3; native from M3 on, emulated on M1 and M2", _MPS_BF16),
    ("mps", (), ("int8",), ("elementwise",), "native", "", _MPS),
    ("mps", (), ("float8_e4m3fn",), _ANY, "none",
     "no kernel computes in it; PyTorch can store it on MPS only in builds from September 2026 on", _MPS_FLOAT8),
    ("mps", (), _LOW, _ANY, "none", "MPS has no float4 and no other float8, not even to store",
     "https://github.com/pytorch/pytorch/issues/132624"),
    ("mps", (), ("tf32",), _ANY, "none", "TensorFloat-32 is NVIDIA's and AMD's", _MPS),
    ("xpu", ("xe-lp", "xe-lpg"), ("bfloat16",), _ANY, "emulated",
     "no matrix engines (XMX): converted to float32, at its rate", _XPU_BF16),
    ("xpu", (), ("float32", "float16", "bfloat16"), _ANY, "native", "", _XPU),
    ("xpu", (), ("int8",), ("elementwise",), "native", "", _DTYPES_PAGE),
    ("xpu", ("xe-hpg",), ("float64",), _ANY, "none",
     "Arc A-series has no float64 (\"Required aspect fp64 is not supported\")", _XPU_FLOAT64),
    ("xpu", ("xe-hpc", "xe2", "xe-lpg", "xe-lpg+"), ("float64",), _ANY, "native",
     "Data Center Max, Battlemage, Lunar Lake, Meteor Lake, Arrow Lake-H", _XPU_FLOAT64),
    ("npu", (), ("float32", "float16"), _ANY, "native", "", _ASCEND_910A),
    ("npu", ("ascend-910",), ("bfloat16",), _ANY, "none",
     "Ascend 910A takes float16, not bfloat16; 910B and later take both", _ASCEND_910A),
    ("npu", ("ascend-310p",), ("bfloat16",), _ANY, "none",
     "310P (Atlas inference products) has no bfloat16: not even a scalar converts to it", _ASCEND_BF16),
    ("npu", ("ascend-910b", "ascend-910c"), ("bfloat16",), _ANY, "native", "", _ASCEND_BF16),
    ("hpu", (), ("bfloat16",), _ANY, "native", "", _GAUDI_BF16),
    ("hpu", (), ("float32",), _ANY, "native", "", _GAUDI),
    ("hpu", ("gaudi2", "gaudi3"), ("float16", *_OCP8), ("matmul", "convolution"), "native", "", _GAUDI),
    ("xla", (), ("bfloat16",), _ANY, "native", "", _TPU),
    ("xla", (), ("float32",), _ANY, "native", "matrix products round their inputs to bfloat16 unless told otherwise", _TPU),
    ("xla", (), ("float16",), _ANY, "emulated", "TPUs compute in bfloat16 and float32; use bfloat16", _TPU_HALF),
    ("cpu", (), ("float64", "float32"), _ANY, "native", "", _DTYPES_PAGE),
    ("cpu", (), ("float16",), _ANY, "emulated",
     "matrix products and convolutions raise \"not implemented for 'Half'\" before PyTorch 2.2, and are slow after", _CPU_HALF),
    ("cpu", ("bf16",), ("bfloat16",), _GEMM, "native", "this CPU has bfloat16 instructions", _CPU_BF16),
    ("cpu", (), ("bfloat16",), _ANY, "emulated",
     "fast only on CPUs with bfloat16 instructions (AVX512-BF16, AMX); computed in float32 elsewhere", _CPU_BF16),
    ("cpu", (), ("int8",), ("elementwise", "matmul"), "native", "", _DTYPES_PAGE),
    ("cpu", (), (*_OCP8, *_FNUZ8), _MM, "none",
     "stored and converted; of products only 2-D ones run (as seen with PyTorch 2.13), slowly, batched ones raise", _DTYPES_PAGE),
    ("cpu", (), _LOW, _ANY, "none", "the CPU stores and converts float8; it does not compute in it", _DTYPES_PAGE),
    ("cpu", (), ("tf32",), _ANY, "none", "TensorFloat-32 is for accelerators", _TORCH_CUDA),
)  # fmt: skip

#: Turing chips without tensor cores (TU116, TU117): the GTX 16 series and its relatives.
TU11X = ("GTX 16", "MX450", "MX550", "CMP 30HX", "T1000", "T600", "T400", "T500", "T1200", "T2000", "Quadro T")

#: Defects that are known although the operation is supported: names begin, dtype, operation, text, source.
CAVEATS: tuple[tuple[tuple[str, ...], str, str, str, str], ...] = (
    (TU11X, "float16", "convolution",
     "returns NaN through cuDNN in builds for CUDA 11, as reported for GTX 1650 and 1660 (the others have the same chips);"
     " keep convolutions in float32, or try torch.backends.cudnn.benchmark = True",
     "https://github.com/pytorch/pytorch/issues/58123"),
)  # fmt: skip
