"""The version, the one place for it."""

__version__ = "0.1.0"
