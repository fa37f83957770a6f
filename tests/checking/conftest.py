"""The programs that are checked, as files."""

from __future__ import annotations

from pathlib import Path

import pytest
from program_files import write_programs


@pytest.fixture(scope="session")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with every program as a file: ``broken/NAME.py``, ``healthy/NAME.py``."""
    folder = tmp_path_factory.mktemp("programs")
    write_programs(folder)
    return folder
