"""The accelerators by name: which generation each belongs to, and how much memory it has.

Compute capabilities: https://developer.nvidia.com/cuda-gpus and https://developer.nvidia.com/cuda-legacy-gpus (opened). They name the
usual cards; mining cards, laptop variants and special editions that they leave out (CMP, PG503-216, T10, B100, ...) are placed by
their chip.
AMD targets: https://rocm.docs.amd.com/projects/install-on-linux/en/latest/reference/system-requirements.html (not opened; compared with
LLVM's list, see GFX, as far as gfx942).
Memory is the nominal size in GiB; several numbers mean several variants, none means that it varies (laptops, shared memory).
Literals only: importing this module builds nothing.
"""

from __future__ import annotations

#: (kind, compute capability, architecture, names with memory sizes)
Generation = tuple[str, "tuple[int, int] | None", str, "tuple[tuple[str, tuple[float, ...]], ...]"]

#: (kind, compute capability, architecture, ((name, memory sizes), ...)). The name is written without its vendor.
GENERATIONS: tuple[Generation, ...] = (
    ("cuda", (3, 5), "kepler", (
        ("K40", (12,)), ("K20", (5,)), ("K20X", (6,)), ("GTX Titan Black", (6,)), ("GTX 780 Ti", (3,)), ("GTX Titan", (6,)),
    )),
    ("cuda", (3, 7), "kepler", (
        ("K80", (12,)),
    )),
    ("cuda", (5, 0), "maxwell", (
        ("GTX 750 Ti", (2,)), ("GTX 750", (1, 2)), ("M10", (8,)), ("Quadro K2200", (4,)), ("940MX", (2, 4)), ("GTX 950M", (2, 4)),
        ("GTX 960M", (2, 4)), ("Quadro M1200", (4,)), ("MX130", (2, 4)),
    )),
    ("cuda", (5, 2), "maxwell", (
        ("GTX 950", (2,)), ("GTX 960", (2, 4)), ("GTX 970", (4,)), ("GTX 980", (4,)), ("GTX 980 Ti", (6,)), ("GTX Titan X", (12,)),
        ("M40", (12, 24)), ("M60", (8,)), ("M4", (4,)), ("M6", (8,)), ("Quadro M6000", (12, 24)), ("Quadro M4000", (8,)),
        ("Quadro M5000", (8,)), ("Quadro M2000", (4,)),
    )),
    ("cuda", (5, 3), "maxwell", (
        ("Jetson Nano", (2, 4)), ("Jetson TX1", (4,)),
    )),
    ("cuda", (6, 0), "pascal", (
        ("P100", (12, 16)), ("Quadro GP100", (16,)),
    )),
    ("cuda", (6, 1), "pascal", (
        ("GT 1030", (2, 4)), ("GTX 1050", (2, 3, 4)), ("GTX 1050 Ti", (4,)), ("GTX 1060", (3, 6)), ("GTX 1070", (8,)),
        ("GTX 1070 Ti", (8,)), ("GTX 1080", (8,)), ("GTX 1080 Ti", (11,)), ("Titan Xp", (12,)), ("Titan X Pascal", (12,)), ("P4", (8,)),
        ("P6", (16,)), ("P40", (24,)), ("P102-100", (5, 10)), ("P104-100", (4, 8)), ("P106-100", (6,)), ("Quadro P400", (2,)),
        ("Quadro P600", (2, 4)), ("Quadro P620", (2,)), ("Quadro P1000", (4,)), ("Quadro P2000", (4, 5)), ("Quadro P2200", (5,)),
        ("Quadro P4000", (8,)), ("Quadro P5000", (16,)), ("Quadro P5200", (16,)), ("Quadro P6000", (24,)), ("MX150", (2, 4)),
        ("MX250", (2, 4)), ("MX350", (2,)),
    )),
    ("cuda", (6, 2), "pascal", (
        ("Jetson TX2", (4, 8)),
    )),
    ("cuda", (7, 0), "volta", (
        ("V100", (16, 32)), ("V100S", (32,)), ("PG503-216", (32,)), ("Titan V", (12,)), ("Titan V CEO", (32,)), ("Quadro GV100", (32,)),
        ("CMP 100-210", (16,)),
    )),
    ("cuda", (7, 2), "volta", (
        ("Jetson AGX Xavier", (16, 32, 64)), ("Jetson Xavier NX", (8, 16)),
    )),
    ("cuda", (7, 5), "turing", (
        ("T4", (16,)), ("T4G", (16,)), ("T10", (16,)), ("T40", (24,)), ("RTX 2060", (6, 12)),
        ("RTX 2060 SUPER", (8,)), ("RTX 2070", (8,)), ("RTX 2070 SUPER", (8,)), ("RTX 2080", (8,)), ("RTX 2080 SUPER", (8,)),
        ("RTX 2080 Ti", (11,)), ("Titan RTX", (24,)), ("Quadro RTX 3000", (6,)), ("Quadro RTX 4000", (8,)), ("Quadro RTX 5000", (16,)),
        ("Quadro RTX 6000", (24,)), ("Quadro RTX 8000", (48,)), ("T1000", (4, 8)), ("T600", (4,)), ("T400", (2, 4)), ("T500", (2, 4)),
        ("T1200", (4,)), ("T2000", (4,)), ("Quadro T1000", (4,)), ("Quadro T2000", (4,)), ("GTX 1630", (4,)), ("GTX 1650", (4,)),
        ("GTX 1650 Ti", (4,)), ("GTX 1650 SUPER", (4,)), ("GTX 1660", (6,)), ("GTX 1660 SUPER", (6,)), ("GTX 1660 Ti", (6,)),
        ("MX450", (2,)), ("MX550", (2,)), ("CMP 30HX", (6,)), ("CMP 40HX", (8,)), ("CMP 50HX", (10,)),
    )),
    ("cuda", (8, 0), "ampere", (
        ("A100", (40, 80)), ("A100X", (80,)), ("A800", (40, 80)), ("A30", (24,)), ("A30X", (24,)), ("CMP 170HX", (8,)),
        ("PG509-210", (80,)),
    )),
    ("cuda", (8, 6), "ampere", (
        ("A10", (24,)), ("A10G", (24,)), ("A10M", (24,)), ("A16", (16,)), ("A2", (16,)), ("A40", (48,)), ("RTX 2050", (4,)),
        ("RTX 3050", (6, 8)), ("RTX 3050 Ti", (4,)), ("RTX 3060", (8, 12)), ("RTX 3060 Ti", (8,)), ("RTX 3070", (8,)),
        ("RTX 3070 Ti", (8,)),
        ("RTX 3080", (10, 12)), ("RTX 3080 Ti", (12,)), ("RTX 3090", (24,)), ("RTX 3090 Ti", (24,)), ("RTX A400", (4,)),
        ("RTX A1000", (4, 6, 8)), ("RTX A2000", (6, 8, 12)), ("RTX A3000", (6, 12)), ("RTX A4000", (16,)), ("RTX A4500", (20,)),
        ("RTX A5000", (24,)), ("RTX A5500", (24,)), ("RTX A6000", (48,)), ("RTX A500", (4,)), ("MX570", (2, 4)),
    )),
    ("cuda", (8, 7), "ampere", (
        ("Jetson AGX Orin", (32, 64)), ("Jetson Orin", (4, 8, 16, 32, 64)), ("Jetson Orin NX", (8, 16)), ("Jetson Orin Nano", (4, 8)),
    )),
    ("cuda", (8, 9), "ada", (
        ("L4", (24,)), ("L20", (48,)), ("L40", (48,)), ("L40S", (48,)), ("L40G", (24,)), ("L2", (24,)), ("RTX 4050", (6,)),
        ("RTX 4060", (8,)), ("RTX 4060 Ti", (8, 16)), ("RTX 4070", (12,)), ("RTX 4070 SUPER", (12,)), ("RTX 4070 Ti", (12,)),
        ("RTX 4070 Ti SUPER", (16,)), ("RTX 4080", (16,)), ("RTX 4080 SUPER", (16,)), ("RTX 4090", (24,)), ("RTX 4090 D", (24,)),
        ("RTX 2000 Ada", (8, 16)), ("RTX 3000 Ada", (8,)), ("RTX 3500 Ada", (12,)), ("RTX 4000 Ada", (12, 20)),
        ("RTX 4000 SFF Ada", (20,)), ("RTX 4500 Ada", (24,)), ("RTX 5000 Ada", (16, 32)), ("RTX 5880 Ada", (48,)),
        ("RTX 6000 Ada", (48,)),
    )),
    ("cuda", (9, 0), "hopper", (
        ("H100", (64, 80, 94, 96)), ("H100 PCIe", (80,)), ("H100 SXM5", (80,)), ("H100 NVL", (94,)), ("H800", (80,)), ("H20", (96, 141)),
        ("H200", (141,)), ("GH200", (96, 144)),
    )),
    ("cuda", (10, 0), "blackwell", (
        ("B100", (192,)), ("B200", (180,)), ("GB200", (186,)),
    )),
    ("cuda", (10, 3), "blackwell", (
        ("B300", (270, 288)), ("GB300", (279, 288)),
    )),
    ("cuda", (11, 0), "blackwell", (
        ("Jetson AGX Thor", (128,)), ("Jetson Thor", (128,)), ("Jetson T5000", (128,)), ("Jetson T4000", (64,)),
    )),
    ("cuda", (12, 0), "blackwell", (
        ("RTX 5050", (8,)), ("RTX 5060", (8,)), ("RTX 5060 Ti", (8, 16)), ("RTX 5070", (12,)), ("RTX 5070 Ti", (16,)),
        ("RTX 5080", (16,)), ("RTX 5090", (32,)), ("RTX 5090 D", (24, 32)), ("RTX PRO 6000", (96,)), ("RTX PRO 5000", (48, 72)),
        ("RTX PRO 4500", (32,)), ("RTX PRO 4000", (24,)), ("RTX PRO 2000", (16,)), ("RTX PRO 3000", (12,)), ("RTX PRO 1000", (8,)),
        ("RTX PRO 500", (6,)), ("RTX 6000D", (84,)),
    )),
    ("cuda", (12, 1), "blackwell", (
        ("GB10", (128,)), ("DGX Spark", (128,)),
    )),
    ("rocm", None, "gcn", (
        ("RX 580", (4, 8)), ("RX 570", (4, 8)), ("RX 480", (4, 8)), ("RX 590", (8,)),
    )),
    ("rocm", None, "vega", (
        ("RX Vega 56", (8,)), ("RX Vega 64", (8,)), ("Vega Frontier", (16,)), ("MI25", (16,)),
    )),
    ("rocm", None, "vega20", (
        ("MI50", (16, 32)), ("MI60", (32,)), ("VII", (16,)), ("Pro VII", (16,)),
    )),
    ("rocm", None, "cdna1", (
        ("MI100", (32,)),
    )),
    ("rocm", None, "cdna2", (
        ("MI210", (64,)), ("MI250", (128,)), ("MI250X", (128,)),
    )),
    ("rocm", None, "cdna3", (
        ("MI300A", (128,)), ("MI300X", (192,)), ("MI308X", (192,)), ("MI325X", (256,)), ("MI300", (128, 192)),
    )),
    ("rocm", None, "cdna4", (
        ("MI350X", (288,)), ("MI355X", (288,)),
    )),
    ("rocm", None, "rdna1", (
        ("RX 5500 XT", (4, 8)), ("RX 5600 XT", (6,)), ("RX 5700", (8,)), ("RX 5700 XT", (8,)),
    )),
    ("rocm", None, "rdna2", (
        ("RX 6600", (8,)), ("RX 6600 XT", (8,)), ("RX 6650 XT", (8,)), ("RX 6700", (10,)), ("RX 6700 XT", (12,)), ("RX 6750 XT", (12,)),
        ("RX 6800", (16,)), ("RX 6800 XT", (16,)), ("RX 6900 XT", (16,)), ("RX 6950 XT", (16,)), ("Pro W6600", (8,)),
        ("Pro W6800", (32,)), ("Pro V620", (32,)), ("680M", ()),
    )),
    ("rocm", None, "rdna3", (
        ("RX 7600", (8,)), ("RX 7600 XT", (16,)), ("RX 7700 XT", (12,)), ("RX 7800 XT", (16,)), ("RX 7900 GRE", (16,)),
        ("RX 7900 XT", (20,)), ("RX 7900 XTX", (24,)), ("Pro W7700", (16,)), ("Pro W7800", (32, 48)), ("Pro W7900", (48,)),
        ("Pro V710", (28,)), ("780M", ()), ("760M", ()),
    )),
    ("rocm", None, "rdna3.5", (
        ("890M", ()), ("880M", ()), ("8060S", ()), ("8050S", ()), ("Ryzen AI Max+ 395", ()), ("Strix Halo", ()),
    )),
    ("rocm", None, "rdna4", (
        ("RX 9060 XT", (8, 16)), ("RX 9070", (16,)), ("RX 9070 XT", (16,)), ("RX 9070 GRE", (12,)), ("AI PRO R9700", (32,)),
    )),
    ("mps", None, "apple-m1", (
        ("M1", ()), ("M1 Pro", ()), ("M1 Max", ()), ("M1 Ultra", ()),
    )),
    ("mps", None, "apple-m2", (
        ("M2", ()), ("M2 Pro", ()), ("M2 Max", ()), ("M2 Ultra", ()),
    )),
    ("mps", None, "apple-m3", (
        ("M3", ()), ("M3 Pro", ()), ("M3 Max", ()), ("M3 Ultra", ()),
    )),
    ("mps", None, "apple-m4", (
        ("M4", ()), ("M4 Pro", ()), ("M4 Max", ()),
    )),
    ("mps", None, "apple-m5", (
        ("M5", ()), ("M5 Pro", ()), ("M5 Max", ()),
    )),
    ("xpu", None, "xe-hpg", (
        ("Arc A310", (4,)), ("Arc A380", (6,)), ("Arc A580", (8,)), ("Arc A750", (8,)), ("Arc A770", (8, 16)), ("Arc A770M", (16,)),
        ("Arc Pro A60", (12,)), ("Data Center GPU Flex 170", (16,)), ("Data Center GPU Flex 140", (12,)),
    )),
    ("xpu", None, "xe-hpc", (
        ("Data Center GPU Max 1100", (48,)), ("Data Center GPU Max 1550", (128,)), ("Ponte Vecchio", ()),
    )),
    ("xpu", None, "xe2", (
        ("Arc B570", (10,)), ("Arc B580", (12,)), ("Arc Pro B50", (16,)), ("Arc Pro B60", (24,)), ("Arc 140V", ()), ("Arc 130V", ()),
    )),
    ("xpu", None, "xe-lpg+", (
        ("Arc 140T", ()),
    )),
    ("xpu", None, "xe-lpg", (
        ("Meteor Lake", ()),
    )),
    ("xpu", None, "xe-lp", (
        ("Iris Xe", ()),
    )),
    ("npu", None, "ascend-310p", (
        ("Ascend 310P", (24,)), ("Ascend 310P3", (24,)), ("Atlas 300I Duo", (48, 96)),
    )),
    ("npu", None, "ascend-910", (
        ("Ascend 910", (32,)), ("Ascend 910A", (32,)), ("Ascend 910 ProA", (32,)), ("Ascend 910 ProB", (32,)),
    )),
    ("npu", None, "ascend-910b", (
        ("Ascend 910B", (32, 64)), ("Ascend 910B1", (64,)), ("Ascend 910B2", (64,)), ("Ascend 910B3", (64,)), ("Ascend 910B4", (32,)),
        ("Atlas 800T A2", (64,)),
    )),
    ("npu", None, "ascend-910c", (
        ("Ascend 910C", (128,)), ("Ascend 910_93", (64,)), ("Atlas A3", ()),
    )),
    ("hpu", None, "gaudi", (
        ("Gaudi", (32,)), ("HL-205", (32,)),
    )),
    ("hpu", None, "gaudi2", (
        ("Gaudi 2", (96,)), ("HL-225", (96,)),
    )),
    ("hpu", None, "gaudi3", (
        ("Gaudi 3", (128,)), ("HL-325L", (128,)),
    )),
    ("xla", None, "tpu", (
        ("TPU v2", (8,)), ("TPU v3", (16,)), ("TPU v4", (32,)), ("TPU v5e", (16,)), ("TPU v5p", (95,)), ("TPU v6e", (32,)),
    )),
)  # fmt: skip

#: Laptop variants with another amount of memory than the desktop card of the same name.
LAPTOP_MEMORY: dict[str, tuple[float, ...]] = {
    "RTX 2070": (8,), "RTX 2080": (8,), "RTX 3050": (4, 6), "RTX 3060": (6,), "RTX 3070": (8,), "RTX 3070 Ti": (8,), "RTX 3080": (8, 16),
    "RTX 3080 Ti": (16,), "RTX 4060": (8,), "RTX 4070": (8,), "RTX 4080": (12,), "RTX 4090": (16,), "RTX 5060": (8,), "RTX 5070": (8,),
    "RTX 5070 Ti": (12,), "RTX 5080": (16,), "RTX 5090": (24,), "RTX A5000": (16,), "GTX 1060": (6,), "GTX 1070": (8,), "GTX 1080": (8,),
}  # fmt: skip

#: AMD's LLVM targets, https://llvm.org/docs/AMDGPUUsage.html#processors.
GFX: dict[str, str] = {
    "gfx803": "gcn", "gfx900": "vega", "gfx906": "vega20", "gfx908": "cdna1", "gfx90a": "cdna2", "gfx90c": "vega", "gfx940": "cdna3",
    "gfx941": "cdna3", "gfx942": "cdna3", "gfx950": "cdna4", "gfx1010": "rdna1", "gfx1011": "rdna1", "gfx1012": "rdna1",
    "gfx1030": "rdna2", "gfx1031": "rdna2", "gfx1032": "rdna2", "gfx1033": "rdna2", "gfx1034": "rdna2", "gfx1035": "rdna2",
    "gfx1036": "rdna2", "gfx1100": "rdna3", "gfx1101": "rdna3", "gfx1102": "rdna3", "gfx1103": "rdna3", "gfx1150": "rdna3.5",
    "gfx1151": "rdna3.5", "gfx1152": "rdna3.5", "gfx1153": "rdna3.5", "gfx1200": "rdna4", "gfx1201": "rdna4",
}  # fmt: skip

#: Other names of the same thing; the key is normalised as :func:`troubleshoot.reading.environment.hardware.normalise` does it.
ALIASES: dict[str, str] = {
    "rtx3000": "Quadro RTX 3000", "rtx4000": "Quadro RTX 4000", "rtx5000": "Quadro RTX 5000", "rtx6000": "Quadro RTX 6000",
    "rtx8000": "Quadro RTX 8000", "a1000": "RTX A1000", "a2000": "RTX A2000", "a3000": "RTX A3000", "a4000": "RTX A4000",
    "a4500": "RTX A4500", "a5000": "RTX A5000", "a5500": "RTX A5500", "a6000": "RTX A6000", "6000ada": "RTX 6000 Ada",
    "pro6000": "RTX PRO 6000", "gv100": "Quadro GV100", "gp100": "Quadro GP100", "titanxp": "Titan Xp", "titanx": "GTX Titan X",
    "gtxtitanxp": "Titan Xp", "titanxpascal": "Titan X Pascal", "orin": "Jetson Orin", "agxorin": "Jetson AGX Orin",
    "orinnano": "Jetson Orin Nano", "orinnx": "Jetson Orin NX", "xavier": "Jetson AGX Xavier", "xaviernx": "Jetson Xavier NX",
    "thor": "Jetson Thor", "agxthor": "Jetson AGX Thor", "jetsonxavier": "Jetson AGX Xavier", "agxxavier": "Jetson AGX Xavier",
    "910": "Ascend 910", "910a": "Ascend 910A", "910b": "Ascend 910B", "910b1": "Ascend 910B1", "910b2": "Ascend 910B2",
    "910b3": "Ascend 910B3", "910b4": "Ascend 910B4", "910c": "Ascend 910C", "310p": "Ascend 310P", "310p3": "Ascend 310P3",
    "atlas800ta2": "Atlas 800T A2", "ascend91093": "Ascend 910_93", "a770": "Arc A770", "a750": "Arc A750", "a380": "Arc A380",
    "a580": "Arc A580", "b580": "Arc B580", "b570": "Arc B570", "max1550": "Data Center GPU Max 1550",
    "max1100": "Data Center GPU Max 1100", "flex170": "Data Center GPU Flex 170", "pvc": "Ponte Vecchio", "vega56": "RX Vega 56",
    "vega64": "RX Vega 64", "w6800": "Pro W6800", "w7800": "Pro W7800", "w7900": "Pro W7900", "v620": "Pro V620", "w7700": "Pro W7700",
    "r9700": "AI PRO R9700", "radeonvii": "VII", "aimax395": "Ryzen AI Max+ 395", "habanagaudi2": "Gaudi 2", "habanagaudi": "Gaudi",
    "ga100": "A100",
}  # fmt: skip
