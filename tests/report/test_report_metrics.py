"""Lines of numbers: which tell that a loss is lost, and in which words."""

from __future__ import annotations

import pytest

from troubleshoot import diagnose
from troubleshoot.reading.metrics import lost_loss


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("epoch 0: loss = nan", "loss is nan"),
        ("step 10 | loss nan | lr 1e-4", "loss is nan"),
        ("Epoch 1/10 - loss: nan - acc: 0.1", "loss is nan, acc: 0.1"),
        ("Training loss = inf", "Training loss is inf"),
        ("Epoch [1/10], Step [100/600], Loss: NaN", "Loss is NaN"),
        ("{'loss': nan, 'grad_norm': nan, 'learning_rate': 1e-05, 'epoch': 0.04}", "loss is nan, grad_norm is nan"),
        ("[12:30:01] INFO train: epoch 3 step 100 loss nan", "loss is nan"),
        ("100%|██████| 10/10 [00:01<00:00, 9.5it/s, train_loss=nan]", "train_loss is nan"),
        ("loss_cls: nan  loss_bbox: 0.3", "loss_cls is nan, loss_bbox: 0.3"),
    ],
)
def test_a_lost_loss_is_read_from_a_line_of_metrics(line: str, told: str) -> None:
    """Whatever separates keys and values; what only counts steps is left out."""
    assert lost_loss(line) == told


@pytest.mark.parametrize(
    "line",
    [
        "epoch 0: loss = 0.34",
        "val_loss improved from inf to 0.34000, saving model to best.h5",
        "{'loss': 0.0, 'grad_norm': nan, 'learning_rate': 9.8e-05}",
        "Why does my loss become nan after epoch 3?",
        "lossless: nan",
        "info: nan",
    ],
)
def test_other_lines_tell_no_lost_loss(line: str) -> None:
    """Finite losses, other quantities, and prose, which is read as prose."""
    assert lost_loss(line) == ""


@pytest.mark.parametrize(
    "line", ["epoch 0: loss = nan", "step 10 | loss nan | lr 1e-4", "Epoch 1/10 - loss: nan - acc: 0.1", "Training loss = inf"]
)
def test_every_form_of_the_line_has_the_same_answer(line: str) -> None:
    """The keys of a log are no words of somebody who asks about epochs and learning rates."""
    plain, found = diagnose("loss: nan", environment="report"), diagnose(line, environment="report")
    assert (found.verdict, found.first and found.first.issue) == ("likely", "numerics/nan-loss")
    assert plain.first is not None
    assert found.first is not None
    assert found.first.cause == plain.first.cause
    assert found.first.evidence[0].text == line
