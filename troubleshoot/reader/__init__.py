"""The language model that reads where the user asks for one: its endpoint, and the request that goes there. It knows nothing of reports."""

from troubleshoot.reader.endpoint import Reader, ask
from troubleshoot.reader.messages import Prompt, Reply

__all__ = ["Prompt", "Reader", "Reply", "ask"]
