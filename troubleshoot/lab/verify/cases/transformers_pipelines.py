"""Pipelines of transformers in bfloat16: what they hand to NumPy after the model has computed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from troubleshoot.lab.verify.outcomes import Program, Setting
from troubleshoot.lab.verify.registry import case

_WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cat", "sat", "on", "mat", "who", "where", "good", "bad", "example"]


def _tokenizer() -> Any:
    """Return a tokenizer of a dozen words, made here: nothing is downloaded."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = Tokenizer(models.WordLevel({word: place for place, word in enumerate(_WORDS)}, unk_token="[UNK]"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(
        tokenizer_object=words, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]", mask_token="[MASK]",
        model_max_length=32, model_input_names=["input_ids", "attention_mask"],
    )  # fmt: skip


def _saved(folder: Path, model_class: Any) -> Path:
    import torch
    from transformers import BertConfig

    place = folder / str(model_class.__name__)
    if not (place / "config.json").is_file():
        torch.manual_seed(4)
        config = BertConfig(
            vocab_size=len(_WORDS), hidden_size=32, num_hidden_layers=1, num_attention_heads=4, intermediate_size=64,
            max_position_embeddings=64, initializer_range=0.3,
        )  # fmt: skip
        if "Question" not in model_class.__name__:
            config.id2label = {0: "contradiction", 1: "neutral", 2: "entailment"}
            config.label2id = {name: place for place, name in config.id2label.items()}
        model_class(config).save_pretrained(place)
    return place


def _answers(setting: Setting, task: str, model_class: Any, *given: Any, **named: Any) -> Program:
    """A pipeline of this task is asked, and its scores are what is compared."""
    import torch
    from transformers import pipeline

    model = model_class.from_pretrained(_saved(setting.folder, model_class), torch_dtype=setting.dtype).eval()
    asked = pipeline(task, model=model.to(setting.device), tokenizer=_tokenizer(), device=setting.device)

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        said = asked(*given, **named)
        found = said if isinstance(said, list) else [said]
        # Zero-shot answers come sorted, with a list of scores; the others are in the order of the text.
        return torch.tensor([one["scores"] if "scores" in one else [one["score"]] for one in found], dtype=torch.float32)

    return Program(model, {}, call)


@case(
    issues=("transformers/text-classification-pipeline-bf16",),
    tier="upstream",
    dtypes=("bfloat16",),
    present={"transformers": ">=4.30"},
    installs={"transformers": "4.40.2", "accelerate": "1.5.2"},
    facts={"model": "BertForSequenceClassification"},
    seconds=7.0,
)
def text_classification_in_bfloat16(setting: Setting) -> Program:
    """A text-classification pipeline is asked with a bfloat16 model."""
    from transformers import BertForSequenceClassification

    return _answers(setting, "text-classification", BertForSequenceClassification, "the cat sat on the mat")


@case(
    issues=("transformers/question-answering-pipeline-bf16",),
    tier="upstream",
    dtypes=("bfloat16",),
    present={"transformers": ">=4.30"},
    installs={"transformers": "4.46.3", "accelerate": "1.5.2"},
    facts={"model": "BertForQuestionAnswering"},
    seconds=7.0,
)
def question_answering_in_bfloat16(setting: Setting) -> Program:
    """A question-answering pipeline is asked with a bfloat16 model."""
    from transformers import BertForQuestionAnswering

    return _answers(setting, "question-answering", BertForQuestionAnswering, question="who sat", context="the cat sat on the mat")


@case(
    issues=("transformers/token-classification-pipeline-bf16",),
    tier="upstream",
    dtypes=("bfloat16",),
    present={"transformers": ">=4.30"},
    installs={"transformers": "4.44.2", "accelerate": "1.5.2"},
    facts={"model": "BertForTokenClassification"},
    seconds=7.0,
)
def token_classification_in_bfloat16(setting: Setting) -> Program:
    """A token-classification pipeline is asked with a bfloat16 model."""
    from transformers import BertForTokenClassification

    return _answers(setting, "token-classification", BertForTokenClassification, "the cat sat on the mat", ignore_labels=[])


@case(
    issues=("transformers/zero-shot-pipeline-bf16",),
    tier="upstream",
    dtypes=("bfloat16",),
    present={"transformers": ">=4.30"},
    installs={"transformers": "4.44.2", "accelerate": "1.5.2"},
    facts={"model": "BertForSequenceClassification"},
    seconds=7.0,
)
def zero_shot_in_bfloat16(setting: Setting) -> Program:
    """A zero-shot classification pipeline is asked with a bfloat16 model."""
    from transformers import BertForSequenceClassification

    return _answers(setting, "zero-shot-classification", BertForSequenceClassification, "the cat sat", candidate_labels=["good", "bad"])


@case(
    issues=("transformers/pipeline-loads-float32",),
    tier="upstream",
    dtypes=("bfloat16", "float16"),
    present={"transformers": ">=4.30"},
    installs={"transformers": "4.51.3", "accelerate": "1.5.2"},
    plays=("state-dtype",),
    symptom="pipeline(...) loads the model in float32 although the checkpoint is in bfloat16: twice the memory.",
    seconds=7.0,
)
def pipeline_of_half_checkpoint(setting: Setting) -> Program:
    """A pipeline is made from the name of a half-precision checkpoint, and no dtype is named."""
    import torch
    from transformers import BertForSequenceClassification, pipeline

    whole = _saved(setting.folder, BertForSequenceClassification)
    place = setting.folder / f"half-{setting.name}"
    if not (place / "config.json").is_file():
        BertForSequenceClassification.from_pretrained(whole).to(setting.dtype).save_pretrained(place)
    more = {} if setting.shows("state-dtype") else {"torch_dtype": setting.dtype}
    asked = pipeline("text-classification", model=str(place), tokenizer=_tokenizer(), device=setting.device, **more)

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        return torch.tensor([one["score"] for one in asked("the cat sat on the mat", top_k=None)])

    def check(model: Any, _output: Any) -> str | None:
        held = next(model.parameters()).dtype
        return f"the checkpoint is {setting.name}, the model {held}" if held == torch.float32 and setting.name != "float32" else None

    return Program(asked.model, {}, call, check)
