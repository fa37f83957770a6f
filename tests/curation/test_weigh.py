"""Fitting the weights of a family's causes to labelled reports, and writing them."""

from __future__ import annotations

from pathlib import Path

import pytest
from families import MESSAGE, family, write_family

from troubleshoot.basics.errors import InputError
from troubleshoot.cli import main
from troubleshoot.curation import weigh
from troubleshoot.curation.weight_files import with_numbers, write_weights
from troubleshoot.curation.weights import Parameter
from troubleshoot.knowledge import load_kb

ENTRY = family("""\
  # the usual one
  - cause: dtype-mismatch/input-vs-weight
    weight: 4
    likelier:
      - {text: "loader"}
    note: The inputs.
  - cause: dtype-mismatch/adapter-vs-base
    weight: 1
    likelier:
      - {text: "adapter|lora", times: 1.5}   # or a new head
      - text: "sunshine"
    note: The adapter.
""")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a folder of entries with one family."""
    return write_family(tmp_path / "kb", ENTRY)


@pytest.fixture
def labelled(tmp_path: Path) -> Path:
    """Return two rounds: the adapter is to blame wherever it is named, whatever the sun does."""
    for part in ("round-1", "round-2"):
        folder = tmp_path / "labelled" / part
        folder.mkdir(parents=True)
        labels = []
        for number in range(12):
            adapter = number % 2
            words = ("With my lora. " if adapter else "From the loader. ") + ("In sunshine. " if number % 3 == 0 else "")
            (folder / f"r{number}.txt").write_text(f"{words}\n{MESSAGE}\n", encoding="utf-8")
            cause = "adapter-vs-base" if adapter else "input-vs-weight"
            labels.append(f"r{number}: {{cause: dtype-mismatch/{cause}, also: [], fix: []}}\n")
        (folder / "labels.yaml").write_text("".join(labels), encoding="utf-8")
    return tmp_path / "labelled"


def test_a_factor_follows_the_reports(root: Path, labelled: Path) -> None:
    """What names the cause in every report becomes worth more, and the reports of the other folder bear it out."""
    (family,) = weigh(labelled, kb=load_kb([root])).families
    assert (family.issue, family.reports) == ("torch/a-family", 24)
    # Only where the sun helped the adapter does it come first.
    assert family.before == (16, 16)
    assert family.unseen == family.after == (24, 24)
    assert family.numbers[Parameter(1, 0)] > 3
    # Sunshine fell on both alike.
    assert 2 < family.numbers.get(Parameter(1, 1), 3.0) < 4.5


def test_the_curator_is_believed_where_reports_are_few(root: Path, labelled: Path) -> None:
    """With a strong pull the numbers stay, and too few reports are not looked at."""
    base = load_kb([root])
    (family,) = weigh(labelled, kb=base, pull=1e6).families
    assert family.numbers == {}
    assert weigh(labelled, kb=base, least=25).families == ()


def test_only_the_numbers_change(root: Path, labelled: Path) -> None:
    """Comments, order and quotes stay; factors that were not written are added; and the base then answers by them."""
    weighing = weigh(labelled, kb=load_kb([root]))
    (path,) = write_weights(weighing, root)
    text = path.read_text(encoding="utf-8")
    kept = [line for line in ENTRY.splitlines() if "weight:" not in line and "text:" not in line]
    assert [line for line in text.splitlines() if line in kept] == kept
    assert "# or a new head" in text
    (again,) = weigh(labelled, kb=load_kb([root])).families
    assert again.before == weighing.families[0].after


def test_every_form_of_a_condition_takes_a_factor() -> None:
    """A factor replaces one that is there, or is added to a condition in braces or in lines."""
    numbers = {Parameter(0): 2.5, Parameter(0, 0): 8.0, Parameter(1, 0): 0.7, Parameter(1, 1): 12.0}
    text = with_numbers(ENTRY, numbers)
    assert "    weight: 2.5\n" in text
    assert '{text: "loader", times: 8}' in text
    assert '{text: "adapter|lora", times: 0.7}   # or a new head' in text
    assert '- text: "sunshine"\n        times: 12\n' in text


def test_an_alias_keeps_its_factor() -> None:
    """One place in the file that serves two causes cannot take two numbers."""
    text = ENTRY.replace('- {text: "loader"}', '- &one {text: "loader", times: 2}').replace('- text: "sunshine"', "- *one")
    assert with_numbers(text, {Parameter(0, 0): 5.0, Parameter(1, 1): 7.0}) == text
    assert with_numbers(text, {Parameter(0, 0): 5.0}) == text


def test_a_folder_without_the_families(tmp_path: Path, root: Path, labelled: Path) -> None:
    """Is named."""
    with pytest.raises(InputError, match="holds none of the families"):
        write_weights(weigh(labelled, kb=load_kb([root])), tmp_path)


def test_the_command(root: Path, labelled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Prints a table, writes where it is asked to, and names what is no folder."""
    assert main(["kb", "weigh", str(labelled), "--kb", str(root)]) == 0
    assert "torch/a-family" in capsys.readouterr().out
    assert (root / "torch" / "a-family.yaml").read_text(encoding="utf-8") == ENTRY
    assert main(["kb", "weigh", str(labelled), "--kb", str(root), "--write"]) == 0
    assert "a-family.yaml" in capsys.readouterr().out
    assert (root / "torch" / "a-family.yaml").read_text(encoding="utf-8") != ENTRY
    assert main(["kb", "weigh", str(labelled), "--kb", str(root), "--pull", "much"]) == 2
    assert "--pull much" in capsys.readouterr().err
