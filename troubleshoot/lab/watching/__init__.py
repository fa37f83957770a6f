"""``troubleshoot.watch(model)``: the numerical range of every module as it runs. The name is not ``watch``, which is the function."""

from troubleshoot.lab.watching.islands import keep_float32
from troubleshoot.lab.watching.scales import loss_scales
from troubleshoot.lab.watching.session import Watch, watch

__all__ = ["Watch", "keep_float32", "loss_scales", "watch"]
