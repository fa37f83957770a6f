"""Shell scripts: only flags of commands change, and bash still runs the script as before."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from test_edit_configs import BF16, FP32

from troubleshoot.lab.editing import flags
from troubleshoot.lab.editing.flags import plans_for_shell
from troubleshoot.lab.editing.plans import RefusedError
from troubleshoot.lab.editing.shell import commands

#: Every line with a flag of a command ends in EDIT, in a comment or as an argument; no other line may change.
SCRIPT = """#!/bin/bash
python t.py --fp16 --note "we dropped --fp16 once" EDIT # --fp16
cat <<E
use --fp16
python t.py --fp16
E
cat <<-'X Y' > /dev/null; python a.py --fp16 EDIT
\t--fp16
\tX Y
echo --fp16
ARGS=(a.py --fp16 "--fp16 x" --dtype "half" --dtype='fp16' --torch_dtype=float16 EDIT)
python "${ARGS[@]}"
QUOTED="--fp16 x"
out="$(python q.py --fp16 "$(echo hi)" EDIT | cat)"; echo "$out"
i=3; if ((i<<1)); then CUDA=1 FOO="a --fp16" python z.py \\
   --fp16 EDIT \\
   --lr 3 && python y.py --fp16 EDIT; fi
f() { python f.py --fp16 "$@" EDIT; }
f --lr 1
case $i in 2|3) python c.py --fp16 EDIT;; esac
python x --dtype half 1>&2 2>/dev/null <<<"--fp16" EDIT && true
y=$((1<<2)); z=${v:-"don't"}; w=${v:-"--fp16"}; python $'it\\'s --fp16' "$'x" --fp16=True EDIT
cat <(python m.py --fp16 EDIT) <(echo --fp16)
python n.py -- \\
  --precision 16-mixed EDIT
"""
#: Tells what it was called with, in place of Python.
STUB = 'python() { printf "<%s>" "$@"; echo; }\n'


def after(path: Path, text: str, fix: object = BF16) -> str:
    path.write_bytes(text.encode())
    return plans_for_shell(str(path), [fix])[0][0].files[str(path)].decode()  # type: ignore[list-item]


def ran(text: str, tmp_path: Path) -> list[str]:
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("there is no bash")
    done = subprocess.run([bash, "-c", STUB + text], capture_output=True, text=True, timeout=60, cwd=tmp_path)
    assert done.returncode == 0, done
    return done.stdout.splitlines()


def test_only_flags_of_commands_change(tmp_path: Path) -> None:
    """Quotes, comments, here-documents, what is printed: all left alone."""
    made = after(tmp_path / "run.sh", SCRIPT)
    for old, new in zip(SCRIPT.split("\n"), made.split("\n"), strict=True):
        assert (old != new) is ("EDIT" in old and ("fp16" in old or "half" in old or "16-mixed" in old)), (old, new)
    assert '"we dropped --fp16 once"' in made
    assert "--dtype \"bfloat16\" --dtype='bf16' --torch_dtype=bfloat16" in made


def test_bash_runs_the_edited_script_as_before(tmp_path: Path) -> None:
    """Each command gets the same arguments, but for the flags."""
    before, now = ran(SCRIPT, tmp_path), ran(after(tmp_path / "run.sh", SCRIPT), tmp_path)
    spellings = {"<--fp16": "<--bf16", "<--bf16 x>": "<--fp16 x>", "half": "bfloat16", "16-mixed": "bf16-mixed"}
    for old, new in {**spellings, "=fp16": "=bf16", "=float": "=bfloat"}.items():
        before = [line.replace(old, new) for line in before]
    assert now == before
    without = ran(after(tmp_path / "run.sh", SCRIPT, FP32), tmp_path)
    assert len(without) == len(now)
    assert not any("<--bf16>" in line or "<--fp16>" in line for line in without)


def test_what_was_lost_before(tmp_path: Path) -> None:
    """A flag in a text, and one of another command: each command is looked at alone."""
    rest = 'cat <<E\nuse --bf16\npython t.py --bf16\nE\n'
    made = after(tmp_path / "a.sh", f'python t.py --bf16 --note "we dropped --bf16 once"\n{rest}', FP32)
    assert made == f'python t.py --note "we dropped --bf16 once"\n{rest}'
    made = after(tmp_path / "a.sh", "python a.py --fp16\npython b.py --bf16\n")
    assert made == "python a.py --bf16\npython b.py --bf16\n"
    made = after(tmp_path / "a.sh", "python a.py --fp16 1>log\r\npython b.py \\\r\n  --fp16\r\n", FP32)
    assert made == "python a.py 1>log\r\npython b.py\r\n"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("\necho 'a", "line 2 of the script cannot be read: a quote is not closed"),
        ('x="$(', "is never closed"),
        ("x=`a", "a backquote is not closed"),
        ("$(" * 10_000, "more than 50 levels"),
        ("${" * 10_000, "more than 50 levels"),
        ('"$(' * 10_000, "more than 50 levels"),
        ("(" * 10_000, "is never closed"),
    ],
)
def test_what_is_no_script(text: str, why: str) -> None:
    """It says what and where."""
    with pytest.raises(RefusedError, match=why):
        commands(text)


#: No line changes but those that end in EDIT.
OTHERS = """while [ $# -gt 0 ]; do
  case "$1" in
    --fp16) FLAGS="$FLAGS --fp16" ;;
    python|--half) LR=$2; shift ;;
  esac
  shift
done
case python in --fp16) true;; esac
if [ "$MODE" = --fp16 ] || [[ -n $x && python == --fp16 ]]; then echo half; fi
test python = --fp16 && true
for python in --fp16 --half; do run "$python" --fp16; done
unused=(--fp16 --lr 1)
grep -- --fp16 log.txt
rm -rf out --fp16; sudo rm python --fp16; sudo -u me rm -r --fp16
f() { grep --dtype half "$@"; }; f --fp16
EXTRA=(
  --fp16 EDIT
)
ARGS=(--lr 1 "${EXTRA[@]}" --dtype half EDIT)
"$HOME/bin/python3" t.py "${ARGS[@]}"
ALONE=(torchrun t.py --fp16 EDIT)
LAUNCH="accelerate launch"
$LAUNCH t.py --fp16 EDIT
${RUN} t.py --fp16 EDIT
srun -n 4 --gres=gpu:1 python t.py --fp16 EDIT
docker run --gpus all image python t.py --fp16 EDIT
timeout 3h uv run t.py --fp16 EDIT
[ -d x ] && nohup ./webui.sh --precision half EDIT & vllm serve m --dtype half EDIT
"""


@pytest.mark.parametrize("fix", [BF16, FP32])
def test_only_what_is_launched_changes(fix: object, tmp_path: Path) -> None:
    """A flag in a pattern, a list, a test, or of another program is none of Python's."""
    made = after(tmp_path / "run.sh", OTHERS, fix)
    if fix is BF16:
        for old, new in zip(OTHERS.split("\n"), made.split("\n"), strict=True):
            assert (old != new) is ("EDIT" in old), (old, new)
    for line in OTHERS.split("\n"):
        assert "EDIT" in line or line in made.split("\n")
    if shutil.which("bash"):
        subprocess.run(["bash", "-n"], input=made.encode(), check=True, timeout=60)


def test_a_parser_of_arguments_is_left_alone(tmp_path: Path) -> None:
    """The reason names the line; the pattern was once taken for a command, and its arm lost it."""
    path = tmp_path / "run.sh"
    path.write_text(OTHERS[: OTHERS.index("EXTRA")] + "python t.py $FLAGS\n")
    plans, refused = plans_for_shell(str(path), [BF16, FP32])
    assert not plans
    assert [one.why for one in refused if "line 3 has one" in one.why and "launches Python" in one.why] == [one.why for one in refused]


def test_a_script_that_would_change_its_structure_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is made is read again, by bash too where there is one."""
    path = tmp_path / "run.sh"
    path.write_text("python t.py --fp16\n")
    monkeypatch.setattr(flags, "_spelled", lambda word, to: "--a b")
    assert "its commands would no longer be the same" in plans_for_shell(str(path), [BF16])[1][0].why
    monkeypatch.setattr(flags, "_spelled", lambda word, to: "'")
    assert "a quote is not closed" in plans_for_shell(str(path), [BF16])[1][0].why
    if shutil.which("bash"):
        assert "syntax error" in flags._said_by_bash("if true; then\n")


@pytest.mark.parametrize("text", ['ARGS="--fp16 --lr 1"\npython t.py $ARGS\n', "cat <<E\n--fp16\nE\n", 'bash -c "python t.py --fp16"\n'])
def test_a_flag_in_a_text_is_told(text: str, tmp_path: Path) -> None:
    """It is left alone, and the refusal names its line."""
    path = tmp_path / "run.sh"
    path.write_text(text)
    plans, refused = plans_for_shell(str(path), [BF16])
    assert not plans
    assert "has one in a text, a pattern, a list or another command, which is left alone" in refused[0].why


def test_a_large_script_takes_no_long_time(tmp_path: Path) -> None:
    """Each character is looked at a bounded number of times."""
    import time

    began = time.process_time()
    commands(SCRIPT * 300)
    assert time.process_time() - began < 5
