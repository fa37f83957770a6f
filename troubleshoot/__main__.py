"""``python -m troubleshoot``."""

import sys

from troubleshoot.cli import main

sys.exit(main())
