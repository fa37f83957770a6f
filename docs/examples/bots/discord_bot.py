"""A Discord bot over HTTP: "Diagnose" on somebody's message, /diagnose, and a button to answer its questions. It keeps nothing.

pip install openai pynacl starlette uvicorn
troubleshoot serve --max-chars 1900     # in another terminal: Discord takes 2,000 characters
DISCORD_APPLICATION=... DISCORD_TOKEN=... DISCORD_PUBLIC_KEY=... python discord_bot.py register
DISCORD_PUBLIC_KEY=... uvicorn discord_bot:app --port 8080
"""

import json
import os
import sys

import httpx
from nacl.exceptions import BadSignatureError
from nacl.signing import VerifyKey
from openai import AsyncOpenAI, OpenAIError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

API = os.environ.get("DISCORD_API", "https://discord.com/api/v10")
FILES = os.environ.get("DISCORD_FILES", "https://cdn.discordapp.com/")
KEY = VerifyKey(bytes.fromhex(os.environ["DISCORD_PUBLIC_KEY"]))
URL, TOKEN = os.environ.get("TROUBLESHOOT_URL", "http://127.0.0.1:8000/v1"), os.environ.get("TROUBLESHOOT_TOKEN", "none")
BOT = AsyncOpenAI(base_url=URL, api_key=TOKEN, timeout=2, max_retries=0)  # Discord waits for 3 s.
REPORT = {"name": "report", "description": "The error, with versions and GPU", "type": 3, "required": True}
COMMANDS = [{"name": "Diagnose", "type": 3}, {"name": "diagnose", "description": "What is this error?", "options": [REPORT]}]
BUTTON = [{"type": 1, "components": [{"type": 2, "style": 1, "label": "Answer", "custom_id": "answer"}]}]
FIELD = {"type": 4, "custom_id": "text", "style": 2, "label": "A number, or in words: torch 2.3, a T4", "max_length": 1500}
FORM = {"custom_id": "answer", "title": "Answer", "components": [{"type": 1, "components": [FIELD]}]}


async def report_of(message: dict) -> str | list:
    """Return a message with its text files, which Discord makes of long texts. Of a picture alone the chat asks for the text."""
    parts = [message["content"]]
    for file in message.get("attachments", [])[:3]:
        if file["url"].startswith(FILES) and file.get("content_type", "").startswith("text/") and file["size"] < 1_000_000:
            async with httpx.AsyncClient(timeout=1) as client:
                parts.append((await client.get(file["url"])).text)
    return "\n".join(parts).strip() or [{"type": "image_url", "image_url": {"url": "data:,"}}]


async def reply(*messages: dict) -> Response:
    """Return the chat's answer as a message that mentions nobody and embeds nothing, whatever was pasted."""
    try:
        answer = await BOT.chat.completions.create(model="troubleshoot", messages=messages)
        content = answer.choices[0].message.content
    except OpenAIError:
        content = "The diagnosis cannot be reached at the moment. Please try again in a minute."
    return JSONResponse({"type": 4, "data": {"content": content, "components": BUTTON, "flags": 4, "allowed_mentions": {"parse": []}}})


async def interactions(request: Request) -> Response:
    """Handle what Discord sends: a ping, a command, a pressed button, or a filled form."""
    body = await request.body()
    try:
        KEY.verify(request.headers["x-signature-timestamp"].encode() + body, bytes.fromhex(request.headers["x-signature-ed25519"]))
    except (BadSignatureError, KeyError, ValueError):
        return Response("invalid request signature", 401)
    interaction = json.loads(body)
    data = interaction.get("data", {})
    if interaction["type"] == 1:
        return JSONResponse({"type": 1})
    if interaction["type"] == 2:
        messages = data.get("resolved", {}).get("messages")
        report = await report_of(messages[data["target_id"]]) if messages else data["options"][0]["value"]
        return await reply({"role": "user", "content": report})
    if interaction["type"] == 3:
        return JSONResponse({"type": 9, "data": FORM})
    # The last line of the answer that the form belongs to says all that the chat must know.
    said = data["components"][0]["components"][0]["value"]
    return await reply({"role": "assistant", "content": interaction["message"]["content"]}, {"role": "user", "content": said})


app = Starlette(routes=[Route("/interactions", interactions, methods=["POST"])])
if sys.argv[1:] == ["register"]:
    sender = {"Authorization": f"Bot {os.environ['DISCORD_TOKEN']}"}
    httpx.put(f"{API}/applications/{os.environ['DISCORD_APPLICATION']}/commands", json=COMMANDS, headers=sender).raise_for_status()
