"""A live exception's tensors and modules: what is to blame, and how that weighs in the diagnosis."""

from troubleshoot.engine.live.concluding import conclude
from troubleshoot.engine.live.looking import look, tell
from troubleshoot.engine.live.weighing import weigh

__all__ = ["conclude", "look", "tell", "weigh"]
