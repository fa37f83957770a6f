"""``troubleshoot env``."""

from __future__ import annotations

from troubleshoot.commands import process


def run(
    *,
    deep: bool,
    python: str | None,
    gpu: str | None,
    format: str,
    language: str | None,
    one_liner: bool,
    redact: bool,
    output: str | None,
    color: str,
) -> int:
    """Print what is known of this machine, of another interpreter's environment, or which dtypes a GPU has."""
    from troubleshoot.reading.environment import ONE_LINE_PROBE, deep_environment, foreign_environment, local_environment

    format = process.check_format(format, ("text", "markdown", "json", "html"))
    colored = process.use_color(color, output) and format == "text"
    spoken = process.language(language)
    if one_liner:
        process.write(ONE_LINE_PROBE.rstrip("\n") + "\n", output)
        return 0
    if gpu is not None:
        return _device(gpu, format, spoken, colored, output)
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


def _device(name: str, format: str, language: str, color: bool, output: str | None) -> int:
    """Print which dtypes a GPU has, by its name. Raises InputError where no GPU is known by it."""
    from troubleshoot.reading.environment import accelerator_from_text
    from troubleshoot.telling import render_documents
    from troubleshoot.telling.machine import device_document

    device = accelerator_from_text(name)
    if format == "json":
        from troubleshoot.serve.hardware import support_of

        process.write(process.json_text(support_of(name)), output)
        return 0
    process.write(render_documents((device_document(device, language),), format, color=color, width=process.width(output)), output)
    return 0
