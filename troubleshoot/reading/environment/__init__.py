"""What is known of packages and accelerators: probed here, or parsed from what was pasted."""

from typing import TYPE_CHECKING

from troubleshoot.basics.lazy import lazy_names
from troubleshoot.reading.environment.machine import Accelerator, Environment, Package

if TYPE_CHECKING:
    from troubleshoot.reading.environment.dtype_support import Support, support
    from troubleshoot.reading.environment.exchange import ONE_LINE_PROBE, load_environment, to_json
    from troubleshoot.reading.environment.foreign import deep_environment, foreign_environment
    from troubleshoot.reading.environment.hardware import Gpu, accelerator_from_text, find_gpu
    from troubleshoot.reading.environment.local import local_environment
    from troubleshoot.reading.environment.locality import is_local
    from troubleshoot.reading.environment.merging import merge
    from troubleshoot.reading.environment.parse import parse_environment

#: Where each name is defined; it is imported when it is first used.
_HOMES = {
    "ONE_LINE_PROBE": "exchange",
    "load_environment": "exchange",
    "to_json": "exchange",
    "deep_environment": "foreign",
    "foreign_environment": "foreign",
    "Gpu": "hardware",
    "accelerator_from_text": "hardware",
    "find_gpu": "hardware",
    "local_environment": "local",
    "is_local": "locality",
    "merge": "merging",
    "parse_environment": "parse",
    "Support": "dtype_support",
    "support": "dtype_support",
}

__all__ = [
    "ONE_LINE_PROBE",
    "Accelerator",
    "Environment",
    "Gpu",
    "Package",
    "Support",
    "accelerator_from_text",
    "deep_environment",
    "find_gpu",
    "foreign_environment",
    "is_local",
    "load_environment",
    "local_environment",
    "merge",
    "parse_environment",
    "support",
    "to_json",
]

__getattr__ = lazy_names(__name__, _HOMES)
