"""Fitting words to causes (`kb learn`), and what the fitted words do to a family's causes."""

from __future__ import annotations

from pathlib import Path

import pytest
from families import MESSAGE, family, write_family

from troubleshoot import diagnose
from troubleshoot.basics.errors import InputError
from troubleshoot.cli import main
from troubleshoot.curation import learn, why
from troubleshoot.curation.text import why_text
from troubleshoot.knowledge import KnowledgeBase
from troubleshoot.knowledge.collect import collect
from troubleshoot.knowledge.compiled import compile_base
from troubleshoot.knowledge.word_odds import read_word_odds

CAUSES = """\
  - {cause: dtype-mismatch/input-vs-weight, weight: 1.2, note: The inputs.}
  - {cause: dtype-mismatch/adapter-vs-base, weight: 1, note: The adapter.}
  - {cause: none, weight: WEIGHT, note: It is the weather.}
"""
ADAPTER = "After merging my lora checkpoint, rank eight, target modules and so on, into the base it stops."
INPUTS = "Straight from the loader come the pixels, a batch of them, and the processor hands over what it made."
#: What every report says: it tells nothing.
BOTH = "I am on linux with the newest driver, python three eleven, a fresh environment, and here is what I get in the end."


def write_base(folder: Path, none: str = "0.1") -> Path:
    """Write a base of one family without conditions."""
    return write_family(folder, family(CAUSES.replace("WEIGHT", none)))


def base_of(root: Path) -> KnowledgeBase:
    """Load the base alone, without the shipped one and its table."""
    return KnowledgeBase(compile_base(collect([root]), []), (root,))


@pytest.fixture
def labelled(tmp_path: Path) -> Path:
    """Return reports of two causes; only the story around the message tells them apart."""
    folder = tmp_path / "labelled"
    folder.mkdir()
    labels = []
    for number in range(80):
        story, word, cause = ((ADAPTER, "rank", "adapter-vs-base"), (INPUTS, "batch", "input-vs-weight"))[number % 2]
        # Names that four reports have: a story long enough to count.
        first = number // 2 % 10 * 20
        story += "".join(f" {word}{one}" for one in range(first, first + 20))
        (folder / f"r{number}.txt").write_text(f"{story} {BOTH}\n{MESSAGE}\n", encoding="utf-8")
        labels.append(f"r{number}: {{cause: dtype-mismatch/{cause}, also: [], fix: []}}\n")
    (folder / "labels.yaml").write_text("".join(labels), encoding="utf-8")
    return folder


@pytest.mark.torch
def test_words_tell_the_causes_of_a_family_apart(
    tmp_path: Path, labelled: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without the table the weights decide; with it the story does, and the words are shown as evidence and by `kb why`."""
    root = write_base(tmp_path / "kb")
    report = f"{BOTH} I merged a lora of mine" + "".join(f", rank{number}" for number in range(150)) + f".\n{MESSAGE}\n"
    first = diagnose(report, environment="report", kb=base_of(root)).first
    assert first is not None
    assert first.cause == "dtype-mismatch/input-vs-weight"

    assert main(["kb", "learn", str(labelled), "--kb", str(root)]) == 0
    assert "80 reports, 2 causes" in capsys.readouterr().out
    base = base_of(root)
    first = diagnose(report, environment="report", kb=base).first
    assert first is not None
    assert first.cause == "dtype-mismatch/adapter-vs-base"
    (words,) = [item for item in first.evidence if item.kind == "words"]
    assert "rank" in words.text
    assert "linux" not in words.text
    assert "words of reports with this cause" in why_text(why(report, "torch/a-family", kb=base))
    chinese = diagnose(report, environment="report", kb=base, language="zh").first
    assert chinese is not None
    assert any("常见的词" in item.text for item in chinese.evidence)


@pytest.mark.torch
def test_a_few_words_say_little(tmp_path: Path, labelled: Path) -> None:
    """The bare message, with a word or two, is answered as the curator weighed it."""
    root = write_base(tmp_path / "kb")
    assert main(["kb", "learn", str(labelled), "--kb", str(root)]) == 0
    first = diagnose(f"lora\n{MESSAGE}\n", environment="report", kb=base_of(root)).first
    assert first is not None
    assert first.cause == "dtype-mismatch/input-vs-weight"


@pytest.mark.torch
def test_words_do_not_make_a_problem_of_what_is_none(tmp_path: Path, labelled: Path) -> None:
    """Where the conditions say that it is no precision problem, the words change nothing."""
    root = write_base(tmp_path / "kb", none="1.3")
    assert main(["kb", "learn", str(labelled), "--kb", str(root)]) == 0
    assert diagnose(f"{ADAPTER} {BOTH}\n{MESSAGE}\n", environment="report", kb=base_of(root)).verdict == "unknown"


@pytest.mark.torch
def test_a_table_is_written_and_read(tmp_path: Path, labelled: Path) -> None:
    """What was fitted stands in the file: a character per cause, the same for a word that tells nothing; rare words count as rarer."""
    out = tmp_path / "odds.json"
    assert main(["kb", "learn", str(labelled), "--output", str(out)]) == 0
    table = read_word_odds(out)
    assert table == learn(labelled)
    assert table.causes == ("dtype-mismatch/adapter-vs-base", "dtype-mismatch/input-vs-weight")
    rarity, adapter, inputs = table.words["lora"]
    assert adapter > "O" > inputs
    common = table.words["linux"]
    assert common[0] < rarity
    assert abs(ord(common[1]) - ord(common[2])) <= 1


@pytest.mark.torch
@pytest.mark.parametrize(
    ("reports", "said"),
    [
        ({"a": ("one two three", "dtype-mismatch/double"), "b": ("four", "dtype-mismatch/double")}, "of 1 causes"),
        ({"a": ("one two three", "dtype-mismatch/double"), "b": ("four", "numerics/tf32")}, "no word occurs in 3 reports"),
    ],
)
def test_too_little_to_learn_from(tmp_path: Path, reports: dict[str, tuple[str, str]], said: str) -> None:
    """One cause, or no word that occurs again: the error says what is missing."""
    for name, (text, _) in reports.items():
        (tmp_path / f"{name}.txt").write_text(text, encoding="utf-8")
    labels = "".join(f"{name}: {{cause: {cause}, also: [], fix: []}}\n" for name, (_, cause) in reports.items())
    (tmp_path / "labels.yaml").write_text(labels, encoding="utf-8")
    with pytest.raises(InputError, match=said):
        learn(tmp_path)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "is no table of words"),
        ('{"format": 2}', "is 2, not 1"),
        ('{"causes": ["a", "b"], "words": {"lora": "OO"}}', "2 characters for 2 causes"),
        ('{"causes": ["a", "b"], "words": {"lora": "OO\u00e9"}}', "no weights"),
    ],
)
def test_a_faulty_table_is_told_and_left_out(tmp_path: Path, content: str, said: str) -> None:
    """A base with a broken table still answers, by its weights alone, and warns with the file's name."""
    root = write_base(tmp_path / "kb")
    (root / "word-odds.json").write_text(content, encoding="utf-8")
    base = base_of(root)
    assert any("word-odds.json" in warning and said in warning for warning in base.warnings)
    first = diagnose(f"{ADAPTER}\n{MESSAGE}\n", environment="report", kb=base).first
    assert first is not None
    assert first.cause == "dtype-mismatch/input-vs-weight"
