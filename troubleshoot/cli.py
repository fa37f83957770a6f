"""The program ``troubleshoot``: its entry point. Arguments are declared in :mod:`troubleshoot.commands.app`.

Exit codes are grep's: 0 a diagnosis, 1 none, 2 an error in use or input (or in the program); 130 when interrupted.
"""

from __future__ import annotations


def main(arguments: list[str] | None = None) -> int:
    """Run the program with these arguments (default: the process's own) and return its exit code.

    Nothing is raised, but by ``troubleshoot run``, which ends as the program does that it runs.
    """
    import gc
    import sys

    given = sys.argv[1:] if arguments is None else arguments
    if given[:1] == ["run"]:
        from troubleshoot.handlers import apart

        if arguments is None:
            apart.begin()
        from troubleshoot.commands.run import main as run

        status = run(given[1:])
        if status is not None:
            return status

    # Start-up builds much and frees nothing: without the collector it takes a tenth less.
    collecting = gc.isenabled()
    gc.disable()
    try:
        from troubleshoot.commands.process import guarded
        from troubleshoot.commands.startup import invoke

        return guarded(lambda: invoke(arguments))
    finally:
        if arguments is None:
            # The process ends here: with nothing left to walk, its last collections take no time (they took a fifth of a run).
            gc.freeze()
        if collecting:
            gc.enable()


if __name__ == "__main__":
    import sys

    sys.exit(main())
