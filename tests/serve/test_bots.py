"""The bots of docs/examples/bots against the HTTP side of their platforms, played by a local server as the platforms document it."""

from __future__ import annotations

import base64
import hashlib
import importlib.util
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from founding import ALL, BLIP2, T5_APEX, Founding

from troubleshoot import diagnose

pytest.importorskip("fastapi", reason="needs the extra serve")
pytest.importorskip("uvicorn", reason="needs the extra serve")
pytest.importorskip("httpx", reason="needs the extra clients")
pytest.importorskip("openai", reason="needs the extra clients")

import httpx
from browsing import running
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from troubleshoot.serve import Settings, create_app

pytestmark = pytest.mark.slow

BOTS = Path(__file__).parents[2] / "docs" / "examples" / "bots"
CASES = [pytest.param(case, language, id=f"{case.issue.rpartition('/')[2]}-{language}") for case in ALL for language in ("en", "zh")]
ASKING = "The T5 text encoder of CogVideoX-5b stops in float16.\nRuntimeError: expected scalar type Float but found Half\n"


def first_fix(report: str, language: str = "en", **known: Any) -> str:
    """Return the title of the fix that comes first."""
    first = diagnose(report, environment="report", language=language, **known).first
    assert first is not None
    return first.recommended[0].title


@pytest.fixture(scope="module")
def chat() -> Iterator[str]:
    """The address of the chat, its answers short enough for Discord."""
    with running(create_app(Settings(max_chars=1900))) as server:
        yield f"{server.url}/v1"


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch, chat: str) -> Callable[..., ModuleType]:
    """Import a bot with these variables in its environment."""

    def load_bot(name: str, **variables: str) -> ModuleType:
        for key, value in {"TROUBLESHOOT_URL": chat, **variables}.items():
            monkeypatch.setenv(key, value)
        spec = importlib.util.spec_from_file_location(name, BOTS / f"{name}.py")
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setattr(sys, "argv", [name])
        spec.loader.exec_module(module)
        return module

    return load_bot


# ---- Discord


class Discord:
    """The side of Discord: signs interactions, serves files, takes commands."""

    def __init__(self) -> None:
        from nacl.signing import SigningKey

        self.key = SigningKey.generate()
        self.commands: list[dict[str, Any]] = []
        self.files: dict[str, str] = {}
        self.bot = ""
        self.app = Starlette(
            routes=[
                Route("/api/applications/{application}/commands", self._register, methods=["PUT"]),
                Route("/files/{name}", lambda request: PlainTextResponse(self.files[request.path_params["name"]])),
            ]
        )

    async def _register(self, request: Request) -> Response:
        if request.headers.get("authorization") != "Bot secret":
            return Response(status_code=401)
        self.commands = await request.json()
        return JSONResponse(self.commands)

    def post(self, interaction: dict[str, Any], *, signature: str | None = None) -> Any:
        """Send an interaction as Discord does: the signature is over the time and the body."""
        body = json.dumps(interaction).encode()
        stamp = str(int(time.time()))
        signed = signature or self.key.sign(stamp.encode() + body).signature.hex()
        headers = {"X-Signature-Ed25519": signed, "X-Signature-Timestamp": stamp, "Content-Type": "application/json"}
        return httpx.post(f"{self.bot}/interactions", content=body, headers=headers, timeout=20)

    def say(self, report: str) -> dict[str, Any]:
        """Return the message that /diagnose gets."""
        option = {"name": "report", "type": 3, "value": report}
        return self.post({"type": 2, "data": {"name": "diagnose", "type": 1, "options": [option]}}).json()["data"]

    def answer(self, message: dict[str, Any], text: str) -> dict[str, Any]:
        """Press the button below a message, fill in the form, and return the next message."""
        button = message["components"][0]["components"][0]
        form = self.post({"type": 3, "message": message, "data": {"custom_id": button["custom_id"], "component_type": 2}}).json()
        assert form["type"] == 9
        field = form["data"]["components"][0]["components"][0]["custom_id"]
        filled = {"custom_id": form["data"]["custom_id"], "components": [{"type": 1, "components": [{"custom_id": field, "value": text}]}]}
        return self.post({"type": 5, "message": message, "data": filled}).json()["data"]


@pytest.fixture
def discord(load: Callable[..., ModuleType]) -> Iterator[Discord]:
    """The bot running, and Discord's side of it."""
    pytest.importorskip("nacl", reason="needs the extra clients")
    platform = Discord()
    with running(platform.app) as site:
        public = platform.key.verify_key.encode().hex()
        bot = load("discord_bot", DISCORD_PUBLIC_KEY=public, DISCORD_FILES=f"{site.url}/files/")
        with running(bot.app) as server:
            platform.bot = server.url
            platform.site = site.url  # type: ignore[attr-defined]
            yield platform


def test_discord_checks_that_the_signature_is_checked(discord: Discord) -> None:
    """A ping is answered; a wrong, a missing and a mutilated signature are not."""
    assert discord.post({"type": 1}).json() == {"type": 1}
    for wrong in ("00" * 64, "not hex", "00"):
        assert discord.post({"type": 1}, signature=wrong).status_code == 401
    assert httpx.post(f"{discord.bot}/interactions", content=b'{"type": 1}').status_code == 401


@pytest.mark.parametrize(("case", "language"), CASES)
def test_discord_leads_to_the_fix(discord: Discord, case: Founding, language: str) -> None:
    """A founding report gets its issue, and its first fix at once or on "fix"; no answer is longer than Discord takes."""
    report = case.report(language=language)
    message = discord.say(report)
    assert case.issue in message["content"]
    if first_fix(report, language) not in message["content"]:
        message = discord.answer(message, "1")
    assert first_fix(report, language) in message["content"]
    assert len(message["content"]) <= 2000


def test_a_discord_conversation_needs_no_memory(discord: Discord) -> None:
    """A question is answered through the form, then the next fix is asked for."""
    message = discord.say(ASKING)
    assert "apex" in message["content"]
    message = discord.answer(message, "yes, installed, on an A100")
    assert first_fix(ASKING, answers={"package.apex": "present"}, gpu="A100") in message["content"]
    message = discord.answer(message, "didn't work")
    assert "**2. " in message["content"]


def test_somebody_elses_message_is_diagnosed_with_its_file(discord: Discord) -> None:
    """What is longer than a message is a file; files from elsewhere are not fetched."""
    discord.files["message.txt"] = BLIP2.report()
    site = discord.site  # type: ignore[attr-defined]

    def command(url: str) -> Any:
        file = {"id": "1", "url": url, "content_type": "text/plain; charset=utf-8", "size": 2000}
        message = {"id": "7", "content": "any ideas?", "attachments": [file]}
        return discord.post(
            {"type": 2, "data": {"name": "Diagnose", "type": 3, "target_id": "7", "resolved": {"messages": {"7": message}}}}
        )

    assert BLIP2.issue in command(f"{site}/files/message.txt").json()["data"]["content"]
    assert BLIP2.issue not in command(f"{site}/api/../files/message.txt").json()["data"]["content"]


def test_a_discord_answer_mentions_nobody(discord: Discord) -> None:
    """Whatever was pasted."""
    message = discord.say("@everyone <@123> RuntimeError: expected scalar type Float but found Half")
    assert message["allowed_mentions"] == {"parse": []}


def test_discord_is_told_when_the_service_is_gone(load: Callable[..., ModuleType]) -> None:
    """In words, within Discord's three seconds."""
    pytest.importorskip("nacl", reason="needs the extra clients")
    platform = Discord()
    bot = load("discord_bot", DISCORD_PUBLIC_KEY=platform.key.verify_key.encode().hex(), TROUBLESHOOT_URL="http://127.0.0.1:9/v1")
    with running(bot.app) as server:
        platform.bot = server.url
        assert "cannot be reached" in platform.say("RuntimeError: expected scalar type Float but found Half")["content"]


def test_the_discord_commands_are_registered() -> None:
    """One call with the bot's token: a command on messages, and one with a text."""
    pytest.importorskip("nacl", reason="needs the extra clients")
    platform = Discord()
    with running(platform.app) as site:
        variables = {
            "DISCORD_API": f"{site.url}/api",
            "DISCORD_APPLICATION": "42",
            "DISCORD_TOKEN": "secret",
            "DISCORD_PUBLIC_KEY": "00" * 32,
        }
        subprocess.run([sys.executable, str(BOTS / "discord_bot.py"), "register"], env={**os.environ, **variables}, check=True, timeout=120)
    assert [(one["name"], one.get("type", 1)) for one in platform.commands] == [("Diagnose", 3), ("diagnose", 1)]


# ---- Feishu


class Feishu:
    """The side of Feishu: encrypts and signs events, gives tokens, takes replies."""

    KEY, TOKEN = "the encrypt key", "the verification token"

    def __init__(self) -> None:
        self.replies: list[tuple[str, str]] = []
        self.bot = ""
        self.app = Starlette(
            routes=[
                Route("/open-apis/auth/v3/tenant_access_token/internal", self._token, methods=["POST"]),
                Route("/open-apis/im/v1/messages/{message}/reply", self._reply, methods=["POST"]),
            ]
        )

    async def _token(self, request: Request) -> Response:
        if await request.json() != {"app_id": "app", "app_secret": "secret"}:
            return JSONResponse({"code": 10014, "msg": "app secret invalid"})
        return JSONResponse({"code": 0, "msg": "ok", "tenant_access_token": "t-1", "expire": 7200})

    async def _reply(self, request: Request) -> Response:
        body = await request.json()
        if request.headers.get("authorization") != "Bearer t-1" or body["msg_type"] != "interactive":
            return Response(status_code=400)
        card = json.loads(body["content"])
        self.replies.append((request.path_params["message"], card["body"]["elements"][0]["content"]))
        return JSONResponse({"code": 0})

    def encrypted(self, data: dict[str, Any]) -> bytes:
        """AES-256-CBC with PKCS#7 padding, the initialisation vector before it, in Base64."""
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

        plain = json.dumps(data).encode()
        plain += bytes([16 - len(plain) % 16]) * (16 - len(plain) % 16)
        vector = os.urandom(16)
        cipher = Cipher(algorithms.AES(hashlib.sha256(self.KEY.encode()).digest()), modes.CBC(vector)).encryptor()
        return json.dumps({"encrypt": base64.b64encode(vector + cipher.update(plain) + cipher.finalize()).decode()}).encode()

    def post(self, data: dict[str, Any], *, signed: bool = True) -> Any:
        """Send an event, signed over time, nonce, key and body."""
        body = self.encrypted(data)
        stamp, nonce = str(int(time.time())), "n0nce"
        headers = {"X-Lark-Request-Timestamp": stamp, "X-Lark-Request-Nonce": nonce}
        if signed:
            headers["X-Lark-Signature"] = hashlib.sha256(f"{stamp}{nonce}{self.KEY}".encode() + body).hexdigest()
        return httpx.post(f"{self.bot}/feishu", content=body, headers=headers, timeout=20)

    def message(self, number: int, content: Any, *, kind: str = "text", group: bool = False, mentioned: bool = False) -> dict[str, Any]:
        """Return the event of a message to the bot."""
        mentions = [{"key": "@_user_1", "id": {"open_id": "ou_bot"}, "name": "bot"}] if mentioned else None
        text = {"text": content} if isinstance(content, str) else content
        message = {
            "message_id": f"om_{number}",
            "chat_id": "oc_1",
            "chat_type": "group" if group else "p2p",
            "message_type": kind,
            "content": json.dumps(text, ensure_ascii=False),
            **({"mentions": mentions} if mentions else {}),
        }
        header = {"event_id": f"ev_{number}", "event_type": "im.message.receive_v1", "token": self.TOKEN, "app_id": "app"}
        return {"schema": "2.0", "header": header, "event": {"sender": {"sender_id": {"open_id": "ou_1"}}, "message": message}}

    def reply_to(self, number: int) -> str:
        """Wait for the reply to a message; it comes after the event was answered."""
        for _ in range(400):
            for message, text in self.replies:
                if message == f"om_{number}":
                    return text
            time.sleep(0.05)
        raise AssertionError(f"there is no reply to om_{number}")


@pytest.fixture
def feishu(load: Callable[..., ModuleType]) -> Iterator[Feishu]:
    """The bot running, and Feishu's side of it."""
    pytest.importorskip("cryptography", reason="needs the extra clients")
    platform = Feishu()
    with running(platform.app) as site:
        variables = {"FEISHU_TOKEN": Feishu.TOKEN, "FEISHU_ENCRYPT_KEY": Feishu.KEY, "FEISHU_APP_ID": "app", "FEISHU_APP_SECRET": "secret"}
        bot = load("feishu_bot", FEISHU_API=site.url, **variables)
        with running(bot.app) as server:
            platform.bot = server.url
            yield platform


def test_feishu_gets_its_challenge_back(feishu: Feishu) -> None:
    """Unsigned, as Feishu sends it; with a wrong token, a wrong key or no signature nothing is done."""
    challenge = {"challenge": "c-1", "token": Feishu.TOKEN, "type": "url_verification"}
    assert feishu.post(challenge, signed=False).json() == {"challenge": "c-1"}
    assert feishu.post({**challenge, "token": "guessed"}, signed=False).status_code == 401
    assert feishu.post(feishu.message(1, BLIP2.report()), signed=False).status_code == 401
    for body in (b"", b"[]", b"{}", b'{"encrypt": "AAAA"}', b'{"encrypt": "' + base64.b64encode(bytes(64)) + b'"}'):
        assert httpx.post(f"{feishu.bot}/feishu", content=body).status_code == 400
    assert feishu.replies == []


def test_feishu_decrypts_what_feishus_documentation_encrypts(load: Callable[..., ModuleType]) -> None:
    """The documented example: the key "test key" and the text "hello world"."""
    pytest.importorskip("cryptography", reason="needs the extra clients")
    bot = load("feishu_bot", FEISHU_TOKEN="-", FEISHU_ENCRYPT_KEY="test key", FEISHU_APP_ID="-", FEISHU_APP_SECRET="-")
    bot.json = type("Raw", (), {"loads": staticmethod(bytes.decode)})  # The example is no JSON.
    assert bot.decrypted("P37w+VZImNgPEO1RBhJ6RtKl7n6zymIbEG1pReEzghk=") == "hello world"


@pytest.mark.parametrize(("case", "language"), CASES)
def test_feishu_leads_to_the_fix(feishu: Feishu, case: Founding, language: str) -> None:
    """A founding report gets its issue, and its first fix at once or on its number."""
    report = case.report(language=language)
    assert feishu.post(feishu.message(1, report)).json() == {}
    reply = feishu.reply_to(1)
    assert case.issue in reply
    if first_fix(report, language) not in reply:
        feishu.post(feishu.message(2, "1"))
        reply = feishu.reply_to(2)
    assert first_fix(report, language) in reply


def test_an_event_that_comes_again_is_answered_once(feishu: Feishu) -> None:
    """Feishu repeats what was not answered in time."""
    for _ in range(3):
        assert feishu.post(feishu.message(1, BLIP2.report())).status_code == 200
    feishu.post(feishu.message(2, T5_APEX.report()))
    feishu.reply_to(2)
    assert [number for number, _ in feishu.replies].count("om_1") == 1


def test_in_a_group_feishu_answers_who_mentions_it_or_when_it_knows(feishu: Feishu) -> None:
    """A rich text is read; chatter gets no answer; a picture is asked for as text."""
    feishu.post(feishu.message(1, "谁有空一起吃饭？", group=True))
    feishu.post(feishu.message(2, BLIP2.report(language="zh"), group=True))
    assert BLIP2.issue in feishu.reply_to(2)
    rows = [[{"tag": "at", "user_id": "@_user_1"}], [{"tag": "text", "text": "求助"}], [{"tag": "code_block", "text": T5_APEX.report()}]]
    feishu.post(feishu.message(3, {"title": "", "content": rows}, kind="post", group=True, mentioned=True))
    assert T5_APEX.issue in feishu.reply_to(3)
    feishu.post(feishu.message(4, {"image_key": "img_1"}, kind="image"))
    assert feishu.reply_to(4)
    feishu.post(feishu.message(5, "@_user_1 hello", group=True, mentioned=True))
    assert "@_user_1" not in feishu.reply_to(5)
    assert "om_1" not in {number for number, _ in feishu.replies}


# ---- Gradio


def test_gradio_holds_a_conversation(load: Callable[..., ModuleType], monkeypatch: pytest.MonkeyPatch) -> None:
    """Through Gradio's own client: a question, an answer, the fix."""
    pytest.importorskip("gradio", reason="needs the extra clients")
    client = pytest.importorskip("gradio_client", reason="needs the extra clients")
    monkeypatch.setenv("GRADIO_ANALYTICS_ENABLED", "False")
    bot = load("gradio_bot")
    _, url, _ = bot.chat.launch(prevent_thread_lock=True, quiet=True, server_name="127.0.0.1")
    try:
        visitor = client.Client(url, verbose=False)
        said = visitor.predict(ASKING, api_name="/answer")
        assert "apex" in said
        said = visitor.predict("yes, installed, on an A100", api_name="/answer")
        assert first_fix(ASKING, answers={"package.apex": "present"}, gpu="A100") in said
    finally:
        bot.chat.close()


def test_every_bot_is_short() -> None:
    """What is shown in docs/bots.md can be read at once."""
    sizes = {path.name: len(path.read_text(encoding="utf-8").splitlines()) for path in sorted(BOTS.glob("*.py"))}
    assert sizes.keys() == {"discord_bot.py", "feishu_bot.py", "gradio_bot.py"}
    assert max(sizes.values()) < 80
