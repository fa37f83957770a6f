"""The child of the runner with the tests' own cases."""

import sys

import tests_verify_cases  # noqa: F401

from troubleshoot.lab.verify.child import main

if __name__ == "__main__":
    sys.exit(main())
