"""The tool's own JSON for an environment, the one-line probe that prints it, and files given with ``--env``."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated, Any

import msgspec

from troubleshoot.basics.errors import InputError
from troubleshoot.reading.environment.gathering import Draft
from troubleshoot.reading.environment.machine import Accelerator, Environment

#: Prints the packages, the platform and what nvidia-smi says, as JSON in one line. For Python 3.8 and later, with nothing installed; single
#: quotes only and no ``$``, ``!``, ``%`` or backslash inside, so that sh, PowerShell and cmd.exe take it as it stands.
ONE_LINE_PROBE = (
    'python -c "import json,platform,subprocess,importlib.metadata as m;'
    "print(json.dumps({'troubleshoot_environment':1,'python':platform.python_version(),'platform':platform.platform(),"
    "'packages':{d.metadata['Name']:d.version for d in m.distributions() if d.metadata['Name']},"
    "'nvidia_smi':subprocess.getoutput('nvidia-smi --query-gpu=name,memory.total,driver_version --format=csv,noheader')}))\""
)


def parse_own(draft: Draft, lines: Sequence[str], numbers: Sequence[int]) -> None:
    """Read the tool's own JSON, wherever in the text it stands; it may be wrapped over lines or spread out by an editor."""
    import json

    for index, line in enumerate(lines):
        if "troubleshoot_environment" not in line:
            continue
        start = index
        while start > 0 and "{" not in lines[start]:
            start -= 1
        text = "\n".join(lines[start:])
        opening = text.find("{")
        data = None
        if opening >= 0:
            for candidate in (text[opening:], text[opening:].replace("\n", "")):
                try:
                    data = json.JSONDecoder(strict=False).raw_decode(candidate)[0]
                    break
                except (ValueError, RecursionError):
                    continue
        if isinstance(data, dict):
            read_own(draft, data, numbers[index])
        else:
            draft.warnings.append(
                f"line {numbers[index]}: the environment is cut off or damaged; copy the whole line that the probe printed"
            )
        return


def read_own(draft: Draft, data: dict[str, Any], line: int | None = None) -> None:
    """Take over the members of the tool's JSON that have the expected type."""
    from troubleshoot.reading.environment.dumps import built_for, platform_facts

    packages = data.get("packages")
    if isinstance(packages, dict):
        for name, version in packages.items():
            if isinstance(name, str) and (version is None or isinstance(version, str)):
                draft.package(name, version, line)
        draft.closed_packages = data.get("closed_packages", True) is True
    for member, detail in (("python", "python"), ("os", "os")):
        if isinstance(data.get(member), str):
            setattr(draft, detail, data[member])
    if isinstance(data.get("platform"), str):
        platform_facts(draft, data["platform"])
    for name, value in (data.get("details") or {}).items() if isinstance(data.get("details"), dict) else ():
        draft.detail(str(name), str(value))
    torch = draft.packages.get("torch")
    if torch and torch.version:
        built_for(draft, torch.version)
    for one in data.get("accelerators") or () if isinstance(data.get("accelerators"), list) else ():
        if isinstance(one, dict) and isinstance(one.get("name"), str):
            draft.accelerator(_accelerator(one, draft.source, line))
    draft.closed_accelerators = draft.closed_accelerators or data.get("closed_accelerators") is True
    if isinstance(data.get("nvidia_smi"), str):
        from troubleshoot.reading.environment.smi import parse_query

        parse_query(draft, data["nvidia_smi"], line)
    for warning in data.get("warnings") or () if isinstance(data.get("warnings"), list) else ():
        draft.warnings.append(str(warning))


_Small = Annotated[int, msgspec.Meta(ge=0, lt=1_000_000)]


class _Told(msgspec.Struct, frozen=True):
    """An accelerator as the JSON has it. Whoever pastes may have written anything there."""

    name: str
    kind: str | None = None
    capability: tuple[_Small, _Small] | None = None
    architecture: str | None = None
    memory: Annotated[float, msgspec.Meta(ge=0, lt=1_000_000)] | None = None
    count: _Small | None = None

    @classmethod
    def of(cls, data: dict[str, Any]) -> _Told:
        """Return what is said, without the members that are no such values."""
        told = {}
        for field in msgspec.structs.fields(cls):
            with suppress(msgspec.ValidationError, OverflowError):
                told[field.name] = msgspec.convert(data.get(field.name), field.type)
        return cls(**told)


def _accelerator(one: dict[str, Any], source: str, line: int | None) -> Accelerator:
    from troubleshoot.reading.environment.hardware import architecture_of, find_gpu

    told = _Told.of(one)
    known = find_gpu(told.name)
    pair = told.capability or (known.capability if known else None)
    return Accelerator(
        name=told.name,
        kind=told.kind or (known.kind if known else "cuda"),
        source=source,
        capability=pair,
        architecture=told.architecture or (known.architecture if known else None) or (architecture_of(pair) if pair else None),
        memory=told.memory,
        count=told.count or 1,
        line=line,
    )


def to_json(environment: Environment) -> dict[str, Any]:
    """Return the environment as the tool's JSON; :func:`load_environment` reads it back."""
    return {
        "troubleshoot_environment": 1,
        "python": environment.python,
        "os": environment.os,
        "packages": {one.name: one.version for one in environment.packages},
        "accelerators": [
            {
                "name": one.name,
                "kind": one.kind,
                "capability": list(one.capability) if one.capability else None,
                "architecture": one.architecture,
                "memory": one.memory,
                "count": one.count,
            }
            for one in environment.accelerators
        ],
        "details": dict(environment.details),
        "closed_packages": environment.closed_packages,
        "closed_accelerators": environment.closed_accelerators,
        "warnings": list(environment.warnings),
    }


def load_environment(path: str | os.PathLike[str]) -> Environment:
    """Return the environment that a file describes: any output that :func:`parse_environment` knows, or the tool's JSON.

    Raises :class:`~troubleshoot.basics.errors.InputError` where the file cannot be read or says nothing about an environment.
    """
    from troubleshoot.reading.environment.parse import parse_environment

    name = os.fspath(path)
    try:
        with open(name, "rb") as file:  # noqa: PTH123
            raw = file.read(16 * 1024 * 1024)
    except OSError as error:
        raise InputError(f"the environment file {name} cannot be read: {error.strerror or error}") from None
    text = _decode(raw)
    environment = parse_environment(text.splitlines(), source="file")
    if not (environment.packages or environment.accelerators or environment.closed_accelerators or environment.python):
        raise InputError(
            f"{name} holds no environment: expected the output of pip list, pip freeze, conda list, transformers env, nvidia-smi, "
            f"python -m torch.utils.collect_env, or of:\n  {ONE_LINE_PROBE}"
        )
    return environment


def _decode(raw: bytes) -> str:
    # PowerShell's ">" writes UTF-16 with a byte order mark.
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return raw.decode("utf-16", "replace")
    return raw.decode("utf-8-sig", "replace")
