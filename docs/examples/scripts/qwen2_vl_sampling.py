"""Founding case 4: Qwen2-VL in float16 with eager attention overflows, and sampling fails (Qwen3-VL issues 77 and 195).

Needs transformers 4.53 or later. The model is transformers' own, tiny and random; the projections of query and key are enlarged until their
product passes float16's largest number, as in the published weights.
"""

import tempfile

import torch
from transformers import Qwen2VLConfig, Qwen2VLForConditionalGeneration


def checkpoint(folder: str) -> str:
    """Save a tiny random model, in place of a download."""
    config = Qwen2VLConfig(
        vocab_size=128, hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
        max_position_embeddings=128, rope_scaling={"type": "mrope", "mrope_section": [2, 3, 3]},
        vision_config={"depth": 1, "embed_dim": 32, "hidden_size": 64, "num_heads": 2, "patch_size": 14},
        bos_token_id=1, eos_token_id=2, pad_token_id=0, image_token_id=120, video_token_id=121,
        vision_start_token_id=122, vision_end_token_id=123,
    )  # fmt: skip
    model = Qwen2VLForConditionalGeneration(config)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if name.endswith(("q_proj.weight", "k_proj.weight")) and "visual" not in name:
                weight.mul_(1500.0)
    model.save_pretrained(folder)
    return folder


torch.manual_seed(4)
with tempfile.TemporaryDirectory() as folder:
    model = Qwen2VLForConditionalGeneration.from_pretrained(checkpoint(folder), torch_dtype=torch.float16, attn_implementation="eager")
model.eval()

prompt = torch.randint(3, 110, (1, 12))
answer = model.generate(input_ids=prompt, attention_mask=torch.ones_like(prompt), do_sample=True, max_new_tokens=4)
print("answer:", answer[0, prompt.shape[1] :].tolist())
