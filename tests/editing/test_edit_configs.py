"""Settings in YAML, JSON, shell scripts and command lines: the value changes, every other byte stays."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
import yaml

from troubleshoot.engine.result import FixAdvice
from troubleshoot.knowledge import load_kb
from troubleshoot.lab.editing.configs import plans_for_config
from troubleshoot.lab.editing.entries import fixes_of_issue
from troubleshoot.lab.editing.flags import is_shell, plan_for_arguments, plans_for_shell
from troubleshoot.lab.editing.plans import RefusedError

BASE = load_kb()
FIXES = {one.id: one for one in fixes_of_issue(BASE.entry("numerics/nan-loss"), "numerics/nan-loss", BASE)}
BF16, FP32 = FIXES["bf16"], FIXES["fp32"]


def after(path: Path, fix: FixAdvice) -> str:
    plans, refused = plans_for_config(str(path), [fix])
    assert plans, refused
    return plans[0].files[str(path)].decode()


#: name -> (file, text, fix, what is replaced by what)
CONFIGS = {
    "accelerate": ("a.yaml", "use_cpu: false\nmixed_precision: fp16  # AMP\n", BF16, ("fp16", "bf16")),
    "accelerate off": ("a.yaml", "use_cpu: false\nmixed_precision: 'fp16'\n", FP32, ("'fp16'", "'no'")),
    "accelerate off, plain": ("a.yaml", "mixed_precision: fp16\n", FP32, ("fp16", "'no'")),
    "training arguments": ("t.yml", "# run 7\nfp16: true   # half\nlr: 1e-4\n", BF16, ("fp16: true", "bf16: true")),
    "training arguments off": ("t.yml", "fp16: True\nlr: 1e-4\n", FP32, ("True", "False")),
    "both switches": ("t.yml", "fp16: true\nbf16: false\n", BF16, ("fp16: true\nbf16: false", "fp16: false\nbf16: true")),
    "a dtype": ("m.yaml", "model:\n    torch_dtype: torch.float16\n", BF16, ("torch.float16", "torch.bfloat16")),
    "lightning": ("l.yaml", "trainer: {precision: 16-mixed, devices: 1}\n", BF16, ("16-mixed", "bf16-mixed")),
    "windows": ("w.yaml", "a: 1\r\nfp16: true\r\n", BF16, ("fp16", "bf16")),
    "deepspeed": ("d.json", '{\n\t"fp16": {\n\t\t"enabled": true\n\t},\n\t"x": 1\n}\n', BF16, ('"fp16"', '"bf16"')),
    "deepspeed with loss scaling": (
        "d.json", '{\n  "fp16": {\n    "enabled": true,\n    "loss_scale": 0\n  }\n}\n', BF16,
        ('"fp16": {\n    "enabled": true', '"bf16": {"enabled": true},\n  "fp16": {\n    "enabled": false'),
    ),
    "deepspeed with both": (
        "d.json", '{"fp16": {"enabled": true}, "bf16": {"enabled": false}}', BF16,
        ('{"enabled": true}, "bf16": {"enabled": false}', '{"enabled": false}, "bf16": {"enabled": true}'),
    ),
    "a model's config": ("config.json", '{"a": [1, 2],   "torch_dtype": "float16"}', FP32, ('"float16"', '"float32"')),
}  # fmt: skip


@pytest.mark.parametrize("name", CONFIGS)
def test_one_value_changes_and_all_else_stays(name: str, tmp_path: Path) -> None:
    """Comments, layout, line ends and quotes of the file are those it had."""
    file, text, fix, (old, new) = CONFIGS[name]
    path = tmp_path / file
    path.write_bytes(text.encode())
    assert text.count(old) == 1
    made = after(path, fix)
    assert made == text.replace(old, new)
    json.loads(made) if file.endswith("json") else yaml.safe_load(made)


def test_what_the_trainer_decides_is_refused(tmp_path: Path) -> None:
    """``auto`` and files that say no dtype are told as reasons; what cannot be read too."""
    path = tmp_path / "d.json"
    for text, why in (('{"fp16": {"enabled": "auto"}}', "auto"), ('{"lr": 1}', "no setting")):
        path.write_text(text)
        assert why in plans_for_config(str(path), [BF16])[1][0].why
    path.write_text("{")
    with pytest.raises(RefusedError, match="cannot be read"):
        plans_for_config(str(path), [BF16])


SCRIPT = """#!/bin/bash
# --fp16 is what we had
accelerate launch --mixed_precision=fp16 train.py \\
  --lr 1e-4 \\
  --fp16 \\
  --name "fp16 run" --dtype half  # --fp16 here too
"""


def test_flags_of_a_shell_script(tmp_path: Path) -> None:
    """Flags change, comments and quoted texts stay; a flag without counterpart goes with its line."""
    path = tmp_path / "run.sh"
    path.write_text(SCRIPT)
    assert is_shell(str(path))
    made = plans_for_shell(str(path), [BF16])[0][0].files[str(path)].decode()
    wanted = SCRIPT.replace("=fp16", "=bf16").replace("  --fp16 \\", "  --bf16 \\").replace("--dtype half", "--dtype bfloat16")
    assert made == wanted
    made = plans_for_shell(str(path), [FP32])[0][0].files[str(path)].decode()
    assert made == SCRIPT.replace("=fp16", "=no").replace("  --fp16 \\\n", "").replace("--dtype half", "--dtype float32")


@pytest.mark.parametrize(
    ("given", "fix", "expected"),
    [
        (["--fp16", "--lr", "1"], BF16, ["--bf16", "--lr", "1"]),
        (["--fp16", "True", "--lr", "1"], BF16, ["--bf16", "True", "--lr", "1"]),
        (["--fp16", "True", "--lr", "1"], FP32, ["--lr", "1"]),
        (["--fp16", "--bf16"], BF16, ["--bf16"]),
        (["--precision", "16-mixed"], FP32, ["--precision", "32-true"]),
        (["--torch_dtype=float16", "fp16.txt"], BF16, ["--torch_dtype=bfloat16", "fp16.txt"]),
    ],
)
def test_flags_of_a_command_line(given: list[str], fix: FixAdvice, expected: list[str]) -> None:
    """Switches, switches with a value, options with either form."""
    assert plan_for_arguments(given, fix).arguments == tuple(expected)


@pytest.mark.parametrize("given", [["--fp16", "False"], ["--lr", "1"], ["--fp16-opt", "x"], ["--half"]])
def test_other_arguments_are_left_alone(given: list[str]) -> None:
    """A switch that is off, names that only begin so, and what has no counterpart."""
    with pytest.raises(RefusedError):
        plan_for_arguments(given, BF16)


@pytest.mark.parametrize(
    ("file", "text", "expected"),
    [
        ("a.yaml", "fp16:\r  enabled: true\r  x: 0\r", "bf16:\r  enabled: true\rfp16:\r  enabled: false\r  x: 0\r"),
        ("a.yaml", "mixed_precision: &p fp16 # c\r\ndtype: *p\r\n", "mixed_precision: &p bf16 # c\r\ndtype: *p\r\n"),
        ("a.yaml", "\ufeffdtype: !!str fp16\nx: 'a\u2028\x85'", "\ufeffdtype: !!str bf16\nx: 'a\u2028\x85'"),
        ("a.yaml", "- {fp16: true}\n- {fp16: true, bf16: false}\n", "- {bf16: true}\n- {fp16: false, bf16: true}\n"),
        (
            "a.yaml", "a: &x\n  lr: 1\nfp16:\n  enabled: true\n  x: 0\nb: *x\n",
            "a: &x\n  lr: 1\nbf16:\n  enabled: true\nfp16:\n  enabled: false\n  x: 0\nb: *x\n",
        ),
        ("a.JSON", '{"a":"\\/\\ud83d\\ude00 \\\\/",\r\n\t"dtype":"fp16"}', '{"a":"\\/\\ud83d\\ude00 \\\\/",\r\n\t"dtype":"bf16"}'),
    ],
)  # fmt: skip
def test_every_other_byte_stays(file: str, text: str, expected: str, tmp_path: Path) -> None:
    """Line ends, anchors, tags, marks, escapes, entries of a list."""
    path = tmp_path / file
    path.write_bytes(text.encode())
    assert plans_for_config(str(path), [BF16])[0][0].files[str(path)] == expected.encode()


@pytest.mark.parametrize(
    ("file", "text", "why"),
    [
        ("a.yaml", "a: &p fp16\nmixed_precision: *p\n", "mixed_precision is an alias of what stands in line 1"),
        ("a.yaml", "a: &x {fp16: true}\nc: {<<: *x, bf16: false}\n", "line 1 is used again in line 2, by an alias or a merge"),
        ("a.yaml", "a: &x\n  y: {dtype: half}\nc:\n  <<: [*x]\nd: *x\n", "line 2 is used again in line 4, 5, by an alias or a merge"),
        ("a.yaml", "dtype: &p half\nname: *p\n", "line 1 is used again in line 2"),
        ("a.yaml", "dtype: fp16\nx: 1\ndtype: fp16\n", "dtype is set 2 times, in lines 1, 3"),
        ("a.json", '{"fp16": true,\n "fp16": false}', "fp16 is set 2 times, in lines 1, 2"),
        ("a.yaml", "a:\n  " + "[" * 100_000, ":2: it nests more than 100 levels deep"),
        ("a.yaml", "".join(f"{' ' * one}a:\n" for one in range(300)), ":101: it nests more than 100 levels deep"),
        ("a.json", "[" * 100_000 + "]" * 100_000, "levels deep"),
        ("a.json", '{"dtype": "fp16",}', "is no valid JSON"),
        ("a.yaml", "x: 1\n" * 100_000, "too large"),
    ],
)
def test_what_is_not_certain_or_too_much(file: str, text: str, why: str, tmp_path: Path) -> None:
    """It says what and where; nothing is constructed, nor walked to the bottom."""
    path = tmp_path / file
    path.write_text(text)
    try:
        told = plans_for_config(str(path), [BF16])[1][0].why
    except RefusedError as error:
        told = str(error)
    assert why in told


def test_aliases_of_aliases_cost_nothing(tmp_path: Path) -> None:
    """Written out, this file would have 9 ** 30 entries."""
    path = tmp_path / "a.yaml"
    more = "".join(f"a{one}: &a{one}\n  <<: [{','.join([f'*a{one - 1}'] * 9)}]\n" for one in range(1, 31))
    path.write_text("dtype: fp16\na0: &a0 {x: 1}\n" + more)
    assert plans_for_config(str(path), [BF16])[0][0].files[str(path)].decode() == "dtype: bf16\na0: &a0 {x: 1}\n" + more


def test_a_file_with_very_many_settings_is_refused_soon(tmp_path: Path) -> None:
    """Each key asked for its line anew, from the beginning of the file: 120 KB took more than eight seconds."""
    file = tmp_path / "many.yaml"
    file.write_text("".join(f"k{index}:\n  fp16: true\n" for index in range(8_000)))
    started = time.process_time()
    plans, refused = plans_for_config(str(file), [BF16])
    assert plans == []
    assert "8000 such settings" in refused[0].why
    assert time.process_time() - started < 4
