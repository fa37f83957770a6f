"""Conditions as a reader is told them."""

from __future__ import annotations

import msgspec
import pytest

from troubleshoot.engine.matching.wording import describe
from troubleshoot.knowledge.schema import Condition


@pytest.mark.parametrize(
    ("data", "english", "chinese"),
    [
        ({"fact": "package.torch", "in": "<2.3"}, "torch is older than 2.3", "torch 低于 2.3"),
        (
            {"fact": "package.transformers", "in": ">=4.30,<4.31"},
            "transformers is 4.30 or newer and older than 4.31",
            "transformers 不低于 4.30 且 低于 4.31",
        ),
        ({"fact": "package.apex", "is": "present"}, "apex is installed", "已安装 apex"),
        ({"fact": "package.apex", "not": "present"}, "apex is not installed", "没有安装 apex"),
        ({"fact": "gpu.capability", "below": 7.5}, "the GPU's compute capability is below 7.5", "GPU 的计算能力低于 7.5"),
        ({"fact": "gpu.count", "at-least": 2}, "the number of GPUs is at least 2", "GPU 的数量不低于 2"),
        (
            {"fact": "support.bfloat16", "is": ["none", "emulated"]},
            "the GPU's support for bfloat16 is none or emulated",
            "GPU 对 bfloat16 的支持 是 none 或 emulated",
        ),
        ({"fact": "python", "is": "3.12"}, "python is 3.12", "python 是 3.12"),
        (
            {
                "all": [
                    {"fact": "dtype.input", "is": "bfloat16"},
                    {"any": [{"fact": "dtype.weight", "is": "float16"}, {"fact": "autocast", "not": "on"}]},
                ]
            },
            "the dtype of the input is bfloat16 and (the dtype of the weight is float16 or autocast is not on)",
            "input 的 dtype 是 bfloat16 且 (weight 的 dtype 是 float16 或 autocast 不是 on)",
        ),
        (
            {"none": [{"fact": "os", "is": "windows"}, {"text": ["fp16 fails", "fp16"]}]},
            "none of this holds: the system is windows; the report has words such as: fp16 fails",
            "以下都不成立：操作系统 是 windows；报告里有类似这样的词：fp16 fails",
        ),
        ({"frame": "vllm/"}, "a frame is in vllm/", "有一帧位于 vllm/"),
        (
            {"any": [{"frame": "vllm/"}, {"text": "vllm"}, {"frame": "sglang/"}, {"frame": "lmdeploy/"}]},
            "a frame is in vllm/, sglang/ or lmdeploy/ or the report has words such as: vllm",
            "有一帧位于 vllm/、sglang/ 或 lmdeploy/ 或 报告里有类似这样的词：vllm",
        ),
        ({"frame": ".py", "code": ".half("}, "a frame runs .half(", "有一帧运行 .half("),
        ({"frame": ".py", "function": "_init_weights"}, "a frame is in the function _init_weights", "有一帧位于函数 _init_weights"),
    ],
)
def test_a_condition_is_told_in_words(data: dict[str, object], english: str, chinese: str) -> None:
    condition = msgspec.convert(data, Condition)
    assert describe(condition) == english
    assert describe(condition, "zh") == chinese
