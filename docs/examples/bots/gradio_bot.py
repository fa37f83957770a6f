"""A chat window in Gradio.

pip install gradio openai
troubleshoot serve                      # in another terminal
python gradio_bot.py
"""

import os
from collections.abc import Iterator

import gradio
from openai import OpenAI

URL = os.environ.get("TROUBLESHOOT_URL", "http://127.0.0.1:8000/v1")
BOT = OpenAI(base_url=URL, api_key=os.environ.get("TROUBLESHOOT_TOKEN", "none"))


def answer(message: str, history: list[dict]) -> Iterator[str]:
    """Show the answer as it comes. The whole conversation goes along: the server keeps nothing."""
    said = [{"role": one["role"], "content": one["content"]} for one in history]
    text = ""
    for chunk in BOT.chat.completions.create(model="troubleshoot", messages=[*said, {"role": "user", "content": message}], stream=True):
        text += chunk.choices[0].delta.content or ""
        yield text


chat = gradio.ChatInterface(
    answer,
    title="PyTorch precision, dtype and device failures",
    textbox=gradio.Textbox(lines=6, max_lines=20, placeholder="Paste the traceback, versions and GPU. 请粘贴完整的报错。", submit_btn=True),
    examples=["RuntimeError: expected scalar type Float but found Half", "T4 上用 float16 跑 Stable Diffusion，图片全黑"],
    cache_examples=False,
)

if __name__ == "__main__":
    chat.launch()
