"""Reports by the million: blocks of them diagnosed here or on a Ray cluster, and a page that shows what fails where."""

from troubleshoot.basics.lazy import lazy_names

_HOMES = {"run_fleet": "fleet", "FleetResult": "fleet", "fleet_page": "charts"}

__all__ = ["FleetResult", "fleet_page", "run_fleet"]

__getattr__ = lazy_names(__name__, _HOMES)
