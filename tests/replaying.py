"""A small OpenAI-compatible endpoint that plays recorded answers, and what makes a recording.

    python tests/replaying.py prompts tests/data/unseen --draw 40 --seed 26   print what a model would be asked, as JSON lines
    python tests/replaying.py serve tests/data/reader/*.jsonl                 answer from recordings, until it is stopped

A recording is a file of JSON lines: ``{"report": KEY, "answer": {...}}``. The key is the hash of the report as it is sent. What stands
before it in the prompt (causes, entries, what the rules read) changes with the knowledge base, and the recording should outlive that. Of an
answer that names an entry which is no longer listed, the rest counts, as with any model.

The model that answers must see the prompts only, and not the labels (docs/accuracy.md says which one did, and when).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

from troubleshoot.curation.scoring import load_cases
from troubleshoot.engine.consulting.asking import REPORT
from troubleshoot.engine.diagnosis import question_for_model

Cases = list[tuple[str, dict[str, Any], str]]


def key_of(user: str) -> str:
    """Return the key of a prompt: the hash of the report in it."""
    return hashlib.sha256(user.partition(REPORT)[2].encode()).hexdigest()[:16]


def recorded(paths: Iterable[Path]) -> dict[str, str]:
    """Return the answers of recordings by key, as a model would write them."""
    lines = (line for path in paths for line in path.read_text(encoding="utf-8").splitlines())
    return {one["report"]: json.dumps(one["answer"], ensure_ascii=False) for one in map(json.loads, lines)}


def drawn(folder: Path, count: int | None, seed: int) -> Cases:
    """Return so many labelled reports of a folder, drawn at random; all where no number is given."""
    cases = load_cases(folder)
    return cases if count is None else random.Random(seed).sample(cases, count)


class _Endpoint(BaseHTTPRequestHandler):
    """The one path of the protocol. Checks what a real server would: the form of the request and the schema of the answer."""

    answers: dict[str, str]
    asked: list[dict[str, Any]]

    def do_POST(self) -> None:
        """Answer from the recording; 404 for a report that was not recorded."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.asked.append(body)
        answer = self.answers.get(key_of(body["messages"][-1]["content"]))
        if self.path != "/v1/chat/completions" or answer is None or body["response_format"]["type"] != "json_schema":
            self._send(404, {"error": {"message": "not recorded", "type": "invalid_request_error"}})
            return
        message = {"role": "assistant", "content": answer}
        self._send(200, {
            "id": "chatcmpl-replayed", "object": "chat.completion", "created": 0, "model": body["model"],
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
        })  # fmt: skip

    def _send(self, status: int, data: dict[str, Any]) -> None:
        content = json.dumps(data).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def replaying(answers: dict[str, str], port: int = 0) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Serve answers by key on this machine; give the address, and the list that requests are added to."""
    asked: list[dict[str, Any]] = []
    server = ThreadingHTTPServer(("127.0.0.1", port), type("Endpoint", (_Endpoint,), {"answers": answers, "asked": asked}))
    Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1", asked
    finally:
        server.shutdown()
        server.server_close()


def _prompts(folder: Path, count: int | None, seed: int) -> Iterator[dict[str, str]]:
    for _, _, text in drawn(folder, count, seed):
        prompt = question_for_model(text, environment="report")
        if prompt is not None:
            yield {"report": key_of(prompt.user), "system": prompt.system, "user": prompt.user}


def main() -> None:
    """Print prompts, or serve recordings."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    prompts = commands.add_parser("prompts")
    prompts.add_argument("folder", type=Path)
    prompts.add_argument("--draw", type=int)
    prompts.add_argument("--seed", type=int, default=26)
    serve = commands.add_parser("serve")
    serve.add_argument("files", type=Path, nargs="+")
    serve.add_argument("--port", type=int, default=0)
    options = parser.parse_args()
    if options.command == "prompts":
        for one in _prompts(options.folder, options.draw, options.seed):
            print(json.dumps(one, ensure_ascii=False))
        return
    with replaying(recorded(options.files), options.port) as (url, _):
        print(url, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
