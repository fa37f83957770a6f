"""``%load_ext troubleshoot`` in a real IPython shell."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("IPython")

from IPython.testing.globalipapp import start_ipython
from IPython.utils.capture import capture_output

pytestmark = pytest.mark.slow

CELL = 'raise RuntimeError("expected scalar type Float but found Half")'


@pytest.fixture(scope="module")
def shell() -> Any:
    """One shell for all tests: IPython has one per process."""
    return start_ipython()


def test_the_diagnosis_is_shown_below_the_traceback(shell: Any) -> None:
    """As text and as HTML that cannot reach the notebook around it."""
    shell.run_line_magic("load_ext", "troubleshoot")
    try:
        with capture_output() as captured:
            shell.run_cell(CELL)
        assert "RuntimeError" in captured.stdout + captured.stderr
        (shown,) = captured.outputs
        assert "torch/expected-scalar-type" in shown.data["text/plain"]
        assert shown.data["text/html"].startswith("<iframe sandbox srcdoc=")
    finally:
        shell.run_line_magic("unload_ext", "troubleshoot")


def test_other_failures_and_an_unloaded_extension_show_nothing(shell: Any) -> None:
    """Only the traceback."""
    with capture_output() as captured:
        shell.run_cell(CELL)
    assert captured.outputs == []
    shell.run_line_magic("load_ext", "troubleshoot")
    with capture_output() as captured:
        shell.run_cell("{}['key']")
    shell.run_line_magic("unload_ext", "troubleshoot")
    assert captured.outputs == []


def test_the_model_of_a_cell_is_named(shell: Any) -> None:
    """The tensors of the notebook are at hand."""
    pytest.importorskip("torch")
    shell.run_line_magic("load_ext", "troubleshoot")
    with capture_output() as captured:
        shell.run_cell(
            "import torch\nnet = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)).half()\nnet[1].float()\n"
            "net(torch.ones(1, 4).half())"
        )
    shell.run_line_magic("unload_ext", "troubleshoot")
    assert captured.outputs, captured.stdout + captured.stderr
    assert "net[1]" in captured.outputs[0].data["text/plain"]
