"""Build hook: the wheel carries the knowledge base in its compiled form beside the YAML files, so that start-up reads no YAML."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CompiledKnowledge(BuildHookInterface):  # type: ignore[type-arg]
    """Compiles kb/ into troubleshoot/_kb/compiled.json of the wheel. An editable install reads kb/ in place and needs none."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the YAML files and the compiled base to the wheel."""
        if self.target_name != "wheel" or version == "editable":
            return
        root = Path(self.root)
        sys.path.insert(0, str(root))
        try:
            from troubleshoot.knowledge.collect import collect
            from troubleshoot.knowledge.compiled import compile_base
        finally:
            sys.path.pop(0)
        collected = collect([root / "kb"])
        if collected.problems:
            raise RuntimeError("the knowledge base has faults:\n" + "\n".join(map(str, collected.problems)))
        # Without stamps: what is in a wheel does not change.
        compiled = Path(self.directory) / "compiled.json"
        compiled.parent.mkdir(parents=True, exist_ok=True)
        compiled.write_bytes(compile_base(collected, []))
        build_data["force_include"][str(root / "kb")] = "troubleshoot/_kb"
        build_data["force_include"][str(compiled)] = "troubleshoot/_kb/compiled.json"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the intermediate file."""
        (Path(self.directory) / "compiled.json").unlink(missing_ok=True)
