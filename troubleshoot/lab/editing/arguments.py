"""Functions of torch with an argument that has to be an integer, or a float."""

from __future__ import annotations

#: The argument of integers: its position, counted with the tensor whose method it is. A module hands its own arguments on in the same
#: order.
INTEGERS = {
    "cross_entropy": 1, "nll_loss": 1, "embedding": 0, "embedding_bag": 0, "one_hot": 0, "bincount": 0, "gather": 2, "take": 1,
    "take_along_dim": 1, "index_select": 2, "scatter": 2, "scatter_": 2, "scatter_add": 2, "scatter_add_": 2, "index_add_": 2,
    "index_copy_": 2, "index_fill_": 2,
}  # fmt: skip
#: The argument of floats.
FLOATS = {
    "mean": 0, "std": 0, "var": 0, "softmax": 0, "log_softmax": 0, "norm": 0, "quantile": 0, "median": 0,
    "binary_cross_entropy": 1, "binary_cross_entropy_with_logits": 1, "mse_loss": 1, "l1_loss": 1, "smooth_l1_loss": 1, "huber_loss": 1,
}  # fmt: skip
#: What such arguments are called.
NAMES = ("input", "target", "index", "indices")


def wanted(function: str) -> tuple[int, str] | None:
    """Return the position of the argument that a function wants in another kind of dtype, and that dtype; None for other functions."""
    if function in INTEGERS:
        return INTEGERS[function], "int64"
    return (FLOATS[function], "float32") if function in FLOATS else None
