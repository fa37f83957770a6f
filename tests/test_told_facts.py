"""A fact is a fact wherever it is said: in the text, by a flag, as an answer, in an Environment, to the server."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from moved_facts import Moved, answer, every_moved

from troubleshoot import diagnose
from troubleshoot.basics.errors import FactError
from troubleshoot.cli import main
from troubleshoot.reading.environment import accelerator_from_text
from troubleshoot.reading.environment.machine import Environment, Package

BLACK = "my images are black with fp16"


def kinds() -> dict[str, list[Moved]]:
    """Return what can be moved in the unseen reports, by kind of fact."""
    found: dict[str, list[Moved]] = {}
    for one in every_moved():
        found.setdefault(one.kind, []).append(one)
    return found


def test_facts_of_unseen_reports_may_be_moved() -> None:
    """Issue, cause and first fix stay when a GPU, a model or a release is given beside the text instead of in it."""
    changed: list[str] = []
    for kind, reports in kinds().items():
        assert len(reports) > 40, kind
        for one in reports:
            # A package that no table and no entry names says nothing, and is not taken.
            with suppress(FactError):
                before, after = answer(one.before), answer(one.after, **one.given)
                changed += [f"{kind} {one.name}: {before} {after}"] if before != after else []
    assert changed == []


@pytest.mark.parametrize("card", ["GTX 1660 Ti", "1660ti", "NVIDIA GeForce GTX 1660 Ti"])
@pytest.mark.parametrize("way", ["text", "line", "gpu", "answer", "environment", "server"])
def test_a_card_is_a_card_wherever_it_is_said(card: str, way: str) -> None:
    """However it is spelled, too."""
    given: dict[str, Any] = {"environment": "report"}
    text = BLACK
    if way == "text":
        text = f"{BLACK} on a {card}"
    elif way == "line":
        text = f"{BLACK}\nGPU: {card}"
    elif way == "gpu":
        given["gpu"] = card
    elif way == "answer":
        given["answers"] = {"gpu": card}
    elif way == "environment":
        accelerator = accelerator_from_text(card)
        assert accelerator is not None
        given["environment"] = Environment(accelerators=(accelerator,))
    else:
        server = pytest.importorskip("troubleshoot.serve.engine")
        settings = pytest.importorskip("troubleshoot.serve.settings").Settings()
        found, wrong = server.Engine(settings).diagnose(BLACK, gpu=card)
        assert wrong == ()
        assert (found.first.issue, found.first.cause) == ("hardware/gtx16-black-images", "hardware/no-fp16")
        return
    found = diagnose(text, **given)
    assert found.first is not None
    assert (found.first.issue, found.first.cause) == ("hardware/gtx16-black-images", "hardware/no-fp16")


def test_a_given_model_takes_back_none_that_the_report_names() -> None:
    """Whoever says which model it is says more than the text, not something else."""
    text = "RuntimeError: expected scalar type Half but found Float\nI load openai/whisper-large-v3 as well."
    found = diagnose(text, environment="report", answers={"model": "Salesforce/blip2-opt-2.7b"})
    from troubleshoot.engine.diagnosis import examine

    facts = examine(text, answers={"model": "Salesforce/blip2-opt-2.7b"}).facts
    assert [one.value for one in facts.get("model")][:2] == ["Salesforce/blip2-opt-2.7b", "openai/whisper-large-v3"]
    assert found.verdict


def test_what_the_report_says_counts_beside_a_given_environment() -> None:
    """An Environment is one more source, and no reason to forget the others."""
    text = "transformers 4.50.2\nRuntimeError: expected scalar type Half but found Float"
    known = diagnose(text, environment=Environment((Package("torch", "2.6.0", "file"),), source="file")).environment
    assert {one.name: one.version for one in known.packages} == {"torch": "2.6.0", "transformers": "4.50.2"}


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"have": {"transfomers": "4.50.1"}}, "transformers"),
        ({"answers": {"package.bitsandbyte": "0.43"}}, "bitsandbytes"),
        ({"have": {"torch": "newest"}}, "no version of torch"),
        ({"answers": {"quantization": "gtpq"}}, "gptq"),
        ({"answers": {"attention": "flash"}}, "no value of attention"),
        ({"answers": {"autocast": "maybe"}}, "on"),
        ({"answers": {"dtype.requested": "float17"}}, "no dtype"),
        ({"answers": {"gpu.memory": "much"}}, "no number"),
        ({"answers": {"quantisation": "awq"}}, "quantization"),
        ({"gpu": "GTX 1666"}, "GTX 16"),
    ],
)
def test_unknown_names_and_values_are_errors_with_the_nearest_known(given: dict[str, Any], told: str) -> None:
    """In Python a ValueError, which says what is known instead."""
    with pytest.raises(ValueError, match=told) as raised:
        diagnose("RuntimeError: x", environment="report", **given)
    assert told.lower() in str(raised.value).lower()


@pytest.mark.parametrize(
    "option", [("--have", "transfomers=4.50.1"), ("--answer", "quantization=gtpq"), ("--gpu", "GTX 1666"), ("--have", "torch=newest")]
)
def test_the_command_line_ends_with_2_for_them(option: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    """As for every other error in use."""
    assert main(["diagnose", "RuntimeError: expected scalar type Half but found Float", *option]) == 2
    assert "troubleshoot: " in capsys.readouterr().err


@pytest.mark.parametrize("given", [{"have": {"torch": ""}}, {"answers": {"package.apex": "absent"}}, {"answers": {"quantization": "none"}}])
def test_usual_answers_are_taken(given: dict[str, Any]) -> None:
    """Presence, absence, and "none"."""
    diagnose("RuntimeError: x", environment="report", **given)


def test_an_unknown_package_is_a_fact_error() -> None:
    """Which is an InputError of the tool's own as well."""
    with pytest.raises(FactError):
        diagnose("RuntimeError: x", environment="report", have={"no-such-thing-at-all": "1.0"})
