"""What workers do: everything that reads text of a request. Each task takes the engine and plain values, and returns plain values.

A task may raise :class:`RequestError`; its message may quote the request, and is masked on its way out.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgspec
from pydantic import ValidationError

from troubleshoot.basics.errors import InputError, UnknownIssueError
from troubleshoot.basics.redact import redact_data, redact_text, redacted_start
from troubleshoot.knowledge.schema import Entry
from troubleshoot.reader import Prompt
from troubleshoot.reading.decode import decode
from troubleshoot.serve.articles import article, framed, marks
from troubleshoot.serve.chat import protocol
from troubleshoot.serve.chat.answering import answer
from troubleshoot.serve.consulting import Said
from troubleshoot.serve.engine import Engine, as_data
from troubleshoot.serve.errors import RequestError
from troubleshoot.serve.hardware import device_table, support_of
from troubleshoot.serve.links import linker
from troubleshoot.serve.models import DiagnoseRequest, FeedbackRequest, invalid
from troubleshoot.telling import render, render_documents
from troubleshoot.telling.content import documents
from troubleshoot.telling.document import Document, Point, Section
from troubleshoot.telling.entry import cause_document, entry_document
from troubleshoot.telling.layout import visible
from troubleshoot.telling.words import Words

#: What ids of issues and causes look like.
_NAME = re.compile(r"[a-z0-9_.-]{1,60}(?:/[a-z0-9_.-]{1,100})?")
_ENCODER = msgspec.json.Encoder()
#: A language model reads so many diagnoses.
_MOST_DIAGNOSES = 3


def question(engine: Engine, content_type: str, body: bytes) -> bytes:
    """Return what the operator's language model is to be asked about a report that was sent; nothing where it need not be."""
    wanted = _wanted(content_type, body)
    return _question(
        engine.question(wanted.report, environment=wanted.environment, answers=wanted.answers, gpu=wanted.gpu, have=wanted.have)
    )


def _question(prompt: Prompt | None) -> bytes:
    return msgspec.msgpack.encode(prompt) if prompt is not None else b""


def diagnose(engine: Engine, content_type: str, body: bytes, said: Said | None = None) -> tuple[bytes, str]:
    """Return the answer to ``POST /v1/diagnose``, and the verdict. ``said`` is what the operator's language model said."""
    wanted = _wanted(content_type, body)
    diagnosis, errors = engine.diagnose(
        wanted.report, environment=wanted.environment, answers=wanted.answers, gpu=wanted.gpu, have=wanted.have, language=wanted.language,
        said=said,
    )  # fmt: skip
    return _ENCODER.encode(as_data(diagnosis, errors, wanted.top)), diagnosis.verdict


def diagnose_page(engine: Engine, content_type: str, body: bytes, root: str, said: Said | None = None) -> tuple[bytes, str]:
    """Return what the page shows of a diagnosis, as JSON, and the verdict; ``root`` is where the application is mounted."""
    wanted = _wanted(content_type, body)
    diagnosis, errors = engine.diagnose(wanted.report, answers=wanted.answers, language=wanted.language, said=said)
    diagnosis = replace(diagnosis, errors=(*diagnosis.errors, *errors))
    document = documents(diagnosis, face="page")[0]
    environment = diagnosis.environment
    known = {f"package.{one.name}": one.version for one in environment.packages if one.version}
    data = {
        "html": article(document, engine, root),
        "spoken": redact_text(f"{document.badge}. {document.title}"),
        "marks": marks(diagnosis),
        "known": redact_data(known | ({"gpu": environment.accelerators[0].name} if environment.accelerators else {})),
    }
    return _ENCODER.encode(data), diagnosis.verdict


def _wanted(content_type: str, body: bytes) -> DiagnoseRequest:
    kind = content_type.partition(";")[0].strip().lower()
    if not body:
        raise RequestError(400, "The body is empty: send the report.")
    if kind == "application/json":
        try:
            return DiagnoseRequest.model_validate_json(body)
        except ValidationError as error:
            raise invalid(error) from None
    if kind in ("", "text/plain", "application/octet-stream"):
        return DiagnoseRequest(report=decode(body))
    raise RequestError(415, "Send the report as text/plain, or as application/json with the key report.")


def chat(engine: Engine, body: bytes, base: str) -> tuple[bool, list[bytes]]:
    """Return whether the answer to ``POST /v1/chat/completions`` is streamed, and its parts. ``base`` is where links lead."""
    wanted = _chat_request(body)
    text = answer(protocol.messages_of(wanted), engine, linker(engine, base), quiet=wanted.model == "troubleshoot-quiet")
    text = protocol.stopped(text, wanted.stop)
    knowledge = engine.base.version
    if wanted.stream:
        return True, list(protocol.events(wanted, text, knowledge))
    return False, [_ENCODER.encode(protocol.completion(wanted, text, knowledge))]


def _chat_request(body: bytes) -> protocol.ChatRequest:
    try:
        return protocol.ChatRequest.model_validate_json(body)
    except ValidationError as error:
        wrong = error.errors(include_url=False)[0]
        if wrong["loc"] == ("model",) and wrong["type"] == "literal_error" and isinstance(wrong["input"], str):
            raise protocol.no_model(wrong["input"]) from None
        raise invalid(error) from None


def no_model(engine: Engine, name: str) -> None:
    """Raise what is told of a model that does not exist."""
    raise protocol.no_model(name)


def feedback(engine: Engine, body: bytes) -> tuple[str, str | None, bool, str | None]:
    """Return the issue, the fix and whether it worked, of ``POST /v1/feedback``; and the report, masked, where it is kept."""
    try:
        wanted = FeedbackRequest.model_validate_json(body)
    except ValidationError as error:
        raise invalid(error) from None
    # A cause by itself is answered where a language model named it and no entry describes the report.
    cause = engine.base.causes.causes.get(wanted.issue)
    if cause is not None and wanted.issue not in engine.base.index.ids:
        name, fixes = wanted.issue, frozenset(fix.id for fix in cause.fixes)
    else:
        entry = _entry(engine.base.entry, wanted.issue)
        name, fixes = entry.id, engine.fix_ids(entry)
    if wanted.fix is not None and wanted.fix not in fixes:
        raise RequestError(404, f"{name} has no fix {wanted.fix!r}.", param="fix")
    report = redact_text(wanted.report, personal=True) if wanted.report and engine.settings.store_reports else None
    return name, wanted.fix, wanted.worked, report


def issues(engine: Engine, words: str, cause: str, language: str) -> bytes:
    """Return the answer to ``GET /v1/issues``."""
    return _ENCODER.encode(issue_list(engine.public_entries(), words, cause, language))


def issue(engine: Engine, name: str) -> bytes:
    """Return the answer to ``GET /v1/issues/{issue}``."""
    return _ENCODER.encode(_entry(engine.public_entry, name))


def causes(engine: Engine, language: str) -> bytes:
    """Return the answer to ``GET /v1/causes``."""
    return _ENCODER.encode(
        [
            {
                "cause": code,
                "title": cause.title.zh if language == "zh" else cause.title.en,
                "explanation": " ".join((cause.explanation.zh if language == "zh" else cause.explanation.en).split()),
            }
            for code, cause in engine.public.causes.causes.items()
        ]
    )


def hardware(engine: Engine, gpu: str) -> bytes:
    """Return the answer to ``GET /v1/hardware``, and that of the tool."""
    if not gpu.strip():
        return _ENCODER.encode(device_table())
    try:
        return _ENCODER.encode([support_of(gpu)])
    except InputError as error:
        raise RequestError(404, str(error), param="gpu") from None


def issue_list(entries: list[Entry], words: str = "", cause: str = "", language: str = "en") -> list[dict[str, Any]]:
    """Return a line about each entry that holds all the words and has the cause."""
    lowered = words.lower().split()
    found = []
    for entry in entries:
        causes = [entry.cause] if entry.cause else [one.cause for one in entry.causes]
        title = entry.zh.title if language == "zh" and entry.zh else entry.title
        text = " ".join((entry.id, entry.title, title, *causes, *entry.models)).lower()
        if all(word in text for word in lowered) and (not cause or cause in causes):
            line = {"id": entry.id, "title": title, "kind": entry.kind, "causes": causes, "status": entry.status}
            found.append({**line, "models": list(entry.models), "refines": list(entry.refines)})
    return found


def _entry(get: Callable[[str], Entry], name: str) -> Entry:
    try:
        return get(name.strip())
    except UnknownIssueError as error:
        alike = f" Did you mean: {', '.join(error.suggestions)}?" if error.suggestions else ""
        raise RequestError(404, f"No known issue is called {redacted_start(name, 200)!r}.{alike}", param="issue") from None


def tool_question(
    engine: Engine, report: str, environment: str | None, answers: dict[str, str] | None, gpu: str | None, have: dict[str, str] | None
) -> bytes:
    """Return what the operator's language model is to be asked about a report that the tool ``diagnose`` got."""
    return _question(engine.question(report, environment=environment, answers=answers, gpu=gpu, have=have))


def tool_diagnose(
    engine: Engine,
    report: str,
    environment: str | None,
    answers: dict[str, str] | None,
    gpu: str | None,
    have: dict[str, str] | None,
    language: str,
    said: Said | None = None,
) -> tuple[str, dict[str, Any], str]:
    """Return what the tool ``diagnose`` says, as text and as data, and the verdict."""
    diagnosis, errors = engine.diagnose(
        report, environment=environment, answers=answers, gpu=gpu, have=have, language=language, said=said
    )
    text = render(diagnosis, "markdown", redact=True) + "".join(f"\n> {visible(redact_text(one, personal=True))}\n" for one in errors)
    return text, _shown(as_data(diagnosis, errors, _MOST_DIAGNOSES)), diagnosis.verdict


def _shown(data: Any) -> Any:
    """Return data whose texts are fit to be shown: programs on the other side print them as they are."""
    if isinstance(data, str):
        return visible(data)
    if isinstance(data, dict):
        return {key: _shown(value) for key, value in data.items()}
    return [_shown(one) for one in data] if isinstance(data, list | tuple) else data


def tool_explain(engine: Engine, name: str, language: str) -> str:
    """Return all that is known of an issue or a cause as Markdown."""
    cause = engine.public.causes.causes.get(name)
    if cause is not None:
        listed = tuple((one["id"], one["title"]) for one in issue_list(engine.public_entries(), cause=name, language=language))
        return render_documents((cause_document(name, cause, language, listed),), "markdown")
    try:
        entry = engine.public_entry(name)
    except UnknownIssueError as error:
        alike = f" Did you mean: {', '.join(error.suggestions)}?" if error.suggestions else ""
        raise RequestError(404, visible(f"No known issue or cause is called {redacted_start(name, 200)!r}.{alike}")) from None
    return render_documents((entry_document(entry, language, _special(engine, entry)),), "markdown")


def tool_list(engine: Engine, words: str, cause: str, language: str) -> str:
    """Return a line per issue that has the words and the cause."""
    found = issue_list(engine.public_entries(), words, cause, language)
    return "\n".join(f"{one['id']}: {one['title']}" for one in found) or "No known issue has these words."


def entry_id(engine: Engine, name: str) -> str:
    """Return the id of an issue of the whole base."""
    return _entry(engine.base.entry, name).id


def _special(engine: Engine, entry: Entry) -> tuple[str, ...]:
    return tuple(one.id for one in engine.public_entries() if entry.id in one.refines)


#: A page: its status, its HTML, and the issue to which it redirects instead, if it does.
Page = tuple[int, str, str]


def issues_page(engine: Engine, language: str, root: str) -> Page:
    """Return the page of all issues."""
    words = Words(language)
    points = tuple(
        Point(f"`{entry.id}`  {entry.zh.title if language == 'zh' and entry.zh else entry.title}") for entry in engine.public_entries()
    )
    title, count = words("Issues"), words("kb.count", n=len(points))
    listed = Document("", title, subtitle=count, sections=(Section(title, points),), language=words.language)
    return 200, framed(listed, engine, root), ""


def issue_page(engine: Engine, name: str, language: str, root: str) -> Page:
    """Return the page of an issue."""
    try:
        entry = engine.public.entry(name)
    except UnknownIssueError as error:
        return _missing(engine, "issue", name, language, root, error.suggestions)
    if entry.id != name:
        return 301, "", entry.id
    return 200, framed(entry_document(entry, language, _special(engine, entry)), engine, root), ""


def cause_page(engine: Engine, code: str, language: str, root: str) -> Page:
    """Return the page of a cause."""
    found = engine.public.causes.causes.get(code)
    if found is None:
        return _missing(engine, "cause", code, language, root)
    listed = tuple(
        (one.id, one.zh.title if language == "zh" and one.zh else one.title)
        for one in engine.public_entries()
        if one.cause == code or any(part.cause == code for part in one.causes)
    )
    return 200, framed(cause_document(code, found, language, listed), engine, root), ""


def _missing(engine: Engine, kind: str, name: str, language: str, root: str, suggestions: tuple[str, ...] = ()) -> Page:
    """Return the page for a name that is none. It is shown only where it might be one: anybody may send a link with a text of their own."""
    known = "known issue" if kind == "issue" else kind
    message = f"no {known} is called {name!r}" if _NAME.fullmatch(name) else f"no {known} has this name"
    if suggestions:
        message += f". Did you mean: {', '.join(suggestions)}?"
    return 404, framed(Document("", message, language=language), engine, root), ""


#: The tasks by name: what a worker can be asked to do.
TASKS: dict[str, Callable[..., Any]] = {
    task.__name__: task
    for task in (
        question, tool_question,
        diagnose, diagnose_page, chat, no_model, feedback, issues, issue, causes, hardware, tool_diagnose, tool_explain, tool_list,
        entry_id, issues_page, issue_page, cause_page,
    )
}  # fmt: skip
