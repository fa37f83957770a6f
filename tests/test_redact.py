"""Secrets and personal details are taken out, and nothing else, in time that grows with the text and no faster."""

from __future__ import annotations

import random
import re
import string
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from troubleshoot.basics import secret_rules as rules
from troubleshoot.basics.redact import _lowered, redact_data, redact_text, redacted_start
from troubleshoot.curation.scoring import load_cases

DATA = Path(__file__).parent / "data" / "secrets"
LETTERS = string.ascii_letters + string.digits
ALPHABETS = {
    "A": LETTERS, "h": "0123456789abcdef", "d": string.digits, "U": string.ascii_uppercase + string.digits, "b": LETTERS + "+/",
    "l": string.ascii_letters,
}  # fmt: skip


def filled(line: str) -> str:
    """Return a line of the data with its made-up secrets written out: the files themselves hold nothing that looks like one."""
    source = random.Random(line)

    def made(match: re.Match[str]) -> str:
        drawn = "".join(source.choices(ALPHABETS[match[1]], k=int(match[2])))
        # A token without a digit is rare, and 16 draws may hold none.
        return drawn[:-1] + "7" if match[1] in "Ahb" and len(drawn) > 8 else drawn

    return re.sub(r"~([AhdUbl])([0-9]+)", made, line).replace("⏎", "\n").replace("⁓", "~")


def forms(name: str) -> list[tuple[str, list[str]]]:
    """Return (text, its secrets) for each line of a file."""
    found = []
    for line in (DATA / name).read_text(encoding="utf-8").split("\n"):
        if line and not line.startswith("## "):
            text = filled(line)
            found.append((re.sub("[⟦⟧]", "", text), re.findall("⟦([^⟧]*)⟧", text)))
    return found


MASKED, KEPT, PERSONAL = forms("masked.txt"), forms("kept.txt"), forms("personal.txt")


def leaks(clean: str, secret: str) -> bool:
    """Tell whether a secret shows, whole or the most of it (a password of three characters may stand in a word by chance)."""
    lines = [one for one in re.split(r"\n|\\n", secret) if one]
    return any(one in clean or (len(one) >= 12 and one[4:] in clean) or (len(one) >= 24 and one[:16] in clean) for one in lines)


def test_there_are_enough_forms() -> None:
    """The files were read."""
    assert len(MASKED) >= 150
    assert len(KEPT) >= 150
    assert all(secrets for _, secrets in MASKED + PERSONAL)


@pytest.mark.parametrize(("text", "secrets"), MASKED)
def test_secrets_are_masked(text: str, secrets: list[str]) -> None:
    """A secret does not survive, whatever surrounds it, and its place is marked."""
    for shown in (
        text,
        f"before {text} after" if "\n" not in text else f"before\n{text}\nafter",
        f"line 1\n{text}\nline 3",
        text + "\n" + text,
    ):
        for personal in (False, True):
            clean = redact_text(shown, personal=personal)
            assert [one for one in secrets if leaks(clean, one)] == [], clean
            assert "[redacted:" in clean
            assert redact_text(clean, personal=personal) == clean


@pytest.mark.parametrize("text", [text for text, _ in KEPT])
def test_what_is_no_secret_stays(text: str) -> None:
    """A dtype report reads as before: tokens of a tokenizer are not tokens of an account, and names of C++ no addresses."""
    assert redact_text(text) == text
    assert redact_text(text, personal=True) == text
    assert redact_text(f"line 1\n{text}\nline 3", personal=True) == f"line 1\n{text}\nline 3"


def test_the_labelled_reports_stay() -> None:
    """Reports from public threads, whose authors took their secrets out, lose nothing."""
    lines: list[str] = []
    for _, _, text in load_cases(DATA.parent / "labelled")[::4]:
        lines += text.splitlines()
    assert len(lines) > 10_000
    assert [one for one in lines if redact_text(one) != one] == []


@pytest.mark.parametrize(("text", "names"), PERSONAL)
def test_people_and_machines_are_masked_on_demand(text: str, names: list[str]) -> None:
    """What names somebody goes where the output is to be shared, and stays where it is only looked at."""
    clean = redact_text(text, personal=True)
    assert [one for one in names if one in clean] == [], clean
    assert redact_text(clean, personal=True) == clean
    assert redact_text(text) == text


def test_what_stands_beside_stays() -> None:
    """A mask takes the place of the secret and of nothing else."""
    assert redact_text("connect(host='db', password='x y z', port=5432)") == "connect(host='db', password='[redacted:password]', port=5432)"
    assert redact_text("https://u:pw@host/x?a=1") == "https://u:[redacted:password]@host/x?a=1"
    assert redact_text("--token Zx81kd92jf83hd7 --lr 1e-4") == "--token [redacted:secret] --lr 1e-4"
    assert redact_text('{"token": "Zx81kd92jf83hd7", "dtype": "float16"}') == '{"token": "[redacted:secret]", "dtype": "float16"}'
    shown = redact_text(r"C:\Users\Jane Doe\x.py and /home/bob/y.py", personal=True)
    assert shown == r"C:\Users\[user]\x.py and /home/[user]/y.py"


def test_data_is_redacted_in_depth() -> None:
    """Every text of a JSON-like object, whatever holds it, keys too; other values stay."""
    data = {
        "a": ["hf_AbCdEfGhIjKlMnOpQrStUvWxYz", {"b": ("/home/alice/x", 1, None, True)}],
        "token": 3,
        "/home/alice": "",
        "password": "hunter2",
    }
    assert redact_data(data) == {
        "a": ["[redacted:hugging face token]", {"b": ("/home/[user]/x", 1, None, True)}],
        "token": 3,
        "/home/[user]": "",
        "password": "[redacted:secret]",
    }
    assert redact_data(data, personal=False)["a"][1]["b"][0] == "/home/alice/x"
    assert redact_data({"password": "hunter2"}) == {"password": "[redacted:secret]"}
    whole = {"packages": {"nvidia-cublas-cu12": {"version": "12.4.5.8", "range": [["12.4.5.8", None]]}}, "token": "<pad>"}
    assert redact_data(whole) == whole


def test_a_secret_is_not_cut_in_two() -> None:
    """Text that is shortened is redacted before."""
    text = "x" * 30 + " hf_" + "a1B2" * 8
    assert "a1B2" not in redacted_start(text, 40)
    assert redacted_start("short", 40) == "short"
    assert len(redacted_start(text * 3, 40)) == 40


@given(st.text(max_size=400))
def test_redacting_twice_changes_nothing_more(text: str) -> None:
    """Masks are no secrets."""
    once = redact_text(text, personal=True)
    assert redact_text(once, personal=True) == once


@given(
    st.lists(
        st.sampled_from([*(text for text, _ in MASKED[::7]), *(text for text, _ in KEPT[::9]), " ", "\n", '"', "'", "=", ":"]), max_size=6
    )
)
def test_forms_beside_each_other(parts: list[str]) -> None:
    """Whatever stands beside what: it never fails, masks are stable, and an object of the parts is masked part by part."""
    once = redact_text("".join(parts), personal=True)
    assert redact_text(once, personal=True) == once
    assert redact_data(parts) == [redact_text(part, personal=True) for part in parts]


@given(
    st.text(max_size=40),
    st.sampled_from([(prefix, least) for _, _, least, prefixes in rules.TOKENS[:8] for prefix in prefixes]),
    st.text(alphabet=string.ascii_uppercase + string.digits, min_size=40, max_size=60),
    st.text(max_size=40),
)
def test_a_token_is_masked_wherever_it_stands(before: str, prefix: tuple[str, int], body: str, after: str) -> None:
    """What surrounds a token does not save it."""
    assert prefix[0] + body not in redact_text(f"{before} {prefix[0]}{body} {after}")
    assert prefix[0] + body not in redact_text(f"{before}{prefix[0]}{body}")


def test_lowering_keeps_every_place() -> None:
    """Names are looked for in the lowered text and cut out of the other: both are of the same length."""
    everything = "".join(chr(code) for code in range(sys.maxunicode + 1) if not 0xD800 <= code < 0xE000)
    assert len(_lowered(everything)) == len(everything)


# -- time ---------------------------------------------------------------------------------------------------------------------------------

NAMES = ("token", "key", "password", "secret", "auth", "pw", "pass", "credential", "令牌", "密码", "пароль")
AFTER_NAMES = (
    "=", ":", "=1", ": ", " 1", "='", '="', "='a1b2c3d4' ", "=a1b2c3d4\n", "=a1-", "=abc\n", "=(", "=a.b(", "\\\\\\\"", "\n" * 30, " " * 8,
    " is ", "value", ": str = ", "_", "|1", ",'", "=\\", "='''", '="""', "=[redacted:", "=/a", ">", "\\n",
)  # fmt: skip
PIECES = (
    "a", "1", " ", "\n", "\\", "'", '"', "@", "a@", "a@a.", "://", "://a:", "://a:a", "s://aaaaaaaaaaaa", ":",
    "::", "2001:", "fe80::", "1.2.3.",
    "-----BEGIN PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----\nAAAAAAAAAAAAAAAAAAAA\n", "-----BEGIN PRIVATE KEY-----\n" + "A" * 999,
    "kind: secret\n", "kind: secret\ndata:\n", "data:\n", "kind: secret\ndata:\n a: aaaaaaaa\n", "data:\n a: aaaa\n", "/home/", "/users/",
    "/users/a ", "\\users\\a b c d", "?a", "?key=", "&token", "eyJ", "eyJaaa.", "MII", "MII\n", "M.",
    "curl -u a:", " -u a", "sshpass -p", " -p x",
    "login ", "wandb login ", "wandb login --a ", "login a password ", ".login('a','", "auth=('a','", "--", "--pass ", "[redacted:",
    "[redacted:token]", "İ", "token=İ", "USER=", "%2f", "%3d", "cookie: a", "authorization: ", "authorization: bearer ", "basic aaaaaaaa",
    "bearer ", "a" * 63 + "@", "Q~", "aaa1Q~", "/t/ab-", "0x7f",
)  # fmt: skip


def hostile() -> list[str]:
    """Return what hostile texts are made of: hints, prefixes, names, and the beginnings and ends of forms that are masked."""
    units = {*PIECES, *(name + after for name in NAMES for after in AFTER_NAMES)}
    for table in (rules.PATTERNS, rules.PERSONAL):
        units |= {hint + after for hints, _, _ in table for hint in hints for after in ("", " ", "=", "a")}
    for tokens in (rules.TOKENS, rules.NAME_LIKE):
        units |= {prefix + after for _, _, _, prefixes in tokens for prefix in prefixes for after in ("", "a", "7.")}
    for text, _ in MASKED:
        units |= {text[: len(text) // 2], text[: len(text) * 3 // 4], text + " ", text + "\n"}
    return sorted(units - {""})


def seconds(unit: str, size: int) -> float:
    """Return the processor time to redact a text of some size, made of one piece."""
    text = (unit * (size // len(unit) + 1))[:size]
    began = time.process_time()
    redact_text(text, personal=True)
    return time.process_time() - began


def test_hostile_text_is_read_in_linear_time() -> None:
    """The text comes from strangers. Of all hostile texts, those that take longest grow as their length: 0.3 s a MB on an idle machine."""
    units = hostile()
    assert len(units) > 1000
    for unit in units:
        redact_text(unit, personal=True)  # compiles what it needs
    slowest = sorted(units, key=lambda unit: seconds(unit, 8 << 10), reverse=True)[:8]
    for unit in [*slowest, "a@", "2001:"]:
        # On a busy machine one measurement may be off.
        for _ in range(4):
            quarter, whole = seconds(unit, 256 << 10), seconds(unit, 1 << 20)
            if whole < 5.5 * quarter and whole < 0.3:
                break
        assert whole < 5.5 * quarter, (unit, quarter, whole)
        assert whole < 1, (unit, whole)
