"""Phrases: symptoms in prose, English and Chinese."""

from __future__ import annotations

import random

import pytest

from troubleshoot.knowledge import load_kb, phrases
from troubleshoot.knowledge.phrases import Speech, parse_phrase, phrase_keys
from troubleshoot.knowledge.sentences import neighbours, sentences, tokens
from troubleshoot.knowledge.word_classes import WORD_CLASSES


def holds(phrase: str, text: str) -> bool:
    """Tell whether a phrase holds in any sentence of a text."""
    parsed = parse_phrase(phrase)
    return any(parsed.holds(sentence) for sentence in sentences(list(enumerate(text.splitlines(), 1))))


@pytest.mark.parametrize(
    ("phrase", "text"),
    [
        ("loss nan|inf", "After 100 steps the loss becomes NaN."),
        ("loss nan|inf", "{'loss': nan, 'learning_rate': 0.0001}"),
        ("nan grad_norm", "'grad_norm': nan"),
        ("all_black image*", "I only get all black images"),
        ("损失 nan", "训练几步后损失变成 nan 了"),
        ("图|图片 全黑", "生成的图片全黑"),
        ("!!!! output*", "the output is just !!!!!!!!"),
        ("generat* garbage|gibberish", "it generates gibberish"),
    ],
)
def test_phrases_that_hold(phrase: str, text: str) -> None:
    """Any order, any filling words, within a sentence."""
    assert holds(phrase, text)


@pytest.mark.parametrize(
    ("phrase", "text"),
    [
        ("loss nan", "The loss is fine. Is nan a number?"),
        ("loss nan", "loss 0.3\nnan"),
        ("loss nan", "lossless nano editor"),
        ("all_black image*", "images of all my black cats"),
        ("损失 nan", "损失很小"),
    ],
)
def test_phrases_that_do_not_hold(phrase: str, text: str) -> None:
    """Words from different sentences or inside other words do not add up."""
    assert not holds(phrase, text)


def told(phrase: str, text: str) -> bool:
    """Tell whether a phrase holds in a sentence together with the title."""
    return Speech(sentences(list(enumerate(text.splitlines(), 1)))).told(phrase) is not None


def test_a_title_goes_with_the_sentences_below_it() -> None:
    """The dtype is in the title, what goes wrong below it."""
    assert told("fp16 -inf|inf|nan", "FP16 training\n\nI use the script as it is. The model gives inf.")
    assert told("fp16 精度", "关于 fp16 的问题\n训练后精度很差")


@pytest.mark.parametrize(
    "text",
    [
        "FP16 training. It gives inf.\nThat is all.",
        "fp16\n\nclass  images  precision\nbus  inf  0.2",
        "fp16 training\n\nRuntimeError: the loss is inf",
        "2024-01-01 10:00:00 fp16 training\n\nthe value is inf",
        "Training\n\nWith fp16.\nIt gives inf.",
        "Add an fp16 switch\nFix inf in softmax\nUpdate the docs",
        "fp16 " + "and more " * 30 + "\n\nIt gives inf.",
        "fp16 training\n\nmasked = x.masked_fill(mask, inf)",
        "fp16 training\n\n--fill inf",
        "fp16 training\n\nfill inf \\",
    ],
)
def test_what_is_no_title_or_no_sentence_below_it(text: str) -> None:
    """Sentences in the first line, tables, messages, log lines, lists, two sentences below a title, a long first line, code and options."""
    assert not told("fp16 inf", text)


def test_a_line_that_ends_with_a_comma_goes_on() -> None:
    """Prose that was broken goes on in lower case; lists and logs do not."""
    assert holds("fp16 nan", "I train in fp16,\n\nbut the loss is nan")
    assert holds("fp16 全黑", "用 fp16 的时候，\n图片全黑")
    assert not holds("fp16 nan", "I train in fp16\nbut the loss is nan")
    assert not holds("fp16 nan", "dtype: fp16,\nNaN count: 0")
    assert not holds("fp16 nan", "fp16=True,\n0 nan")


def test_long_lines_count_by_clause() -> None:
    """A dump of options holds every word there is."""
    dump = ", ".join(f"option_{index}: value" for index in range(60))
    assert not holds("loss nan", f"loss: mse, {dump}, nan: false")


def test_a_number_does_not_end_a_sentence() -> None:
    """``0.0`` has a point."""
    assert holds("loss 0.0", "the loss is 0.0 from the first step")


@pytest.mark.parametrize("phrase", ["loss nan|inf", "图片 全黑", "a_b grad_norm nan"])
@pytest.mark.parametrize("text", ["the loss is nan", "生成的图片全黑", "grad norm a b nan"])
def test_a_holding_phrase_has_its_keys_among_the_tokens(phrase: str, text: str) -> None:
    """The index may lead past a phrase only where it cannot hold."""
    if holds(phrase, text):
        words = tokens(text.lower())
        assert all(any(key in words for key in group) for group in phrase_keys(parse_phrase(phrase)))


WRAPPED = """\
I am training a small network with mixed precision and after a few
thousand steps the loss turns nan. It worked well in float32 before I
changed anything
INFO the loader found eleven files in the folder of this run
warning: nothing of it is used
"""


def test_prose_that_is_wrapped_at_the_end_of_a_line_goes_on() -> None:
    """As mail programs and terminals wrap it; the number is that of the line where the sentence begins. A log's next line is not prose."""
    told = [(one.line, one.text) for one in sentences(list(enumerate(WRAPPED.splitlines(), 1)))]
    assert told == [
        (1, "I am training a small network with mixed precision and after a few thousand steps the loss turns nan"),
        (2, "It worked well in float32 before I changed anything"),
        (4, "INFO the loader found eleven files in the folder of this run"),
        (5, "warning: nothing of it is used"),
    ]


NARROW = """\
After 17 epochs I got an exception that tells that the minimum loss scale is
reached. When I wrap the call in `torch.autocast` I get errors like `Expected
Float, got Half` for the gradients. The readme says that my card does not know
bf16, so I tried the other one.
GPU and driver are new, the two cards are of one kind, in one box
RTX cards of the older one work
"""


def test_the_next_line_of_wrapped_prose_may_begin_with_a_name() -> None:
    """One that did not fit: a short one, such as RTX above, did, so that its line is another sentence."""
    assert [one.line for one in sentences(list(enumerate(NARROW.splitlines(), 1)))] == [1, 2, 3, 5, 6]


def test_a_line_of_a_megabyte_is_not_searched_for_its_end() -> None:
    """Only its last words tell whether it goes on."""
    assert [one.line for one in sentences([(1, "ab " * 400_000), (2, "goes on here")])] == [2]


@pytest.mark.parametrize(
    ("phrase", "text"),
    [
        ("<fp16> <cpu> <not>", "Half precision models cannot run on a CPU"),
        ("<fp16> <cpu> <not>", "cpu 不支持半精度"),
        ("numpy <bf16>|half <fails>", "NumPy crashes on BFloat16"),
        ("<mac> <fp64> <wrong>", "Float64 isn’t available on Apple silicon"),
    ],
)
def test_word_classes_hold_every_spelling(phrase: str, text: str) -> None:
    """A class stands for the words of both languages, alone or among alternatives."""
    assert holds(phrase, text)


@pytest.mark.parametrize("phrase", ["<fp16> <cpu> <not>", "<nonsense> cpu"])
def test_word_classes_claim_no_more_than_their_words(phrase: str) -> None:
    """Another dtype is not meant, and a class that does not exist holds nothing."""
    assert not holds(phrase, "bfloat16 does not run on this cpu nonsense")


@pytest.mark.parametrize(
    ("text", "held"),
    [
        ("the mask stays on the cpu, x is on the gpu", True),
        ("the mask is on the cpu but x is on the gpu", True),
        ("the mask is on the cpu and x is on the gpu", False),
        ("the mask stays there, but x is on the gpu", False),
    ],
)
def test_some_of_the_further_terms_are_enough(text: str, held: bool) -> None:
    """Those before ``+2`` must all be there, and two of those behind it."""
    assert holds("<cpu> <gpu> +2 mask|masks stays|remains but|while", text) is held


def test_words_of_a_class_are_words_of_phrases() -> None:
    """Every word of a class is found in a sentence that says it."""
    for words in WORD_CLASSES.values():
        for word in words.split("|"):
            assert holds(f"{word} here", f"it says {word.replace('_', ' ')} here"), word


def test_neighbouring_sentences_tell_one_thing() -> None:
    """The tensor is named in one sentence and what it does in the next; two settings of a log are not joined."""
    told = "The states are plain attributes and not buffers. They do not follow model.to(device)."
    joined = neighbours(sentences([(1, told)]))
    assert [parse_phrase("buffers <not> follow device").holds(one) for one in joined] == [True]
    assert neighbours(sentences([(1, "dtype: bfloat16"), (2, "device: cpu")])) == []
    assert neighbours(sentences([(1, "| dtype | not set |"), (2, "| device | cpu |")])) == []


def test_a_term_may_hold_anywhere() -> None:
    """The GPU is named in a line of its own, far from what goes wrong."""
    far = "GPU: Tesla T4\n\nI follow the notebook. It works. bf16 is slow."
    speech = Speech(sentences(list(enumerate(far.splitlines(), 1))))
    assert speech.said("~<turing> <bf16> slow") is not None
    assert speech.said("~<ampere> <bf16> slow") is None
    assert Speech(neighbours(speech.sentences), speech.vocabulary).said("~<turing> works bf16 slow") is not None
    assert ("slow",) in phrase_keys(parse_phrase("~t4 slow"))
    assert ("t4",) in phrase_keys(parse_phrase("~t4 slow"))


@pytest.mark.parametrize(
    ("text", "held"),
    [
        ("Half of my tokens are unknown", False),
        ("in the second half tokens are lost", False),
        ("half tokens", True),
        ("half of the tokens with model.half()", True),
    ],
)
def test_half_of_something_is_no_dtype(text: str, held: bool) -> None:
    """A share is not float16."""
    assert holds("half tokens", text) is held


def test_an_abbreviation_does_not_end_a_sentence() -> None:
    """Nor do "e.g." and "incl.", which are followed by a blank."""
    assert holds("bf16 adamw", "everything in bf16 incl. weights and AdamW")
    assert holds("scores bf16", "scores are equal, e.g. 0.99, in bf16")


def _mixed(count: int) -> str:
    """Return lines of the words of the base's phrases in random order."""
    chance = random.Random(7)
    texts = [text for kind, text, _ in load_kb().index.patterns if kind == "p"]
    words = " ".join(texts).replace("|", " ").replace("*", "s").replace("_", " ").split()
    return "\n".join(" ".join(chance.choice(words) for _ in range(5)) + "." for _ in range(count))


def test_one_walk_through_a_long_log_finds_what_looking_for_each_phrase_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    found = sentences(list(enumerate(_mixed(1500).splitlines(), 1)))
    texts = [text for kind, text, _ in load_kb().index.patterns if kind == "p"]
    each, walked = Speech(found), Speech(found)
    walked.expect(texts)
    expected = [each.said(text) for text in texts]
    assert len(found) > phrases._MANY_SENTENCES
    assert sum(one is not None for one in expected) > 100
    # Pairs of words and CJK are known by now, and nothing is looked for twice.
    compared: list[tuple[str, str]] = []
    beside = phrases._side_by_side
    monkeypatch.setattr(phrases, "_side_by_side", lambda needle, text: compared.append((needle, text)) or beside(needle, text))
    looked: list[str] = []
    monkeypatch.setattr(Speech, "_find_piece", lambda _, piece: looked.append(piece) or each._with_piece(piece))
    assert [walked.said(text) for text in texts] == expected
    assert not any(len(phrases.WORD_PART.findall(needle)) > 1 for needle, text in compared if len(text) < phrases.MAX_TITLE)
    assert not any(phrases.CJK.search(piece) for piece in looked)
    assert len(looked) == len(set(looked))


def test_the_middle_of_a_very_long_log_is_not_cut_into_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    import troubleshoot.knowledge.sentences as module

    monkeypatch.setattr(module, "_MOST", 10)
    lines = [(number, f"Line {number} is here.") for number in range(1, 101)]
    assert [one.line for one in sentences(lines)] == [1, 2, 3, 4, 5, 96, 97, 98, 99, 100]
