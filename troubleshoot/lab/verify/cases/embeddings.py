"""sentence-transformers with a tiny random BERT."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from troubleshoot.lab.verify.outcomes import Program, Setting
from troubleshoot.lab.verify.registry import case

_ST: dict[str, Any] = {
    "tier": "upstream", "devices": ("cpu",), "dtypes": ("bfloat16",), "present": {"sentence-transformers": "", "transformers": ""},
    "seconds": 12.0,
}  # fmt: skip
_TEXTS = ["hello world", "a hello", "world b a", "b"]


def _saved(folder: Path) -> Path:
    """Save a random BERT and a word list once, for all runs."""
    import torch
    from transformers import BertConfig, BertModel, BertTokenizer

    place = folder / "bert"
    if not (place / "config.json").is_file():
        place.mkdir(exist_ok=True)
        words = place / "vocab.txt"
        words.write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "hello", "world", "a", "b"]), encoding="utf-8")
        torch.manual_seed(1)
        small = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
        BertModel(BertConfig(vocab_size=9, max_position_embeddings=32, **small)).save_pretrained(place)
        BertTokenizer(str(words)).save_pretrained(place)
    return place


def _encoder(setting: Setting) -> Any:
    from sentence_transformers import SentenceTransformer, models

    words = models.Transformer(str(_saved(setting.folder)))
    model: Any = SentenceTransformer(modules=[words, models.Pooling(32)], device="cpu")
    half = setting.faulty and setting.variant not in ("float32-model", "float16-model")
    return model.to(setting.dtype if half else "cpu")


@case(
    issues=("sentence_transformers/encode-bf16",), plays=("as-tensor", "float16-model", "float32-model"),
    shows={"sentence-transformers": ">=2.4,<3"}, installs={"sentence-transformers": "2.7.0", "transformers": "", "numpy": ""}, **_ST,
)  # fmt: skip
def embeddings_of_bfloat16_model(setting: Setting) -> Program:
    """encode() of a model in bfloat16 returns NumPy arrays."""
    import torch

    model = _encoder(setting)
    if setting.variant == "float16-model":
        model.half()

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        if setting.variant == "as-tensor":
            return model.encode(_TEXTS, convert_to_tensor=True).float()
        return torch.from_numpy(model.encode(_TEXTS)).float()

    return Program(model, {}, call)
