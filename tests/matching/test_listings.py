"""What lists of installed packages say is known to the environment: their words are nobody's."""

from __future__ import annotations

from pathlib import Path

import pytest

from troubleshoot import diagnose

ENVIRONMENTS = Path(__file__).parents[1] / "data" / "environments"

#: The packages of the list speak of accelerate, torchmetrics, triton and forty others.
COMPLAINTS = [
    "On the RTX 3090 the rotation matrices are off by 1e-3, on the 1080 they are exact.",
    "The VAE of SDXL gives black images in fp16.",
    "Training loss becomes nan with fp16 after 200 steps, bf16 is fine.",
    "",
]


@pytest.mark.parametrize("listing", ["pip_list.txt", "pip_freeze.txt", "uv_pip_freeze.txt", "conda_list.txt"])
@pytest.mark.parametrize("complaint", COMPLAINTS)
def test_a_list_of_packages_says_nothing(complaint: str, listing: str) -> None:
    """The answer is the one without the list."""
    text = (ENVIRONMENTS / listing).read_text(encoding="utf-8")
    alone = diagnose(complaint, environment="report") if complaint else None
    both = diagnose(f"{complaint}\n\n{text}", environment="report")
    assert [one.issue for one in both.diagnoses] == ([one.issue for one in alone.diagnoses] if alone else [])


def test_a_table_of_results_is_read() -> None:
    """Lines of a name and a number are a list of packages only if packages are among them."""
    rows = "".join(f"step {10 * number} loss nan\n" for number in range(1, 9))
    first = diagnose(f"fp16 training, what happens here?\n\n{rows}", environment="report").first
    assert first is not None
    assert first.issue == "numerics/nan-loss"
