"""The start of a process that runs the user's program: ``python boot.py JOB``.

It is started by its path, and takes its own folder out of ``sys.path`` before it imports anything: ``python -m`` would look for every
module in the working folder first. No option or variable of Python's is needed for that, which the program and its own children would see.
"""

import sys

#: What Python has loaded by now is what the program would find, too.
_KNOWN = frozenset(sys.modules)


def main() -> int:
    """Import the package from where this file is, run the job and return the program's exit status."""
    if not sys.flags.safe_path:
        del sys.path[0]
    import os
    from importlib.machinery import PathFinder
    from importlib.util import module_from_spec

    root = os.path.abspath(__file__)  # noqa: PTH100
    for _ in ("boot.py", "trying", "lab", "troubleshoot"):
        root = os.path.dirname(root)  # noqa: PTH120
    # Its root is no place to find other modules in: it may be site-packages, or a checkout.
    spec = PathFinder.find_spec("troubleshoot", [root])
    assert spec is not None
    assert spec.loader is not None
    package = module_from_spec(spec)
    sys.modules["troubleshoot"] = package
    spec.loader.exec_module(package)
    from troubleshoot.lab.trying.child import main as run

    return run(_KNOWN)


if __name__ == "__main__":
    sys.exit(main())
