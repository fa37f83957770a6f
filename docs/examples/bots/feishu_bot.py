"""A Feishu (Lark) bot: answers where it is spoken to, and elsewhere in a group only where it knows.

pip install cryptography openai starlette uvicorn
troubleshoot serve                      # in another terminal
FEISHU_APP_ID=... FEISHU_APP_SECRET=... FEISHU_TOKEN=... FEISHU_ENCRYPT_KEY=... uvicorn feishu_bot:app --port 8080
"""

import base64
import hashlib
import hmac
import json
import os
import re
from collections import deque

import httpx
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from openai import AsyncOpenAI
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

API = os.environ.get("FEISHU_API", "https://open.feishu.cn") + "/open-apis"  # Lark: https://open.larksuite.com
APP = {"app_id": os.environ["FEISHU_APP_ID"], "app_secret": os.environ["FEISHU_APP_SECRET"]}
TOKEN, KEY = os.environ["FEISHU_TOKEN"], os.environ["FEISHU_ENCRYPT_KEY"]
BOT = AsyncOpenAI(base_url=os.getenv("TROUBLESHOOT_URL", "http://127.0.0.1:8000/v1"), api_key=os.getenv("TROUBLESHOOT_TOKEN", "none"))
seen: deque = deque(maxlen=10_000)  # Events that were handled: Feishu sends one again where it got no answer.
last: deque = deque(maxlen=1_000)  # Who was answered what; the last line of an answer says all that the chat must know.


def decrypted(text: str) -> dict:
    """AES-256-CBC, the key's SHA-256 as key; the first 16 bytes are the initialisation vector, the last one is how many to drop."""
    data = base64.b64decode(text)
    cipher = Cipher(algorithms.AES(hashlib.sha256(KEY.encode()).digest()), modes.CBC(data[:16])).decryptor()
    plain = cipher.update(data[16:]) + cipher.finalize()
    return json.loads(plain[: -plain[-1]])


async def answer(event: dict) -> None:
    """Answer a message: the texts of its content, a plain or a rich one, without those whom it mentions."""
    message, who = event["message"], (event["message"]["chat_id"], event["sender"]["sender_id"]["open_id"])
    lines = re.findall(r'"text": "((?:[^"\\]|\\.)*)"', json.dumps(json.loads(message["content"])))
    text = re.sub(r"@_(?:user_\d+|all) ?", "", "\n".join(json.loads(f'"{line}"') for line in lines)).strip()
    asked = message["chat_type"] == "p2p" or bool(message.get("mentions"))
    said = [{"role": "assistant", "content": dict(last)[who]}] if asked and who in dict(last) else []
    said.append({"role": "user", "content": text or [{"type": "image_url", "image_url": {"url": "data:,"}}]})  # It asks for the text.
    done = await BOT.chat.completions.create(model="troubleshoot" if asked else "troubleshoot-quiet", messages=said)
    if reply := done.choices[0].message.content:
        last.append((who, reply))
        card = json.dumps({"schema": "2.0", "body": {"elements": [{"tag": "markdown", "content": reply}]}})
        async with httpx.AsyncClient(timeout=10, base_url=API) as feishu:
            token = (await feishu.post("/auth/v3/tenant_access_token/internal", json=APP)).json()["tenant_access_token"]
            body, headers = {"msg_type": "interactive", "content": card}, {"Authorization": f"Bearer {token}"}
            (await feishu.post(f"/im/v1/messages/{message['message_id']}/reply", json=body, headers=headers)).raise_for_status()


async def events(request: Request) -> Response:
    """Handle what Feishu sends: the challenge when the address is entered, which is not signed, and events, each of them once."""
    body, headers = await request.body(), request.headers
    signed = headers.get("x-lark-request-timestamp", "") + headers.get("x-lark-request-nonce", "") + KEY
    genuine = hmac.compare_digest(hashlib.sha256(signed.encode() + body).hexdigest(), headers.get("x-lark-signature", ""))
    try:
        data = decrypted(json.loads(body)["encrypt"])
    except (ValueError, KeyError, TypeError, IndexError):
        return Response("not encrypted with the Encrypt Key", 400)
    if data.get("type") == "url_verification" and data["token"] == TOKEN:
        return JSONResponse({"challenge": data["challenge"]})
    if not genuine:
        return Response("wrong signature", 401)
    if data["header"]["event_id"] in seen or data["header"]["event_type"] != "im.message.receive_v1":
        return JSONResponse({})
    seen.append(data["header"]["event_id"])
    return JSONResponse({}, background=BackgroundTask(answer, data["event"]))  # Feishu waits for 3 s.


app = Starlette(routes=[Route("/feishu", events, methods=["POST"])])
