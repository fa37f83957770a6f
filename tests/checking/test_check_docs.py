"""The example of docs/check.md is run, and prints what the page says."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

pytest.importorskip("torch")

pytestmark = pytest.mark.torch

PAGE = Path(__file__).parents[2] / "docs" / "check.md"


def test_the_example_prints_what_the_page_says() -> None:
    failed, tried = doctest.testfile(str(PAGE), module_relative=False)
    assert tried
    assert not failed
