"""A real server, driven by the clients that people use: curl, the openai SDK and the mcp SDK, none of them modified."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from founding import ALL, BLIP2, QWEN2_VL, T5_APEX, Founding
from servers import Running

pytest.importorskip("fastapi", reason="needs the extra serve")
pytest.importorskip("uvicorn", reason="needs the extra serve")
openai = pytest.importorskip("openai", reason="needs the extra clients")
mcp = pytest.importorskip("mcp", reason="needs the extra serve")

pytestmark = pytest.mark.slow

FIRST_FIX = {
    "transformers/blip2-query-tokens-fp32": "transformers==4.50.3",
    "minicpm/vpm-left-on-cpu": "vpm",
    "transformers/t5-fused-rmsnorm-wo": "torch_dtype=torch.bfloat16",
    "transformers/qwen2-vl-eager-fp16-nan": "torch_dtype=torch.bfloat16",
    "open_clip/layernorm-fp32-cast": "precision",
}


class Chat:
    """A chat program: it sends what was said so far, and nothing else."""

    def __init__(self, server: Running, model: str = "troubleshoot", *, stream: bool = False) -> None:
        self.client = openai.OpenAI(base_url=f"{server.url}/v1", api_key="any")
        self.model, self.stream = model, stream
        self.messages: list[dict[str, Any]] = []

    def say(self, content: Any) -> str:
        self.messages.append({"role": "user", "content": content})
        made = self.client.chat.completions.create(model=self.model, messages=self.messages, stream=self.stream, temperature=0.7)
        if self.stream:
            reply = "".join(chunk.choices[0].delta.content or "" for chunk in made if chunk.choices)
        else:
            reply = made.choices[0].message.content
        self.messages.append({"role": "assistant", "content": reply})
        return reply


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("case", ALL, ids=lambda case: case.issue.rpartition("/")[2])
def test_openai_sdk_comes_to_the_fix(server: Running, case: Founding, language: str) -> None:
    """Paste, wrong GPU, correction: the right fix comes at once or with the GPU that it needs; its link leads to a page."""
    replies = []
    for stream in (False, True):
        chat = Chat(server, stream=stream)
        said = [chat.say(case.report(language=language)), chat.say("T4" if language == "en" else "显卡是T4")]
        said.append(chat.say("sorry, it is an A100" if language == "en" else "说错了，是A100"))
        assert case.issue in said[-1]
        replies.append("\n".join((said[0], said[-1])))
    assert FIRST_FIX[case.issue] in "\n".join(re.findall(r"```\w*\n(.*?)```", replies[0], re.DOTALL))
    assert replies[0] == replies[1]
    link = re.search(r"\]\((http://[^)]+)\)", replies[0])
    assert link is not None
    assert case.issue in curl(link[1])


def test_openai_sdk_parameters(server: Running) -> None:
    """n, stop, usage and unknown parameters do what the protocol says; errors are OpenAI's."""
    client = openai.OpenAI(base_url=f"{server.url}/v1", api_key="any")
    asked = [{"role": "system", "content": "You are a pirate."}, {"role": "user", "content": BLIP2.report()}]
    made = client.chat.completions.create(
        model="troubleshoot", messages=asked, n=3, stop=["Fix 1"], seed=1, user="u", extra_body={"top_k": 4}
    )
    assert [choice.index for choice in made.choices] == [0, 1, 2]
    assert len({choice.message.content for choice in made.choices}) == 1
    assert "Fix 1" not in made.choices[0].message.content
    assert made.choices[0].finish_reason == "stop"
    assert made.usage.total_tokens == made.usage.prompt_tokens + made.usage.completion_tokens > 0
    chunks = list(client.chat.completions.create(model="troubleshoot", messages=asked, stream=True, stream_options={"include_usage": True}))
    assert chunks[-1].usage.completion_tokens > 0
    assert len(chunks) > 5
    assert {model.id for model in client.models.list()} == {"troubleshoot", "troubleshoot-quiet"}
    with pytest.raises(openai.NotFoundError) as missing:
        client.chat.completions.create(model="gpt-5", messages=asked)
    assert missing.value.code == "model_not_found"
    with pytest.raises(openai.BadRequestError):
        client.chat.completions.create(model="troubleshoot", messages=[])


def test_openai_sdk_content_parts(server: Running) -> None:
    """An image is answered with a request for text; text beside it is read."""
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    assert "paste the text" in Chat(server).say([picture])
    assert BLIP2.issue in Chat(server).say([{"type": "text", "text": BLIP2.report()}, picture])


def test_openai_sdk_quiet_model(server: Running) -> None:
    """The quiet model's content is empty where nothing is known."""
    quiet = Chat(server, "troubleshoot-quiet")
    assert quiet.say("has anyone seen the new release?") == ""
    assert QWEN2_VL.issue in quiet.say(QWEN2_VL.report())


def test_openai_sdk_async_many_at_a_time(server: Running) -> None:
    """Thirty conversations at once do not mix."""

    async def ask(client: Any, case: Founding) -> bool:
        made = await client.chat.completions.create(model="troubleshoot", messages=[{"role": "user", "content": case.report()}])
        return case.issue in made.choices[0].message.content

    async def all_() -> list[bool]:
        async with openai.AsyncOpenAI(base_url=f"{server.url}/v1", api_key="any") as client:
            return await asyncio.gather(*(ask(client, case) for case in ALL * 6))

    assert all(asyncio.run(all_()))


def curl(*arguments: str, status: int | None = None, data: bytes | None = None) -> str:
    """Run curl and return what it printed; with ``status``, the answer must have that status."""
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    done = subprocess.run(["curl", "-sS", "-m", "30", "-w", "\n%{http_code}", *arguments], input=data, capture_output=True, check=True)
    body, _, code = done.stdout.decode().rpartition("\n")
    assert status is None or int(code) == status, (code, body)
    return body


def test_curl_gets_the_object_of_the_command_line(server: Running, tmp_path: Path) -> None:
    """Text in, and the same JSON out as `troubleshoot diagnose --env report --format json`."""
    report = tmp_path / "report.txt"
    report.write_text(T5_APEX.report(), encoding="utf-8")
    served = curl("--data-binary", f"@{report}", "-H", "content-type: text/plain", f"{server.url}/v1/diagnose", status=200)
    command = [sys.executable, "-m", "troubleshoot", "diagnose", str(report), "--env", "report", "--format", "json", "--lang", "en"]
    printed = subprocess.run(command, capture_output=True, text=True, encoding="utf-8")
    assert json.loads(served) == json.loads(printed.stdout)


def test_curl_refines_with_json(server: Running) -> None:
    """Environment, answers, GPU, language and top are used; what cannot be is told in errors."""
    body = {
        "report": QWEN2_VL.report(versions=False),
        "environment": {"packages": {"transformers": "4.57.6"}, "accelerators": ["Tesla T4"]},
        "answers": {"no.such.fact": "1"},
        "language": "zh",
        "top": 1,
    }
    data = json.loads(curl("--json", json.dumps(body), f"{server.url}/v1/diagnose", status=200))
    assert len(data["diagnoses"]) == 1
    assert data["diagnoses"][0]["fixes"][0]["id"] == "sdpa"
    assert data["environment"]["accelerators"][0]["name"] == "Tesla T4"
    assert "no.such.fact" in data["errors"][0]
    assert re.search("[\u4e00-\u9fff]", data["summary"])
    with_dump = {"report": BLIP2.report(versions=False), "environment": "transformers==4.50.2\ntorch==2.6.0\n"}
    dump = curl("--json", json.dumps(with_dump), f"{server.url}/v1/diagnose", status=200)
    assert json.loads(dump)["environment"]["packages"]["transformers"] == {"version": "4.50.2", "source": "file"}


def test_curl_looks_things_up(server: Running) -> None:
    """Issues, causes, hardware, probes, metrics."""

    def get(path: str, status: int = 200) -> str:
        return curl(f"{server.url}{path}", status=status)

    assert any(one["id"] == BLIP2.issue for one in json.loads(get("/v1/issues?q=blip2")))
    assert json.loads(get(f"/v1/issues/{BLIP2.issue}"))["fixes"][0]["id"] == "upgrade"
    assert "Did you mean" in json.loads(get("/v1/issues/transformers/blip2-query-token", 404))["error"]["message"]
    assert len(json.loads(get("/v1/causes"))) > 40
    assert json.loads(get("/v1/hardware?gpu=T4"))[0]["support"]["bfloat16"]["matmul"]["state"] == "emulated"
    assert "Did you mean" in json.loads(get("/v1/hardware?gpu=V1000", 404))["error"]["message"]
    assert json.loads(get("/readyz"))["status"] == "ready"
    assert 'troubleshoot_requests_total{route="/v1/causes",status="200"}' in get("/metrics")
    assert "T5" in get("/issues/transformers/t5-fused-rmsnorm-wo?lang=zh")
    assert "fp32-island" in get("/causes/dtype-mismatch/fp32-island")
    assert get("/issues/transformers/nothing", 404)
    assert json.loads(get("/openapi.json"))["openapi"].startswith("3.")


def test_feedback_is_counted(server: Running) -> None:
    """Worked and did not are noted; nothing of the report is stored."""
    from troubleshoot.serve.feedback import counts

    path = server.log.parent / "feedback.db"
    for worked in (True, True, False):
        body = {"issue": BLIP2.issue, "fix": "upgrade", "worked": worked, "report": "a secret report"}
        curl("--json", json.dumps(body), f"{server.url}/v1/feedback", status=201)
    assert {"issue": BLIP2.issue, "fix": "upgrade", "worked": 2, "failed": 1} in counts(path)
    assert b"secret" not in path.read_bytes()
    curl("--json", json.dumps({"issue": "a/b", "fix": None, "worked": True}), f"{server.url}/v1/feedback", status=404)
    curl("--json", json.dumps({"issue": BLIP2.issue, "fix": "nothing", "worked": True}), f"{server.url}/v1/feedback", status=404)
    plain = json.dumps({"issue": BLIP2.issue, "worked": True})
    curl("-H", "content-type: text/plain", "-d", plain, f"{server.url}/v1/feedback", status=415)


async def _use_mcp(client: Any) -> None:
    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert {"diagnose", "explain", "list_issues", "hardware_support"} <= set(tools)
    assert all(len(tool.description) > 80 for tool in tools.values())
    assert all(tools[name].annotations.read_only_hint for name in ("diagnose", "explain", "list_issues", "hardware_support"))
    found = await client.call_tool("diagnose", {"report": QWEN2_VL.report(), "gpu": "A100"})
    assert found.structured_content["diagnoses"][0]["issue"] == QWEN2_VL.issue
    assert found.structured_content["diagnoses"][0]["fixes"][0]["id"] == "bf16"
    assert QWEN2_VL.issue in found.content[0].text
    assert "T5LayerNorm" in (await client.call_tool("explain", {"issue": T5_APEX.issue})).content[0].text
    assert (await client.call_tool("explain", {"issue": "no/such"})).is_error
    assert BLIP2.issue in (await client.call_tool("list_issues", {"words": "blip2"})).content[0].text
    assert json.loads((await client.call_tool("hardware_support", {"gpu": "V100"})).content[0].text)[0]["architecture"] == "volta"
    assert (await client.call_tool("hardware_support", {"gpu": "quux"})).is_error
    read = await client.read_resource(f"troubleshoot://issues/{BLIP2.issue}")
    assert "4.50.3" in read.contents[0].text
    with pytest.raises(Exception, match="no known issue"):
        await client.read_resource("troubleshoot://issues/no/such")


def test_mcp_sdk_over_http(server: Running) -> None:
    """The official SDK as a client of /mcp."""

    async def use() -> None:
        async with mcp.Client(f"{server.url}/mcp") as client:
            await _use_mcp(client)
            assert "verify" not in {tool.name for tool in (await client.list_tools()).tools}

    asyncio.run(use())


@pytest.mark.parametrize("run", [False, True])
def test_mcp_sdk_over_stdio(run: bool) -> None:
    """The official SDK starts `troubleshoot mcp`; verify and audit are there with --allow-run only."""
    from mcp.client.stdio import StdioServerParameters, stdio_client

    async def use() -> None:
        options = ["--allow-run"] if run else []
        parameters = StdioServerParameters(command=sys.executable, args=["-m", "troubleshoot", "mcp", *options])
        async with mcp.Client(stdio_client(parameters)) as client:
            await _use_mcp(client)
            names = {tool.name for tool in (await client.list_tools()).tools}
            assert ({"verify", "audit"} <= names) == run
            if run:
                checked = await client.call_tool("audit", {"target": "no_such_module:build"})
                assert checked.is_error
                assert (await client.call_tool("verify", {"issue": "--help"})).is_error

    asyncio.run(use())


@pytest.mark.parametrize(
    ("line", "number", "code"),
    [
        ('{"jsonrpc": "2.0", "id": 7, "method": ', None, -32700),
        ("what is this?", None, -32700),
        ("[" * 100_000, None, -32700),
        ('{"jsonrpc": "2.0", "id": 7, "method": 5}', 7, -32600),
        ('{"jsonrpc": "1.0", "id": "a", "method": "ping"}', "a", -32600),
        ('{"jsonrpc": "2.0", "id": {"id": 3}}', None, -32600),
        ('[{"jsonrpc": "2.0", "id": 7, "method": "ping"}]', None, -32600),
    ],
    ids=range(7),
)
def test_mcp_over_stdio_answers_what_is_no_request(line: str, number: object, code: int, stdio: subprocess.Popen[str]) -> None:
    """Its client would else wait; a request after it, and a blank line, are served as ever."""
    assert stdio.stdin is not None and stdio.stdout is not None
    stdio.stdin.write(f'\n{line}\n{{"jsonrpc": "2.0", "id": 99, "method": "ping"}}\n')
    stdio.stdin.flush()
    answers = [json.loads(stdio.stdout.readline()) for _ in range(2)]
    refused = next(one for one in answers if one["id"] != 99)
    assert (refused["id"], refused["error"]["code"]) == (number, code)
    assert len(json.dumps(refused)) < 200


@pytest.fixture(scope="module")
def stdio() -> Iterator[subprocess.Popen[str]]:
    """`troubleshoot mcp`, after the handshake."""
    command = [sys.executable, "-m", "troubleshoot", "mcp"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None and process.stdout is not None
        hello = {"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
        process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}) + "\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["id"] == 1
        yield process
        process.stdin.close()
        assert process.wait(20) == 0


def test_mcp_verify_runs_here() -> None:
    """With --allow-run an issue is reproduced on this machine, and the answer is what the command prints."""
    pytest.importorskip("torch", reason="needs torch")
    from mcp.client.stdio import StdioServerParameters, stdio_client

    async def use() -> None:
        parameters = StdioServerParameters(command=sys.executable, args=["-m", "troubleshoot", "mcp", "--allow-run"])
        async with mcp.Client(stdio_client(parameters), read_timeout_seconds=300) as client:
            ran = await client.call_tool("verify", {"issue": "torch/linear-dtype"})
            assert json.loads(ran.content[0].text)["issue"] == "torch/linear-dtype"

    asyncio.run(use())


def test_mcp_refuses_other_sites(server: Running) -> None:
    """A web page elsewhere cannot use the browser of somebody who has the server running."""
    curl("--json", "{}", "-H", "Origin: https://evil.example", f"{server.url}/mcp", status=403)
    curl("-H", "Host: evil.example", f"{server.url}/healthz", status=421)


def test_mounted_into_another_application(tmp_path: Path) -> None:
    """create_app() is an ASGI application below any path, without the host's help: REST, chat, MCP and pages work, links lead there."""
    program = tmp_path / "host.py"
    program.write_text(
        "import sys, uvicorn\nfrom fastapi import FastAPI\nfrom troubleshoot.serve import create_app\n"
        "app = FastAPI()\napp.mount('/help', create_app())\n"
        "uvicorn.run(app, port=int(sys.argv[1]), log_level='warning')\n"
    )
    port = free_port()
    process = subprocess.Popen([sys.executable, str(program), str(port)])
    try:
        url = f"http://127.0.0.1:{port}/help"
        patient = ["--retry", "60", "--retry-connrefused", "--retry-delay", "1"]
        assert "ready" in curl(*patient, f"{url}/readyz", status=200)
        client = openai.OpenAI(base_url=f"{url}/v1", api_key="any")
        reply = client.chat.completions.create(model="troubleshoot", messages=[{"role": "user", "content": BLIP2.report()}])
        assert f"{url}/issues/{BLIP2.issue}" in reply.choices[0].message.content
        assert BLIP2.issue in curl(f"{url}/issues/{BLIP2.issue}", status=200)

        async def use() -> None:
            async with mcp.Client(f"{url}/mcp") as one:
                await _use_mcp(one)

        asyncio.run(use())
    finally:
        process.terminate()
        process.wait(20)


def free_port() -> int:
    """Return a port that nobody listens on."""
    import socket

    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def test_schemathesis_finds_nothing(server: Running, tmp_path: Path) -> None:
    """What OpenAPI promises holds, for requests that it allows and for those that it does not."""
    pytest.importorskip("schemathesis", reason="needs the extra clients")
    command = [sys.executable, "-m", "schemathesis.cli.__main__", "run", f"{server.url}/openapi.json"]
    done = subprocess.run([*command, "--max-examples", "60", "--seed", "1", "--no-color"], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stdout[-6000:]
