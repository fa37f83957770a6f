"""``troubleshoot env``."""

from __future__ import annotations

from troubleshoot.commands import process


def run(
    *, deep: bool, python: str | None, format: str, language: str | None, one_liner: bool, redact: bool, output: str | None, color: str
) -> int:
    """Print what is known of this machine, or of another interpreter's environment."""
    from troubleshoot.reading.environment import ONE_LINE_PROBE, deep_environment, foreign_environment, local_environment

    format = process.check_format(format, ("text", "markdown", "json", "html"))
    colored = process.use_color(color, output) and format == "text"
    spoken = process.language(language)
    if one_liner:
        process.write(ONE_LINE_PROBE.rstrip("\n") + "\n", output)
        return 0
    if python is not None:
        environment = foreign_environment(python, deep=deep)
    elif deep:
        environment = deep_environment()
    else:
        environment = local_environment(accelerators=True)
    if format == "json":
        from troubleshoot.basics.json_text import json_text
        from troubleshoot.basics.redact import redact_data
        from troubleshoot.reading.environment import to_json

        process.write(json_text(redact_data(to_json(environment), personal=redact), indent=2) + "\n", output)
        return 0
    from troubleshoot.telling import render_documents
    from troubleshoot.telling.machine import machine_document

    page = machine_document(environment, spoken, python, deep=deep)
    process.write(render_documents((page,), format, color=colored, width=process.width(output), redact=redact), output)
    return 0
