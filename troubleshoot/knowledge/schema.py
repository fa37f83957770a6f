"""The shape of a knowledge-base entry, as frozen structs.

msgspec decodes, validates and describes them (JSON Schema) from these definitions alone. Field names are those of the YAML files;
docs/writing-entries.md explains each with examples.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

Status = Literal["draft", "testing", "stable", "withdrawn"]
Kind = Literal["issue", "family"]
Impact = Literal["error", "wrong-result", "slow", "harmless"]
Applicability = Literal["safe", "unsafe", "manual"]
Basis = Literal["measured", "release-notes", "reported"]
Provenance = Literal["reproduced", "constructed", "reported"]
FixKind = Literal[
    "use-bf16", "use-fp16", "use-fp32", "upgrade", "downgrade", "cast-inputs", "cast-activations", "keep-module-fp32",
    "cast-module", "move-to-device", "set-compute-dtype", "enable-autocast", "disable-amp", "change-backend",
    "change-constant", "sanitize-probabilities", "config-change", "replace-weights", "ignore", "other",
]  # fmt: skip


class Struct(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, rename="kebab"):
    """Base of all schema structs: immutable, unknown fields are errors, defaults are left out when written."""


class Ask(Struct, frozen=True):
    """A question to the user in both languages; ``answers`` are the values that may be given, most usual first."""

    en: str
    zh: str | None = None
    answers: tuple[str, ...] = ()


class Condition(Struct, frozen=True):
    """A test of one fact (``fact`` with one comparison), of the frames, of the text, or a combination. True, false or unknown.

    ``is``/``not`` compare with a value or any of a list; ``contains`` looks for a substring; ``at-least``/``below`` compare numbers;
    ``in`` is a PEP 440 specifier for package versions. ``frame`` is a part of a frame's path (with ``function`` and ``code`` as further
    conditions on the same frame); ``text`` is a phrase (all words in one sentence, see docs). ``sign`` names a condition of signs.yaml,
    which is put in its place when the file is read. ``times`` multiplies the weight of a family's cause where the condition holds.
    """

    fact: str | None = None
    is_: Any = msgspec.field(default=None, name="is")
    not_: Any = msgspec.field(default=None, name="not")
    contains: str | None = None
    at_least: float | None = None
    below: float | None = None
    in_: str | None = msgspec.field(default=None, name="in")
    frame: str | None = None
    function: str | None = None
    code: str | None = None
    text: str | tuple[str, ...] | None = None
    any: tuple[Condition, ...] = ()
    all: tuple[Condition, ...] = ()
    none: tuple[Condition, ...] = ()
    sign: str | None = None
    ask: Ask | None = None
    times: float | None = None


class MessageTemplate(Struct, frozen=True):
    """A message template and where its wording comes from.

    ``device`` and ``torch`` (PEP 440 specifier) are evidence carried by the wording itself. ``roles`` says what the holes mean for this
    operation: ``{expected: input, found: weight}`` turns the captured dtypes into the facts ``dtype.input`` and ``dtype.weight``.
    """

    template: str
    device: str | None = None
    torch: str | None = None
    roles: dict[str, str] = {}


class FramePattern(Struct, frozen=True):
    """A frame by path suffix or part, function and code. Never by line number: releases move them."""

    file: str | None = None
    function: str | None = None
    code: str | None = None


class Signature(Struct, frozen=True):
    """How an issue is recognised: a message or a symptom, then the frames in order; lists are alternatives except ``frames``."""

    exception: tuple[str, ...] = ()
    message: tuple[MessageTemplate, ...] = ()
    frames: tuple[FramePattern, ...] = ()
    symptoms: tuple[str, ...] = ()


class Range(Struct, frozen=True):
    """Half-open range of releases. ``unknown-before`` stands in for ``introduced`` where older releases cannot be run."""

    introduced: str | None = None
    fixed: str | None = None
    unknown_before: str | None = None


class Affected(Struct, frozen=True):
    """The releases of one package that show the issue, and how that is known."""

    package: str
    ranges: tuple[Range, ...]
    basis: Basis
    record: str | None = None


class Evidence(Struct, frozen=True):
    """Conditions beyond the signature."""

    required: tuple[Condition, ...] = ()
    supporting: tuple[Condition, ...] = ()
    refuting: tuple[Condition, ...] = ()


#: The cause of a report that is no precision, dtype or device problem.
NO_CAUSE = "none"


class WeightedCause(Struct, frozen=True):
    """One cause of a family: its weight among the causes, what makes it likelier (each with ``times``) and what it needs."""

    cause: str
    weight: float
    likelier: tuple[Condition, ...] = ()
    needs: tuple[Condition, ...] = ()
    note: str | None = None
    zh: str | None = None


class FixTranslation(Struct, frozen=True):
    """A fix's texts in Chinese."""

    title: str
    reason: str | None = None
    advice: str | None = None


class Fix(Struct, frozen=True):
    """One thing to do, or (``expected: fails``) not to do. ``action`` holds exactly one of the actions of docs/writing-entries.md.

    ``when``: all must hold; an unknown one makes the fix undecided and is asked for, or leaves it out where it is about the report's own
    words. ``unless``: the fix misfits where any holds; unknown ones do not matter.
    ``later``: where any holds it still fits, behind the others. ``causes`` restricts a family's fix to some of its causes.
    """

    id: str
    kind: FixKind
    title: str
    applicability: Applicability
    action: dict[str, Any]
    reason: str
    expected: Literal["works", "fails"] = "works"
    when: tuple[Condition, ...] = ()
    unless: tuple[Condition, ...] = ()
    later: tuple[Condition, ...] = ()
    causes: tuple[str, ...] = ()
    zh: FixTranslation | None = None


class Verify(Struct, frozen=True):
    """The reproduction case, where it runs, and which affected release an isolated environment installs for it."""

    case: str
    devices: tuple[str, ...] = ("cpu", "cuda")
    install: dict[str, str] = {}


class Example(Struct, frozen=True):
    """A cornerstone case. ``text`` inline, or ``file`` relative to the entry's folder.

    ``reproduced``: printed by a real run; ``constructed``: written after the sources of the message; ``reported``: the message of a
    public report, our own words around it. ``environment`` adds package versions (``{transformers: "4.50.3"}``, null for absent),
    ``gpu`` a GPU. A positive example may name the ``cause`` a family must give; a negative one says why in ``because`` and
    ``expect``s another entry, or ``none``.
    """

    file: str | None = None
    text: str | None = None
    provenance: Provenance = "reproduced"
    environment: dict[str, str | None] = {}
    gpu: str | None = None
    cause: str | None = None
    because: str | None = None
    expect: str | None = None


class Examples(Struct, frozen=True):
    """Positive examples and near misses."""

    positive: tuple[Example, ...] = ()
    negative: tuple[Example, ...] = ()


class Reference(Struct, frozen=True):
    """An opened source: what it is and where."""

    kind: Literal["report", "fix", "source", "docs", "release-notes", "discussion"]
    url: str


class Claim(Struct, frozen=True):
    """What upstream says and nobody here has run."""

    text: str
    url: str
    fix: str | None = None


class Chinese(Struct, frozen=True):
    """The entry's texts in Chinese. ``of`` is the hash of the English they were written from (``troubleshoot kb lint`` prints it)."""

    title: str
    explanation: str
    fixes: dict[str, FixTranslation] = {}
    of: str | None = None


class Entry(Struct, frozen=True):
    """One known issue, or one family of messages."""

    schema: Literal[1]
    id: str
    title: str
    status: Status
    kind: Kind
    impact: Impact
    signature: Signature
    explanation: str
    references: tuple[Reference, ...]
    cause: str | None = None
    causes: tuple[WeightedCause, ...] = ()
    refines: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    affected: tuple[Affected, ...] = ()
    models: tuple[str, ...] = ()
    evidence: Evidence = Evidence()
    fixes: tuple[Fix, ...] = ()
    verify: Verify | None = None
    examples: Examples = Examples()
    claims: tuple[Claim, ...] = ()
    zh: Chinese | None = None
    #: it answers only what no message template of another entry recognises
    fallback: bool = False


class Bilingual(Struct, frozen=True):
    """A text in both languages."""

    en: str
    zh: str


class Cause(Struct, frozen=True):
    """One code of the taxonomy with the advice that holds for it in general."""

    title: Bilingual
    explanation: Bilingual
    fixes: tuple[Fix, ...] = ()


class CauseFile(Cause, frozen=True, kw_only=True):
    """kb/causes/FAMILY/NAME.yaml: one cause; its id is FAMILY/NAME."""

    schema: Literal[1]
    id: str


class Causes(Struct, frozen=True):
    """The taxonomy. An overlay may give several causes at once in a file of this shape, ``causes.yaml``."""

    schema: Literal[1]
    causes: dict[str, Cause]


class Signs(Struct, frozen=True):
    """kb/signs.yaml: conditions that entries use by name."""

    schema: Literal[1]
    signs: dict[str, Condition]


class OutOfScope(Struct, frozen=True):
    """A group of failures that this tool does not explain, so that it can say so at once: shapes, memory, missing files, ...

    ``next`` is the first step for this kind, in a sentence.
    """

    id: str
    title: Bilingual
    next: Bilingual | None = None
    exception: tuple[str, ...] = ()
    message: tuple[str, ...] = ()


class OutOfScopeFile(Struct, frozen=True):
    """kb/out-of-scope.yaml."""

    schema: Literal[1]
    groups: tuple[OutOfScope, ...]


class Extension(Struct, frozen=True):
    """An overlay's change to a shipped entry: withdraw it, withdraw some of its fixes, or add fixes, references, models, examples."""

    schema: Literal[1]
    extends: str
    withdraw: bool = False
    withdraw_fixes: tuple[str, ...] = ()
    fixes: tuple[Fix, ...] = ()
    models: tuple[str, ...] = ()
    affected: tuple[Affected, ...] = ()
    examples: Examples = Examples()
    references: tuple[Reference, ...] = ()
    reason: str | None = None
