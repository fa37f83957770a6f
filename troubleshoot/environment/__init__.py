"""What is known of packages and accelerators: probed here, or parsed from what was pasted."""

from troubleshoot.environment.model import Accelerator, Environment, Package

__all__ = ["Accelerator", "Environment", "Package"]
