"""What nvidia-smi, rocm-smi and rocminfo print."""

from __future__ import annotations

from collections.abc import Sequence

from troubleshoot.basics.numbers import whole_number
from troubleshoot.basics.patterns import anchored, searched
from troubleshoot.reading.environment.gathering import Draft
from troubleshoot.reading.environment.hardware import accelerator_named, find_gpu
from troubleshoot.reading.environment.machine import Accelerator


def parse_smi(draft: Draft, lines: Sequence[str], numbers: Sequence[int], text: str) -> None:
    """Read the tables into ``draft``. The table of nvidia-smi shows every device, so no other is there."""
    if "NVIDIA-SMI" in text:
        _nvidia_table(draft, lines, numbers)
    elif "(UUID: " in text and "PyTorch version" not in text:
        _nvidia_list(draft, lines, numbers)
    if "Product Name" in text:
        _nvidia_log(draft, lines, numbers)
    if "MiB" in text and ("memory.total" in text or "nvidia-smi" in text):
        _nvidia_csv(draft, lines, numbers)
    if "gfx" in text and (
        "rocminfo" in text.lower() or "Marketing Name" in text or "GFX Version" in text or "Card Series" in text or "Card series" in text
    ):
        _rocm(draft, lines, numbers)


#: Rows of a table of devices that are looked at, and fields of a row.
_MOST_ROWS = 256
_MOST_FIELDS = 16

# "Off" and "On" are the persistence mode, the others the driver model of Windows.
_ROW = anchored(
    r"\s*+\|?\s*+(?P<index>\d{1,9})\s++(?P<name>\S++(?:\s\S++)*?)\s++(?:On|Off|WDDM|TCC|MCDM|N/A|Disabled|Enabled)\s*+\|"
    r"\s*+(?P<bus>(?:[0-9A-Fa-f]{4,8}:)?[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.\d|N/A)"
)
_MEMORY = searched(r"(?<!\d)(\d{1,9}|N/A)\s*+(?:MiB|MB)?\s*+/\s*+(\d{1,9})\s*+(?:MiB|MB)")
# Driver 610 renamed both: "KMD Version: 610.43.02     CUDA UMD Version: 13.3".
_HEADER = searched(r"(?:Driver|KMD) Version:\s*+([\d.]++)")
_CUDA = searched(r"CUDA (?:UMD )?Version:\s*+([\d.]++)")


def _nvidia_table(draft: Draft, lines: Sequence[str], numbers: Sequence[int]) -> None:
    seen: set[str] = set()
    for index, line in enumerate(lines):
        if "Driver Version:" in line or "NVIDIA-SMI" in line or "KMD Version" in line:
            driver = _HEADER.search(line)
            cuda = _CUDA.search(line)
            draft.detail("driver", driver[1] if driver else None)
            draft.detail("driver.cuda", cuda[1] if cuda else None)
            if "has failed" not in line and "couldn't" not in line:
                draft.closed_accelerators = True
            continue
        row = _ROW.match(line) if "|" in line and not draft.full else None
        if not row:
            continue
        key = f"{row['index']} {row['bus']}"
        if key in seen:
            continue
        seen.add(key)
        memory = None
        for below in lines[index + 1 : index + 3]:
            sizes = _MEMORY.search(below)
            if sizes:
                memory = round(int(sizes[2]) / 1024, 1)
                break
        draft.accelerator(accelerator_named(row["name"], draft.source, memory=memory, line=numbers[index]))


def _nvidia_list(draft: Draft, lines: Sequence[str], numbers: Sequence[int]) -> None:
    pattern = anchored(r"\s*+GPU (\d++): (.+?) \(UUID: GPU-")
    for index, line in enumerate(lines):
        match = pattern.match(line)
        if match:
            draft.accelerator(accelerator_named(match[2], draft.source, line=numbers[index]))
            draft.closed_accelerators = True


def _nvidia_log(draft: Draft, lines: Sequence[str], numbers: Sequence[int]) -> None:
    """``nvidia-smi -q``: a product name per device, later its ``FB Memory Usage`` with a total."""
    name: tuple[str, int] | None = None
    in_memory = False
    for index, line in enumerate(lines):
        label, colon, value = line.partition(":")
        label, value = label.strip(), value.strip()
        if not colon:
            in_memory = label == "FB Memory Usage"
        elif label == "Product Name":
            if name:
                draft.accelerator(accelerator_named(name[0], draft.source, line=name[1]))
            name = (value, numbers[index])
        elif label in ("Driver Version", "KMD Version"):
            draft.detail("driver", value)
        elif label in ("CUDA Version", "CUDA UMD Version"):
            draft.detail("driver.cuda", value)
        elif in_memory and label == "Total" and name:
            size = anchored(r"(\d{1,9}) MiB").match(value)
            memory = round(int(size[1]) / 1024, 1) if size else None
            draft.accelerator(accelerator_named(name[0], draft.source, memory=memory, line=name[1]))
            draft.closed_accelerators = True
            name = None
    if name:
        draft.accelerator(accelerator_named(name[0], draft.source, line=name[1]))


def parse_query(draft: Draft, output: str, line: int | None) -> None:
    """Read ``nvidia-smi --query-gpu=name,memory.total,driver_version --format=csv,noheader``; an error message says nothing."""
    for row in output.splitlines():
        fields = [field.strip() for field in row.split(",")]
        size = whole_number(fields[1].removesuffix(" MiB")) if len(fields) == 3 else None
        if size is not None:
            draft.accelerator(accelerator_named(fields[0], draft.source, memory=round(size / 1024, 1), line=line))
            draft.detail("driver", fields[2])
            draft.closed_accelerators = True


def _nvidia_csv(draft: Draft, lines: Sequence[str], numbers: Sequence[int]) -> None:
    """``nvidia-smi --query-gpu=name,memory.total --format=csv``: the columns are taken for what they look like."""
    if draft.accelerators:
        return
    looked = 0
    for index, line in enumerate(lines):
        if looked >= _MOST_ROWS:
            break
        fields = [field.strip() for field in line.split(",", _MOST_FIELDS)] if "MiB" in line and len(line) < 400 else []
        looked += bool(fields)
        sizes = [int(field.split()[0]) for field in fields if anchored(r"\d{1,9} MiB").fullmatch(field)]
        named = next((field for field in fields if _may_name(field) and find_gpu(field) is not None), None) if sizes else None
        if named:
            draft.accelerator(accelerator_named(named, draft.source, memory=round(max(sizes) / 1024, 1), line=numbers[index]))
            draft.closed_accelerators = True


def _may_name(field: str) -> bool:
    return not field.isascii() or any(letter.isalpha() for letter in field)


def _rocm(draft: Draft, lines: Sequence[str], numbers: Sequence[int]) -> None:
    """rocminfo: agents with ``Name: gfx90a`` and ``Marketing Name``; rocm-smi: ``GPU[0] : Card Series: ...``, ``GFX Version: gfx942``."""
    from troubleshoot.reading.environment import gpus

    marketing: str | None = None
    pending: tuple[str, int] | None = None

    def add(target: str, name: str | None, line: int) -> None:
        known = find_gpu(name) if name else None
        draft.accelerator(
            Accelerator(
                name or target, "rocm", draft.source, architecture=gpus.GFX.get(target), memory=known.memory if known else None, line=line
            )
        )
        draft.closed_accelerators = True

    card_line = anchored(r"\s*+GPU\[(\d++)\]\s*+:\s*+(Card [Ss]eries|Card [Mm]odel|GFX Version)\s*+:\s*+(\S.*)$")
    target_line = anchored(r"\s*+Name:\s++(gfx[0-9a-f]++)\s*$")
    name_line = anchored(r"\s*+Marketing Name:\s*+(.*)$")
    cards: dict[str, dict[str, tuple[str, int]]] = {}
    for index, line in enumerate(lines):
        card = card_line.match(line) if "GPU[" in line else None
        if card:
            cards.setdefault(card[1], {})[card[2].lower()] = (card[3].rstrip(), numbers[index])
            continue
        name = target_line.match(line) if "gfx" in line else None
        if name:
            pending = (name[1], numbers[index])
            continue
        called = name_line.match(line) if pending else None
        if called and pending is not None:
            marketing = called[1].rstrip() or None
            add(pending[0], marketing, pending[1])
            pending = None
    for facts in cards.values():
        target, line_of = facts.get("gfx version", ("", 0))
        series = facts.get("card series", ("", 0))
        if target or series[0]:
            add(target, series[0] or None, line_of or series[1])
