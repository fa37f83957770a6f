# ruff: noqa: E501  (a table of texts reads best with one to a line)
"""Texts of strangers that are meant to be slow: for each pattern and each loop over lines, one that was written in order to break it.

``GENERATORS`` maps a name to a function that returns a text of about so many characters. A name begins with the module that it attacks.
Most are *runs*: something that opens the gate in front of a pattern, how a match begins, a long run of what may stand in its middle, and
never what must follow. Each run comes in several line lengths (``@100``: many short lines, ``@190000``: a few long ones, ``@whole``: one
line, which is longer than the reader keeps), since what is linear in one shape may be quadratic in another.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache

Generator = Callable[[int], str]

GENERATORS: dict[str, Generator] = {}

#: Lengths of the lines that a run is made in; 0 is a single line. Lines of more than 200,000 characters are cut by the reader.
WIDTHS = {"@100": 100, "@4000": 4_000, "@190000": 190_000, "@whole": 0}

HEADER = "Traceback (most recent call last):\n"


def repeated(unit: str, n: int) -> str:
    """Return ``n`` characters of a unit repeated."""
    return (unit * (n // len(unit) + 1))[:n]


def filled(make: Callable[[int], str], n: int) -> str:
    """Return about ``n`` characters of numbered pieces."""
    parts: list[str] = []
    size = index = 0
    while size < n:
        part = make(index)
        parts.append(part)
        size += len(part)
        index += 1
    return "".join(parts)


def word(number: int) -> str:
    """Return a word of letters that is different for each number: digits are taken for volatile."""
    letters = ""
    while True:
        number, rest = divmod(number, 26)
        letters = chr(97 + rest) + letters
        if not number:
            return letters


def in_lines(head: str, fill: str, tail: str, n: int, width: int) -> str:
    """Return ``n`` characters of lines of about ``width`` (0: one line): a head, a run of ``fill``, a tail."""
    width = width or n
    line = head + repeated(fill, max(len(fill), min(width, n) - len(head) - len(tail) - 1)) + tail + "\n"
    return line * max(1, n // len(line))


def generator(name: str) -> Callable[[Generator], Generator]:
    """Enter a function into the table."""

    def enter(make: Generator) -> Generator:
        assert name not in GENERATORS, name
        GENERATORS[name] = make
        return make

    return enter


def run(name: str, fill: str, *, gate: str = "", head: str = "", tail: str = "x", widths: Iterable[str] = WIDTHS) -> None:
    """Enter a run in all of its line lengths."""
    for label in widths:

        def make(n: int, width: int = WIDTHS[label]) -> str:
            return gate + in_lines(head, fill, tail, max(1, n - len(gate)), width)

        generator(name + label)(make)


def pieces(name: str, make: Callable[[int], str], *, gate: str = "", end: str = "") -> None:
    """Enter a text of numbered pieces."""
    generator(name)(lambda n: gate + filled(make, n - len(gate) - len(end)) + end)


def same(name: str, unit: str, *, gate: str = "", end: str = "") -> None:
    """Enter a text of one unit repeated."""
    generator(name)(lambda n: gate + repeated(unit, max(1, n - len(gate) - len(end))) + end)


# -- report/decode.py --------------------------------------------------------------------------------------------------------

same("decode/nul", "a\x00")
same("decode/nul-lines", "\x00\n")
same("decode/control-below-share", "aaaaaaaaaaaaaaa\x01\n")
same("decode/replacement-below-share", "aaaaaaaaaaaaaaa\ufffd\n")
same("decode/surrogates", "RuntimeError: \ud800\udfff\udc80\n")
same("decode/long-zeros", "\x00", gate="RuntimeError: x\n" * 50)

# -- report/clean.py: decoration -----------------------------------------------------------------------------------------------

TRACE = HEADER + '  File "a.py", line 1, in f\n    x()\nRuntimeError: x\n'

run("clean/ansi-digits", "0", head="\x1b[", tail="\n")
run("clean/ansi-intermediate", " ", head="\x1b[0", tail="\n")
run("clean/ansi-osc", "a", head="\x1b]", tail="")
run("clean/ansi-osc-many", "\x1b]a", tail="")
run("clean/ansi-open", "\x1b[", tail="")
run("clean/ansi-escape", "\x1b", tail="")
run("clean/colour-bracket", "[0;", gate="[0m\n")
run("clean/colour-digits", "[1;31;22;33;44;55;66", gate="[0m\n")
run("clean/colour-spelled", "\\x1b[0;", gate="[0m\n")
run("clean/colour-spelled-digits", "0", head="\\u001b[", gate="[0m\n")
run("clean/colour-caret", "^[[", gate="[0m\n")
run("clean/comments", "# None for auto detection. ", gate="# None for auto detection.\n")
run("clean/comments-near", "# Choose any! We auto suppor", gate="We auto support\n")
run("clean/entities", "&", gate="a &gt; b\n")
run("clean/entities-number", "&#1", gate="a &gt; b\n")
run("clean/entities-nested", "&amp;amp;amp;", gate="a &gt; b\n")
run("clean/entities-hex", "&#xffff", gate="a &gt; b\n")
run("clean/tags-blank", " ", gate="</b>\n", head="<p")
run("clean/tags-many", "<p a", gate="</b>\n")
run("clean/tags-attributes", "<br " + "a" * 299, gate="</b>\n")
run("clean/tags-slash", "</", gate="</b>\n")
run("clean/returns", "\r", tail="")
run("clean/returns-progress", " 10%|\u2588 | 1/10 [00:01<00:09, 1.0it/s]\r", tail="RuntimeError: x")
run("clean/returns-blank", " \r", tail="")
same("clean/crlf", "RuntimeError: a\r\n")
same("clean/cr-only", "RuntimeError: a\r")
same("clean/cr-crlf-mixed", "a\r\r\n\n\r")

# report/clean.py: escapes

ESCAPED = 'x last):\\n  File "'
run("clean/unescape-quotes", '\\"', gate=TRACE, head=ESCAPED, tail="")
run("clean/unescape-backslashes", "\\", gate=TRACE, head=ESCAPED, tail="")
run("clean/unescape-odd-quotes", '"\\', gate=TRACE, head=ESCAPED, tail="")
run("clean/unescape-strings", '"a" ', gate=TRACE, head='last):\\n "', tail="")
run("clean/unescape-no-string", "a", gate=TRACE, head='last):\\n "', tail="")
run("clean/unescape-newlines", "\\n  File ", gate=TRACE, tail="")
run("clean/unescape-unicode", "\\u00", gate=TRACE, head="last):\\n", tail="")
run("clean/unescape-mixed-quotes", "\"\\\"'\\'", gate=TRACE, head="last):\\n", tail="")
run("clean/unescape-frames", '\\n  File \\"a.py\\", line 1, in f\\n    x()', gate=TRACE, head='{"m": "Traceback (most recent call last):', tail="")


@generator("clean/json-in-json")
def _(n: int) -> str:
    text = HEADER + '  File "a.py", line 1, in f\n    x()\nRuntimeError: "x"\n'
    while len(text) < 300:
        text = json.dumps({"log": text, "level": "error"})
    return repeated(text + "\n", n)


@generator("clean/json-deep")
def _(n: int) -> str:
    text = HEADER + '  File "a.py", line 1, in f\n    x()\nRuntimeError: "x"\n'
    while len(text) * 2 < n:
        text = json.dumps({"log": text})
    return text + "\n"


@generator("clean/json-wide")
def _(n: int) -> str:
    text = HEADER + filled(lambda i: f'  File "a{i}.py", line {i}, in f\n    x("{i}")\n', min(n // 2, 120_000)) + "RuntimeError: x\n"
    return repeated(json.dumps({"log": json.dumps({"log": text})}) + "\n", n)


pieces("clean/json-records", lambda i: json.dumps({"level": "error", "i": i, "exc": TRACE}) + "\n")
pieces("clean/json-records-inner", lambda i: json.dumps({"i": i, "exc": json.dumps({"exc": json.dumps({"m": TRACE})})}) + "\n")
pieces("clean/repr-records", lambda i: repr(TRACE + str(i)) + "\n")

# report/clean.py: joined lines

JOINED = 'File "a", line 1 x File "b", line 2 '
run("clean/split-blanks", " ", head=JOINED)
run("clean/split-tabs", " \t", head=JOINED)
run("clean/split-frames", 'File "a", line ', head=JOINED)
run("clean/split-open-names", 'File "', head=JOINED)
run("clean/split-long-name", "a", head=JOINED + 'File "')
run("clean/split-during", "During handling of the above exception, another exception occurred", head=JOINED)
run("clean/split-header-blanks", " ", head="Traceback (most recent call last): " + JOINED)
run("clean/split-headers", " Traceback (most recent call last)", head="Traceback (most recent call last): " + JOINED)
run("clean/split-dotted", "a.A.", head=JOINED)
run("clean/split-words", " A", head=JOINED)
run("clean/split-errors", " AError", head=JOINED)
run("clean/split-long-word", "A", head=JOINED + " ")
run("clean/split-digits", "9", head=JOINED + 'File "c", line ')
run("clean/split-in", ", in <", head=JOINED + 'File "c", line 1')
run("clean/split-progress", "it/s] Traceback (most ", tail="")

# report/clean.py: quoting, groups, boxes

run("clean/quote-blanks", " ", head=">", tail=">")
run("clean/quote-marks", "> ", tail="a")
run("clean/quote-nested", "> ", tail='  File "a.py", line 1, in f')
run("clean/quote-tight", ">", tail=" Traceback (most recent call last):")
run("clean/quote-near", "a", head="> ", gate="> Traceback (most recent call last):\n")
run("clean/quote-files", 'File "', head="> ", tail="")
run("clean/quote-file-name", "a", head='> File "', tail="")
run("clean/quote-error", "a", head="> ", tail="Error")
same("clean/quote-lines", " " * 40 + "x>\n")
same("clean/quote-margins", " " * 39 + "\n")
pieces("clean/quote-deeper", lambda i: "> " * (i % 60) + "Traceback (most recent call last):\n" + "> " * (i % 60) + 'File "a.py", line 1\n')
GROUP = "  + Exception Group Traceback (most recent call last):\n"
run("clean/group-blanks", " ", gate=GROUP, tail="|")
run("clean/group-bars", "| ", gate=GROUP, tail="")
run("clean/group-rules", "+-", gate=GROUP, tail="")
same("clean/group-headers", GROUP)
same("clean/group-members", "    +---------------- 1 ----------------\n    | ValueError: x\n", gate=GROUP + "  | ExceptionGroup: x (9 sub-exceptions)\n")
pieces(
    "clean/group-nested",
    lambda i: "  " * (i % 80) + "+ Exception Group Traceback (most recent call last):\n" + "  " * (i % 80) + "| ExceptionGroup: x (1 sub)\n"
    + "  " * (i % 80) + "+-+---------------- 1 ----------------\n",
)
run("clean/box-sides", "\u2502", tail="")
run("clean/box-inside", " ", head="\u2502", tail="\u2502")
same("clean/box-ascii", "+---- Traceback (most recent call last) ----+\n| x |\n")
same("clean/box-ascii-rules", "+--", end="\n+-")

# report/clean.py: Unicode and length

same("clean/no-blanks", "a")
same("clean/no-blanks-words", "RuntimeError:expectedscalartypeHalfbutfoundFloat")
same("clean/no-blanks-cjk", "\u62a5\u9519\u4e86\u4e0d\u652f\u6301\u534a\u7cbe\u5ea6")
same("clean/nbsp", "\xa0\u3000\u200b")
same("clean/line-separators", "a\u2028b\u2029c\x85d\x0be\x0cf\x1cg\x1dh\x1e")
same("clean/combining", "RuntimeError: e\u0301\u0302\u0303\u0304\u0305\n")
same("clean/combining-run", "\u0301")
same("clean/right-to-left", "\u202eRuntimeError\u202c: \u0627\u062e\u062a\u0628\u0627\u0631\u200f \u05d0\u05d1\n")
same("clean/full-width", "\uff32\uff55\uff4e\uff54\uff49\uff4d\uff45\uff25\uff52\uff52\uff4f\uff52\uff1a \uff11\uff12\uff13\n")
same("clean/superscripts", "\u00b2\u00b3\u2460\u0967\u0661 ")
same("clean/lower-grows", "\u0130" * 40 + " \n")
same("clean/emoji", "\U0001f525\U0001f468\u200d\U0001f469 error\n")
same("clean/blank-lines", "\n")
same("clean/blank-lines-spaces", "                                       \n")
same("clean/tabs", "\t")
same("clean/short-lines", "a\n")
same("clean/short-words", "a ")
pieces("clean/wrapped-80", lambda i: (f"RuntimeError: expected m1 and m2 to have the same dtype, but got: c10::Half != float {i}\n" * 2)[:79] + "\n")


@generator("clean/wrapped-traceback")
def _(n: int) -> str:
    text = filled(lambda i: f'  File "/home/user/some/rather/long/folder/site-packages/torch/nn/modules/module{i}.py", line {i}, in _call_impl\n'
                  "    return forward_call(*args, **kwargs)\n", n)
    return HEADER + "\n".join(text[at : at + 80] for at in range(0, len(text), 80)) + "\nRuntimeError: x\n"


# -- report/prefixes.py ----------------------------------------------------------------------------------------------------------

FRAMES = 'File "/x/a.py", line 1\n'


def _learned(prefix: str, rest: str) -> Generator:
    """Two frames teach a prefix; lines that only begin with it follow."""
    return lambda n: f"{prefix} {FRAMES}" * 2 + repeated(rest, n)


for _name, _prefix, _fill in (
    ("superscript", "1\u00b2" * 6 + ":", "9"),
    ("superscript-short", "1\u00b2:", "9"),
    ("circled", "1\u2460" * 4 + ":", "9"),
    ("kharosthi", "1\U00010a40" * 4 + ":", "9"),
    ("emspace", "a" + " \u2003" * 8 + "b:", " "),
    ("vertical-tab", "a" + " \x0b" * 8 + "b:", " "),
    ("separators", "a" + "\t\x1c \x1d" * 4 + "b:", " \t"),
    ("digits-blanks", "1 " * 40 + ":", "1 "),
    ("letters-digits", "a1" * 40 + ":", "a1"),
    ("digit-run", "1:", "1"),
    ("blank-run", "a b:", " "),
    ("dots", "1.1.1.1.1.1.1.1:", "1."),
    ("arabic", "\u0661\u0662:", "\u0661"),
):
    for _width in (40, 100, 4_000, 190_000):
        generator(f"prefixes/{_name}@{_width}")(
            lambda n, prefix=_prefix, fill=_fill, width=_width: _learned(prefix, repeated(fill, min(n, width)) + "x\n")(n)
        )

run("prefixes/pid-digits", "1", head="(pid=", tail="")
run("prefixes/pid-word", "a", head="(", tail=" pid=1")
run("prefixes/pid-long", "a", head="(pid=1", tail="")
run("prefixes/rank-digits", "0", head="[rank", tail="]")
run("prefixes/mpi-digits", "1", head="[", tail=",0]<stdout>:")
run("prefixes/blanks", " ", gate="[rank0]: x\n", tail="x")
run("prefixes/clock", "12:00:00", gate="[rank0]: x\n", tail="")
run("prefixes/date", "2024-01-01 ", gate="[rank0]: x\n", tail="")
run("prefixes/glog", " ", head="I0101 00:00:00.123456", tail="x")
run("prefixes/glog-file", "a", head="I0101 00:00:00.123456 1 ", tail="")
run("prefixes/syslog", "a", head="Jan 01 00:00:00 ", tail="")
run("prefixes/logging", "a/", head="INFO 01-01 00:00:00 [", tail="")
run("prefixes/level-blanks", " ", head="[INFO", tail="x")
run("prefixes/python-file", "a.py", head="[", tail="")
run("prefixes/many-parts", "[rank0]: ", tail="x")
run("prefixes/many-parts-time", "[rank1] 12:00:00 [INFO] ", tail="x")
run("prefixes/brackets", "[", tail="")
pieces("prefixes/ranks", lambda i: f"[rank{i % 100000:05d}]: x\n")
pieces("prefixes/ranks-errors", lambda i: f"[rank{i % 100000}]: RuntimeError: {word(i)}\n")
pieces("prefixes/ranks-nested", lambda i: f"[rank{i % 300}]: (W{i % 301} pid={i % 302}) x\n")
pieces("prefixes/pids", lambda i: f"(RayWorker pid={i}) x\n")
pieces("prefixes/pids-trace", lambda i: f"(RayWorker pid={i}) Traceback (most recent call last):\n(RayWorker pid={i}) RuntimeError: x\n")
pieces("prefixes/containers", lambda i: f'node-{i} | File "/x/a.py", line {i}\n')
pieces("prefixes/containers-words", lambda i: f'{word(i)} | File "/x/a.py", line {i}\n{word(i)} | x\n')
pieces("prefixes/numbered", lambda i: f'{i}: File "/x/a.py", line 1\n{i}: x\n')
pieces("prefixes/streams-two-headers", lambda i: f"[rank{i // 8}]: Traceback (most recent call last):\n")
pieces("prefixes/long-heads", lambda i: "a " * 199 + 'File "/x/a.py", line 1\n')
pieces("prefixes/long-heads-bars", lambda i: "a|" * 199 + 'File "/x/a.py", line 1\n')
pieces("prefixes/long-heads-times", lambda i: "12:00:00 a " * 36 + 'File "/x/a.py", line 1\n')
pieces("prefixes/many-templates", lambda i: f'{word(i % 12) * 20}-{i}: File "/x/a.py", line 1\n{"9" * 90}\n')
pieces("prefixes/container-times", lambda i: f'pod-{i % 9} 2024-01-01T00:00:00Z stdout F File "/x/a.py", line 1\npod-{i % 9} 2024-01-01T00:00:00Z stdout F x\n')
pieces("prefixes/rank-names", lambda i: f'rank {i}: File "/x/a.py", line 1\nrank {i}: x\n')


@generator("prefixes/three-rounds")
def _(n: int) -> str:
    return filled(lambda i: f"> [rank{i % 5000}]: > (W pid={i}) > 12:00:00 > x{i}\n", n) + "> Traceback (most recent call last):\n"


# -- report/scan.py ----------------------------------------------------------------------------------------------------------------

run("scan/inside-dotted", "a.", head="rror ", tail="")
run("scan/inside-long-parts", "A" * 80 + ".", head="rror ", tail="")
run("scan/inside-words", ",AError", tail="")
run("scan/inside-capitals", "," + "A" * 81, head="rror ", tail="")
run("scan/inside-class-run", "Error", head="x ", tail="")
run("scan/inside-stars", "AError**", head="x ", tail="")
run("scan/generic-colon", "Error", head="", tail="")
run("scan/generic-blanks", " ", head="", tail="error")
run("scan/generic-words", " Error", tail="")
run("scan/generic-chinese", "\u9519\u8bef", tail="")
run("scan/warning", ":" + "a" * 61, head="Warning: x rror", tail="")
run("scan/warning-many", " Warning: ", head="rror", tail="")
run("scan/comfy", "Error occurred when executing ", tail="")
run("scan/comfy-colon", " ", head="Error occurred when executing x:", tail="x")
run("scan/comfy-colons", "Error occurred when executing x:" + " " * 40, tail="x")
run("scan/stated", "*", head="Exception Type:", tail="")
run("scan/stated-blanks", " ", head="#### Exception Message:", tail="x")
run("scan/exception-dotted", "a.", tail="Error")
run("scan/exception-word", "a", tail="Error")
run("scan/exception-parens", "(A)", head="AError", tail="")
run("scan/exception-locals", ".<locals>", head="a", tail="Error")
run("scan/exception-colons", "Error:", tail="")
run("scan/file-no-line", "a", head='File "', tail='"')
run("scan/file-quotes", '"', head='File "a', tail="")
run("scan/file-digits", "1", head='File "a", line ', tail="x")
run("scan/file-joined", "a", head='File "a", line 1', tail="")
run("scan/file-joined-blanks", " ", head='File "a",', tail="line 1")
run("scan/carets", "^~", tail="")
run("scan/launcher", "exits with return code", tail="")
run("scan/terminate", "terminate ", tail="")
run("scan/terminate-quote", "a", head="terminate called after throwing an instance of '", tail="")
run("scan/uncaught", ":", head="terminating due to uncaught exception of type ", tail="")
run("scan/watchdog", "[Rank ", head="Watchdog caught ", tail="")
run("scan/watchdog-many", "Watchdog caught collective operation timeout", tail="")
run("scan/footer-rank", " ", head="  rank", tail=": 1")
run("scan/in-words", " in ", tail="")
run("scan/footer", "traceback : ", tail="")

same("scan/headers", HEADER)
same("scan/headers-blank", HEADER + "\n")
same("scan/frames-no-header", '  File "a.py", line 1, in f\n    x()\n')
same("scan/frames-one-traceback", '  File "a.py", line 1, in f\n    x()\n', gate=HEADER)
same("scan/frames-flat", 'File "a.py", line 1, in f\nx()\n', gate=HEADER)
same("scan/frames-wrapped", '  File "a.py", line 1\n', gate=HEADER)
same("scan/frames-wrapped-comma", '  File "a.py",\nline 1,\nin\nf\n', gate=HEADER)
same("scan/frames-bare", 'File "', gate=HEADER)
same("scan/frames-code-run", "    x\n", gate=HEADER + '  File "a.py", line 1, in f\n')
same("scan/frames-loguru", "    \u2514 x\n", gate=HEADER + '  File "a.py", line 1, in f\n    x()\n')
same("scan/frames-carets", "    ^^^^\n", gate=HEADER + '  File "a.py", line 1, in f\n    x()\n')
same("scan/frames-blank-lines", '  File "a.py", line 1, in f\n\n\n', gate=HEADER)
same("scan/frames-elided", '  File "a.py", line 1, in f\n    x()\n  ...\n', gate=HEADER)
same("scan/frames-name-goes-on", '  File "a.py", line 1, in f\naaaa\n', gate=HEADER)
same("scan/previous-line", "  [Previous line repeated 996 more times]\n", gate=HEADER + '  File "a.py", line 1, in f\n')
same("scan/no-exception", HEADER + '  File "a.py", line 1, in f\n    x()\n')
same("scan/user-code", HEADER + '  File "a.py", line 1, in f\n    x()\ntorch._dynamo.exc.Unsupported: x\n\nfrom user code:\n' + '   File "b.py", line 2, in g\n    y()\n' * 40)
same("scan/user-code-one", '   File "b.py", line 2, in g\n    y()\n', gate=TRACE.rstrip() + "\n\nfrom user code:\n")
same("scan/message-lines", "  more of the message\n", gate=TRACE)
same("scan/message-blank-lines", "\n  more\n", gate=TRACE)
same("scan/message-hints", "\nHint: x\n", gate=TRACE)
pieces("scan/failures", lambda i: HEADER + f'  File "{word(i)}.py", line {i}, in f\n    x()\nRuntimeError: {word(i)}\n')
pieces("scan/failures-bare", lambda i: f"RuntimeError: {word(i)}\n")
pieces("scan/failures-same", lambda i: HEADER + f'  File "a.py", line {i}, in f\n    x()\nRuntimeError: x {i}\n\n')
pieces("scan/failures-long-messages", lambda i: f"RuntimeError: {word(i)} " + "x " * 1990 + "\n")
pieces("scan/failures-two-lines", lambda i: f"RuntimeError: {word(i)}\n  {word(i)} goes on\n")
pieces("scan/failures-errors", lambda i: f"ERROR: {word(i)} failed\n")
pieces("scan/failures-chinese", lambda i: f"\u62a5\u9519: {word(i)}\n")
pieces("scan/failures-pytest", lambda i: f"E   RuntimeError: {word(i)}\n\nx.py:{i}: RuntimeError\n")
pieces("scan/chain", lambda i: HEADER + f'  File "a.py", line {i}, in f\n    x()\nRuntimeError: {word(i)}\n\nDuring handling of the above exception, another exception occurred:\n\n')
pieces("scan/chain-cause", lambda i: HEADER + f'  File "a.py", line {i}, in f\nRuntimeError: {word(i)}\n\nThe above exception was the direct cause of the following exception:\n\n')
same("scan/chain-links", "During handling of the above exception, another exception occurred:\n\n")
same("scan/chain-cut-links", "RuntimeError: x\n\nDuring handling of the above exception, another\nexception occurred:\n\n")
pieces("scan/groups", lambda i: GROUP + f"  | ExceptionGroup: {word(i)} (1 sub-exception)\n  +-+---------------- 1 ----------------\n    | ValueError: {i}\n    +------------------------------------\n")
pieces("scan/workers", lambda i: HEADER + f'  File "a.py", line {i}, in f\nRuntimeError: Caught RuntimeError in worker {word(i)}.\nOriginal ' + HEADER + '  File "b.py", line 1, in g\nRuntimeError: x\n')
pieces("scan/wrappers", lambda i: f"AError: x\nOriginal Traceback\n-- Process {i} terminated\n" + HEADER)
pieces("scan/remote", lambda i: 'multiprocessing.pool.RemoteTraceback:\n"""\n' + HEADER + f'  File "a.py", line {i}, in f\nRuntimeError: {word(i)}\n"""\n\n')
pieces("scan/stated-messages", lambda i: f"# Exception Type: RuntimeError\n# Exception Message: {word(i)}\n## Stack Trace\n")
pieces("scan/comfy-below", lambda i: f"Error occurred when executing {word(i)}:\n\n\n{word(i)} has failed\n\n")
pieces("scan/native", lambda i: f"terminate called after throwing an instance of 'c10::Error'\n  what():  {word(i)}\nException raised from x\nframe #{i}: y\n")
same("scan/native-frames", "frame #0: c10::Error + 0x1 (0x7f)\n", gate="terminate called after throwing an instance of 'c10::Error'\n  what():  x\n")
same("scan/native-no-what", "terminate called after throwing an instance of 'c10::Error'\n")
same("scan/fatal", "Fatal Python error: Segmentation fault\n\nCurrent thread 0x1 (most recent call first):\n")
same("scan/fatal-frames", '  File "a.py", line 1 in f\n', gate="Fatal Python error: Segmentation fault\n\nCurrent thread 0x1 (most recent call first):\n")
same("scan/fatal-headers", "Fatal Python error: x\n" + "Thread 0x1 (most recent call first):\n" * 390)
pieces("scan/watchdogs", lambda i: f"[Rank {i % 9999}] Watchdog caught collective operation timeout: {word(i)}\n")
pieces("scan/launchers", lambda i: f"srun: error: {word(i)}: task {i}: Exited with exit code 1\n")
pieces("scan/shared-frames-two-ranks", lambda i: f"[rank{i % 2}]: RuntimeError: {word(i)}\n[rank{1 - i % 2}]:   goes on {word(i)}\n")
pieces("scan/words-in", lambda i: f"{word(i)} in {word(i)}\n")

# report/failures.py

for _name, _fill in (("letters", "a"), ("dots", "."), ("hyphens", "-"), ("tildes", "~"), ("mixed", "a.b-c~"), ("hex", "0xg"), ("slashes", "/"),
                     ("backslashes", "\\"), ("accents", "\u00e9"), ("slash-dots", "a/.b/"), ("drive", "C:"), ("digits", "1")):
    pieces(f"failures/volatile-{_name}", lambda i, fill=_fill: f"RuntimeError: {word(i)} " + repeated(fill, 4000) + "\n")
    pieces(f"failures/volatile-blanks-{_name}", lambda i, fill=_fill: f"RuntimeError: {word(i)} " + repeated(fill * 30 + " ", 4000) + "\n")


@generator("failures/roots")
def _(n: int) -> str:
    failures = filled(lambda i: f"AError: {word(i)}\n", min(n // 2, 90_000))
    return failures + repeated("Root Cause (first observed failure):\n  rank      : 1 (local_rank: 1)\n", n - len(failures))


pieces("failures/footers", lambda i: f"AError: {word(i)}\nRoot Cause (first observed failure):\n[0]:\n  rank      : {i} (local_rank: 1)\n  traceback : " + HEADER + f"    BError: {word(i)}\n")


@generator("failures/restated-cuts")
def _(n: int) -> str:
    whole = HEADER + filled(lambda i: f'  File "a.py", line {i}, in f\n    x()\n', n // 2) + "RuntimeError: x\n\n"
    return whole + filled(lambda i: f'  File "{word(i)}.py", line {i}, in f\n    x()\nRuntimeError: x\n\n', n // 2)


@generator("failures/restated-messages")
def _(n: int) -> str:
    told = filled(lambda i: HEADER + f'  File "a.py", line {i}, in f\n    x()\nRuntimeError: {word(i)} ' + "y" * 280 + "\n\n", n // 3)
    return told + filled(lambda i: f"RuntimeError: {word(i)} " + "y" * 100 + "z\n\n", 2 * n // 3)


@generator("failures/long-paths")
def _(n: int) -> str:
    return HEADER + filled(lambda i: f'  File "/{"a/" * 1000}{i}.py", line {i}, in f\n    x()\n', n) + "RuntimeError: x\n"


for _name, _path in (
    ("packages", "/site-packages"), ("packages-slash", "/site-packages/"), ("lib", "/lib"), ("python", "/python3"), ("win-lib", "C:/Lib"),
    ("remote", "/transformers_modules"), ("bin", "/bin"), ("pytorch", "/pytorch/torch/"), ("checkout", "transformers/src/"), ("dots", "../"),
    ("backslash", "C:\\Lib\\"), ("induct", "/torchinductor"), ("standard", "/lib/python3.1"),
):
    for _width in (300, 4_000, 180_000):
        generator(f"places/{_name}@{_width}")(
            lambda n, path=_path, width=_width: HEADER
            + filled(lambda i: f'  File "{repeated(path, min(n, width))}{i}", line {i}, in f\n    x()\n', n)
            + "RuntimeError: x\n"
        )

# report/boxes.py

same("boxes/tops", "\u256d\u2500 Traceback (most recent call last) \u2500\u256e\n")
same("boxes/tops-plus", "+- Traceback\n")
same("boxes/tops-inner", "\u256d\u2500 Traceback\n\u256d\u2500\u2500\n\u256d\u2500\u2500\n")
same("boxes/tops-far", "\u256d\u2500 Traceback\n" + "x\n" * 300)
same("boxes/no-bottom", "a.py:1 in f\n", gate="\u256d\u2500 Traceback\n")
same("boxes/frames", "\u256d\u2500 Traceback (most recent call last) \u2500\u256e\n\u2502 /x/y.py:7 in f \u2502\n\u2502 \u2771 7 \u2502 x() \u2502\n\u2570\u2500\u2500\u256f\nRuntimeError: x\n")
same("boxes/frames-unclosed", "\u2502 /x/y.py:7 in f \u2502\n\u2502 \u2771 7 \u2502 x() \u2502\n", gate="\u256d\u2500 Traceback \u2500\u256e\n")
same("boxes/cut", "/x/y.py:7 in f\n\u2771 7 x()\n")
same("boxes/cut-no-arrow", "/x/y.py:7 in f\n 7 x()\n")
same("boxes/cut-wrapped", "/x/y in\n.py\n:7\n\u2771\n")
run("boxes/frame-colons", ":1", head="a in ", tail="\n\u2771 7 x()")
run("boxes/frame-in", ":1 in", tail="\n\u2771 7 x()")
run("boxes/frame-blanks", " ", head="a:1 in", tail="\n\u2771 7 x()")
run("boxes/cell", "in a:", tail="\n\u2771 7 x()")
run("boxes/code", " ", gate="\u256d\u2500 Traceback\na.py:1 in f\n", head="\u2771", tail="x")
run("boxes/code-digits", "7", gate="\u256d\u2500 Traceback\na.py:1 in f\n", head="\u2771", tail="x")

# report/notebooks.py

NOTEBOOK = "RuntimeError                              Traceback (most recent call last)\n"
same("notebooks/headers", NOTEBOOK)
same("notebooks/headers-far", NOTEBOOK + "x\n" * 399)
same("notebooks/headers-rules", "-" * 75 + "\n" + NOTEBOOK)
same("notebooks/cells", "Cell In[3], line 2\n----> 2 x()\n")
same("notebooks/cells-header", "Cell In[3], line 2\n----> 2 x()\n", gate=NOTEBOOK)
same("notebooks/frames-no-arrow", "File ~/x.py:3, in f(x)\n      1 x\n", gate=NOTEBOOK)
same("notebooks/cells-no-end", "<ipython-input-1-a> in <module>()\n----> 1 x\n" + "y\n" * 59)
same("notebooks/skipped", "... skipping 3 frames\n", gate=NOTEBOOK)
same("notebooks/numbers", "1 x\n", gate=NOTEBOOK)
for _name, _head, _fill in (
    ("in-calls", "/a", " in f("), ("in-words", "/a", " in f"), ("links", "/a", "]("), ("link-runs", "/a", "](a"), ("angle", "/a", " in <"),
    ("brackets", "[", "["), ("names", "/", " in " + "a" * 190), ("file", "File ", ":1"), ("file-in", "File a:1, in ", "("),
    ("cell", "Cell In[1], line 1, in ", "("), ("dots", "", "./"), ("calls-close", "/a", " in f()"),
):
    for _width in (100, 1_490, 4_000):
        same(f"notebooks/{_name}@{_width}", repeated(_head + _fill * 2_000, _width) + "x\n----> 1 x\n")
        same(f"notebooks/{_name}-inside@{_width}", repeated(_head + _fill * 2_000, _width) + "\n", gate=NOTEBOOK + "Cell In[3], line 2\n----> 2 x()\n")
run("notebooks/header-word", "a.", tail="  Traceback (most recent call last")
run("notebooks/header-blanks", " ", head="A", tail="Traceback (most recent call last")
run("notebooks/arrow", "-", head="In [1]\n", tail="> 1")

# report/pytest_output.py

same("pytest/errors", "E   x\n")
same("pytest/errors-apart", "E   x\n\n")
same("pytest/errors-kind", "E   RuntimeError: x\n\n")
same("pytest/far-above", "a\n" * 2_990 + "E   x\n")
same("pytest/spots-above", "x.py:1: in f\n    y\n" * 1_400 + "E   x\n")
same("pytest/spots-no-function", ("x.py:1:\n" + "    y\n" * 300) * 8 + "E   x\n")
same("pytest/spots-code", (">   y\n" * 390 + "x.py:1: \n") * 7 + "E   x\n")
same("pytest/spots-ends", "E   x\n" + "x.py:1: RuntimeError\n" * 3)
same("pytest/defs", "def f(x):\n>   y\nE   z\n")
same("pytest/summary", "FAILED tests/test_x.py::test_y - RuntimeError: x\n")
run("pytest/spot-dots", ".a", head="x", tail=":1", gate="E   x\n")
run("pytest/spot-words", "a.py:", tail="\nE   x")
run("pytest/spot-angle", "<", tail="\nE   x")
run("pytest/spot-blanks", " ", head="x.py:1:", tail="y\nE   x")
run("pytest/line-dots", "A.", head="x.py:1: ", tail="rror")
run("pytest/line-class", "A", head="x.py:1: ", tail="rror")
run("pytest/line-files", "a.py", tail=":1 rror")
run("pytest/line-error", "Error", head="x.py:1: A", tail="")
run("pytest/error-indent", " ", head="E   ", tail="x")

# report/interleave.py


@generator("interleave/regions")
def _(n: int) -> str:
    return repeated(HEADER + '  File "a"\n' * 62, n)


@generator("interleave/many-open")
def _(n: int) -> str:
    frames = filled(lambda i: f'  File "a.py", line {i}, in f\n', min(n, 100_000))
    return repeated(HEADER * 64 + "AError: x\n" + frames + "AError: y\n" * 64, n)


@generator("interleave/twins")
def _(n: int) -> str:
    block = HEADER * 60 + '  File "a.py", line 1, in f\n    x()\n' * 1_800 + "AError: x\n" + '  File "a.py", line 1, in f\n' * 60 + "AError: x\n" * 60
    return repeated(block, n)


@generator("interleave/errors")
def _(n: int) -> str:
    return repeated(HEADER * 64 + '  File "a.py", line 1, in f\n' * 64 + filled(lambda i: f'AError: {word(i)}\n  File "b.py", line 2, in g\n', 60_000), n)


@generator("interleave/codes")
def _(n: int) -> str:
    block = HEADER * 64 + filled(lambda i: f'  File "a{i}.py", line {i}, in f\n', 40_000) + "AError: x\n" + filled(lambda i: f"      x{i}()\n", 20_000)
    return repeated(block + "AError: y\n" * 64, n)


same("interleave/header-pairs", HEADER * 2 + '  File "a.py", line 1, in f\n' * 2 + "    x()\n" * 2 + "RuntimeError: x\nRuntimeError: x\n")
same("interleave/errors-joined", HEADER * 2 + '  File "a.py", line 1, in f\n' * 2 + "    x()\n" * 2 + "AError: xAError: x\n" + "AError: x\n")
same("interleave/headers-64", HEADER * 65 + "AError: x\n")
same("interleave/linked", HEADER * 2 + "AError: x\nAError: y\n\nDuring handling of the above exception, another exception occurred:\n\n")
pieces(
    "interleave/streams",
    lambda i: f"[rank{i // 12}]: "
    + (HEADER, HEADER, '  File "a.py", line 1, in f\n', '  File "a.py", line 1, in f\n', "    x()\n", "    x()\n", f"AError: {word(i)}\n",
       f"AError: {word(i)}\n", "\n", "\n", "\n", "\n")[i % 12],
)

# -- report/mentions*.py, elsewhere.py ---------------------------------------------------------------------------------------------

run("mentions/torch-gap", "torch" + " " * 170 + "x 1.1\n", tail="")
run("mentions/torch-gap-brackets", "torch `'\"" + " " * 39 + "(" + "a" * 39 + ")" + " " * 39 + "(x)" + " " * 39 + "x 1.1\n", tail="")
run("mentions/torch-words", "torch version ", tail=" 1.1")
run("mentions/torch-version-gap", "torch" + " " * 40 + "version" + " " * 40, tail="x 1.1")
run("mentions/torch-quotes", "torch`'\"*`'\"*`'\"*", tail=" 1.1")
run("mentions/release-dots", "torch 1.1.1.1.1.1", tail="%")
run("mentions/release-dev", "torch 1.1" + ".dev1" * 300 + "%\n", tail="")
run("mentions/release-rc", "rc1", head="torch 1.1", tail="%")
run("mentions/release-local", "a", head="torch 1.1+", tail="%")
run("mentions/pinned-name", "a-", tail=" 1.1 ==")
run("mentions/pinned-extra", "a[" + "b," * 30, tail=" 1.1 ==")
run("mentions/pinned-many", "a==1.1.", tail="")
run("mentions/python-blanks", "python" + " " * 10 + "version" + " " * 10, tail="x 1.1")
run("mentions/python-slash", "python3.1", tail="/")
run("mentions/cuda-gap", "cuda" + " toolkit" * 4 + " " * 10, tail="x 1.1")
run("mentions/cuda-versions", "cuda   version   runtime   ", tail="1.1")
run("mentions/driver", "driver ", tail="1.1")
run("mentions/capability", "compute capability" + " " * 10 + "is" + " " * 10 + "(", tail="1.1")
run("mentions/absent", "a-" * 15 + " ", gate="not installed found\n", tail="")
run("mentions/absent-gap", "xformers" + " " * 3 + "(" + "a" * 20 + ") version" + " " * 20 + "x ", gate="not installed\n", tail="")
run("mentions/imports", "import ", gate="import x\n", tail="")
run("mentions/import-lines", ">.", gate="import x\n", tail="from")
run("mentions/no-module", "no module named ", gate="module named\n", tail="")
run("mentions/without", "without no ", tail="")
run("mentions/bound", "requires at least torch 1.1 or later", tail="")
run("mentions/worked", "works fine without any error with torch 1.1 ", tail="")
run("mentions/downgraded", "downgraded torch 1.1 ", tail="")
run("mentions/downgrade-gap", "downgrading " * 3 + "x" * 30 + " torch 1.1", tail="")
run("mentions/moved", "from torch 1.1 to torch 1.", tail="")
run("mentions/gpus", "nvidia geforce quadro rtx ", tail="")
run("mentions/gpu-suffix", "a100 SXM 80GB NVL ", tail="_")
run("mentions/gpu-count", "8x", gate="A100\n", tail="A10")
run("mentions/amd", "amd radeon rx pro w", tail="")
run("mentions/apple", "apple m1 pro", tail="-")
run("mentions/bare", "3090", gate="gpu card ti super\n", tail="")
run("mentions/bare-super", "3090 ti super ", gate="gpu card ti super\n", tail="_")
run("mentions/spoken", "on a 3090" + " " * 60, tail="z")
run("mentions/spoken-blanks", " ", head="on my 3090", tail="z")
run("mentions/sm", "sm_86 compute_86 ", tail="")
run("mentions/major", "major=8, minor=", tail="")
run("mentions/hub", "hf.co/a/", tail="")
run("mentions/hub-near", "hf.co/" + "a" * 95, tail="")
run("mentions/pair", "a" * 60 + "/", tail="")
run("mentions/pair-many", " a/b", tail="/")
run("mentions/pair-dots", " a./.", tail="")
run("mentions/class", "A" + "a" * 40, gate="For Model Pipeline\n", tail="")
run("mentions/class-for", " AaFor", tail="")
run("mentions/class-model", " Aa1Mode", gate="Model\n", tail="")
run("mentions/families", "qwen-vl-instruct-7b-chat", tail="_")
run("mentions/families-all", "flux llama gpt t5 sd stable wan blip glm phi opt yi bert vit ltx yolo wav bark sam clip sana led aya command ", tail="_")
run("mentions/families-numbers", "llama-70.55b-70b-70b-70b ", tail="_")
run("mentions/dtype-keyword", "dtype" + " " * 4 + "=" + " " * 4, tail="x")
run("mentions/dtype-underscores", "a_" * 10 + "type ", tail="float")
run("mentions/precision", "precision = ", tail="x")
run("mentions/switch", "fp16 = { 'enabled': ", tail="x")
run("mentions/switch-many", "--fp16 --no-half-vae ", tail="")
run("mentions/switch-left-out", "without the any my flags --fp16 ", tail="")
run("mentions/cast", ".to(" + "a" * 59, gate="float\n", tail="")
run("mentions/cast-many", ".to(torch.", gate="float\n", tail="")
run("mentions/prose", "using training running ", gate="float16\n", tail="floa")
run("mentions/prose-hit", "using fp16 ", tail="")
run("mentions/mentioned", "torch.float16", tail="_")
run("mentions/autocast", "autocast(" + "a" * 199, tail="")
run("mentions/autocast-many", "autocast   (enabled = ", tail="")
run("mentions/device", "device = torch.device('", tail="x")
run("mentions/device-map", "device_map = '" + "a" * 29, tail="")
run("mentions/device-to", ".to( '", gate="cuda\n", tail="")
run("mentions/on-cpu", "cpu only ", tail="")
run("mentions/on-cpu-dense", "cpu-only;", tail="")
run("mentions/runs-on", "running it this the my ", gate="cpu\n", tail="cp")
run("mentions/generat", "generat" + "a" * 300, gate="cpu\n", tail="")
run("mentions/no-gpu", "have no aaaaaaaaaaaa ", gate="gpu\n", tail="gp")
run("mentions/cpu-chinese", "\u7528cpu\u4e0a\u6765", tail="")
run("mentions/flags", "--a" + " " * 8, tail="")
run("mentions/flags-quoted", '--a="' + "b" * 199, tail="")
run("mentions/flags-values", "--a-b.c=d ", tail="")
run("mentions/flags-dashes", "-", tail="a")
pieces("mentions/flags-many", lambda i: f"--{word(i)}={i} ")
run("mentions/quantization", "load_in_4bit = ", tail="")
run("mentions/attention", "attn_implementation = '", tail="")
run("mentions/launch", "accelerate   ", gate="launch\n", tail="")
run("mentions/launch-deepspeed", "deepspeed   ", gate="launch\n", tail="")
run("mentions/phase", "fine tun", gate="training\n", tail="")
run("mentions/os", "windows 1 ", tail="")
pieces("mentions/versions-many", lambda i: f"torch {i // 100}.{i % 100}\n")
pieces("mentions/packages-many", lambda i: f"{word(i)}=={i}.1\n")
pieces("mentions/gpus-many", lambda i: f"RTX {3000 + i % 999} A{i % 999}\n")
pieces("mentions/models-many", lambda i: f"'{word(i)}/{word(i)}-7b'\n")
pieces("mentions/devices-many", lambda i: f"device='cuda:{i % 100}' x{i}\n")

# -- environment/ --------------------------------------------------------------------------------------------------------------------

COLLECT = "PyTorch version: 2.1\nIs debug build: False\n"
run("dumps/gpu-blanks", " ", gate=COLLECT, head="GPU 0: x", tail="y")
run("dumps/gpu-config", " ", gate=COLLECT, head="GPU models and configuration: GPU 0: x", tail="y")
run("dumps/gpu-config-gap", " ", gate=COLLECT, head="GPU models and configuration", tail="x")
run("dumps/gpu-uuid", " (UUID:", gate=COLLECT, head="GPU 0: x", tail="")
run("dumps/library", "a", gate=COLLECT, head="[pip3] ", tail="")
run("dumps/library-equals", "=", gate=COLLECT, head="[pip3] ", tail="")
run("dumps/library-blanks", " ", gate=COLLECT, head="[conda] a", tail="")
run("dumps/python", "1.", gate=COLLECT, head="Python version: ", tail="")
run("dumps/python-digits", "1", gate=COLLECT, head="Python version: ", tail="")
run("dumps/os-digits", "1.", gate=COLLECT, head="OS: macOS ", tail="x")
run("dumps/platform-mac", "macos" + "-" * 20, gate=COLLECT, head="Python platform: ", tail="")
run("dumps/platform-mac-run", "x", gate=COLLECT, head="Python platform: macos", tail="")
run("dumps/first-version", "1", gate=COLLECT, head="CUDA runtime version: ", tail="x")
run("dumps/first-version-dots", "111.a", gate=COLLECT, head="cuDNN version: ", tail="")
run("dumps/xpu", "name='", gate=COLLECT, head="_XpuDeviceProperties(", tail="")
run("dumps/colons", ":", gate=COLLECT, head="OS", tail="")
run("dumps/dashes", "-*> ", gate=COLLECT, tail="PyTorch version:")
same("dumps/collect-env", COLLECT + "CUDA used to build PyTorch: 12.1\nOS: Ubuntu\nGPU 0: A100\n[pip3] torch==2.1.0\n\n")
pieces("dumps/gpus", lambda i: f"GPU {i}: NVIDIA {word(i)}\n", gate=COLLECT)
pieces("dumps/gpus-known", lambda i: f"GPU {i}: NVIDIA A100-SXM4-{i}GB\n", gate=COLLECT)
pieces("dumps/gpus-cut", lambda i: f"GPU {i}: NVIDIA {'ABGHR'[i % 5]}{i}...\n", gate=COLLECT)
pieces("dumps/gpus-gfx", lambda i: f"GPU models and configuration: {word(i)} (gfx90a:x{i})\n", gate=COLLECT)
pieces("dumps/gpus-long-names", lambda i: f"GPU {i}: " + f"{word(i)} " * 15 + "\n", gate=COLLECT)
pieces("dumps/xpus", lambda i: f"* [{i}] _XpuDeviceProperties(name='{word(i)}')\n", gate=COLLECT)
pieces("dumps/gpu-type", lambda i: f"- GPU type: {word(i)} 80 GB\n- Platform: Linux\n", gate="- `transformers` version: 4.40\n")
pieces("dumps/accelerators", lambda i: f"- Accelerator: NVIDIA {word(i)}, 81920 MiB\n- Platform: Linux\n", gate="- Platform: Linux version:\n")
for _name, _head, _fill, _tail in (
    ("stars", "", "*", "version: 1"), ("ticks", "", "`*", "version: 1"), ("marks", "", " >*-", "version: 1"), ("gap", "a", " ", "version: 1"),
    ("after", "a version", " ", "1"), ("after-parens", "a version (x)", " ", ": "), ("parens", "a version (", "a", ": 1"),
    ("value", "a version: ", "a", "("), ("open", "a version: 1 (", "(", ""), ("name", "", "a.", " version 1:"),
):
    same(f"dumps/field-{_name}", repeated(_head + _fill * 300, 290 - len(_tail)) + _tail + "\n", gate="- `transformers` version: 4.40\n- Platform: x\n")
run("dumps/mib", "1", gate="- Platform: x version: 1\n", head="GPU: a,", tail="")
run("dumps/mib-blanks", " ", gate="- Platform: x version: 1\n", head="GPU: a,", tail="1 MiB x")

SMI = "| NVIDIA-SMI 550 Driver Version: 550 CUDA Version: 12 |\n"
SMI_ROW = "| 0 A100 On | 00000000:00:00.0 Off |\n"
run("smi/row-blanks", " ", gate=SMI, head="0 x", tail="y")
run("smi/row-margin", " ", gate=SMI, tail="x")
run("smi/row-bar", " ", gate=SMI, head="|", tail="x")
run("smi/row-on", " On", gate=SMI, head="0 x", tail="y")
run("smi/row-on-blanks", " On" + " " * 40, gate=SMI, head="0 x", tail="y")
run("smi/row-bars", " On |", gate=SMI, head="0 x", tail="y")
run("smi/row-digits", "0", gate=SMI, tail="x")
run("smi/memory-digits", "1", gate=SMI, head=SMI_ROW, tail="x")
run("smi/memory-blanks", " ", gate=SMI, head=SMI_ROW + "1", tail="x")
run("smi/memory-slash", "1MiB /", gate=SMI, head=SMI_ROW, tail="x")
run("smi/memory-gaps", "1" + " " * 50, gate=SMI, head=SMI_ROW, tail="x")
run("smi/header", "Driver Version:", gate=SMI, tail="")
run("smi/header-blanks", " ", gate=SMI, head="Driver Version:", tail="x")
run("smi/header-dots", ".", gate=SMI, head="CUDA Version: ", tail="x")
run("smi/list", "a", gate="GPU 0: x (UUID: GPU-1)\n", head="GPU 0: ", tail="")
run("smi/list-uuid", " (UUID: GPU", gate="GPU 0: x (UUID: GPU-1)\n", head="GPU 0: ", tail="")
pieces("smi/rows", lambda i: f"| {i} NVIDIA {word(i)} On | 0000{i % 0x10000:04X}:00:00.0 Off |\n| 1MiB / {i}MiB |\n", gate=SMI)
pieces("smi/listed", lambda i: f"GPU {i}: {word(i)} (UUID: GPU-{i})\n")
pieces("smi/log", lambda i: f"Product Name : {word(i)}\nFB Memory Usage\nTotal : {i} MiB\n")
pieces("smi/log-names", lambda i: f"Product Name : {word(i)}\n")
pieces("smi/csv", lambda i: f"{word(i)}, {i} MiB\n", gate="name, memory.total [MiB]\n")
pieces("smi/csv-known", lambda i: f"NVIDIA A100-{i}, {i} MiB\n", gate="name, memory.total [MiB]\n")
same("smi/csv-fields", "1 MiB" + ",a" * 190 + "\n", gate="name, memory.total [MiB]\n")
pieces("smi/csv-words", lambda i: f"{i} MiB," + ",".join(f"{word(i)} {word(i + j)} a b c d e f" for j in range(12)) + "\n", gate="name, memory.total [MiB]\n")
pieces("smi/csv-repeats", lambda i: "A100 x2,1 MiB\n", gate="name, memory.total [MiB]\n")
ROCM = "rocminfo gfx90a\n"
run("smi/rocm-card", " ", gate=ROCM, head="GPU[0] : Card series : x", tail="y")
run("smi/rocm-card-gap", " ", gate=ROCM, head="GPU[0]", tail="x")
run("smi/rocm-name", "a", gate=ROCM, head="Name:  gfx", tail="x")
run("smi/rocm-name-blanks", " ", gate=ROCM, head="Name: gfx90a", tail="x")
run("smi/rocm-marketing", " ", gate=ROCM, head="Marketing Name: x", tail="y")
run("smi/rocm-margin", " ", gate=ROCM, tail="x")
pieces("smi/rocm-cards", lambda i: f"GPU[{i}] : Card Series : {word(i)}\nGPU[{i}] : GFX Version : gfx{i:x}\n", gate=ROCM)
pieces("smi/rocm-agents", lambda i: f"  Name:  gfx{i:x}\n  Marketing Name: {word(i)}\n", gate=ROCM)

run("listings/pin-name", "a", gate="torch==2.1.0\n", tail="==")
run("listings/pin-dots", "a.", gate="torch==2.1.0\n", tail="==1")
run("listings/pin-extra", "[", gate="torch==2.1.0\n", head="a", tail="==1")
run("listings/pin-version", "1", gate="torch==2.1.0\n", head="a==", tail="~")
run("listings/pin-blanks", " ", gate="torch==2.1.0\n", head="a==1", tail="x")
for _name, _unit in (
    ("pin-400-name", "a" * 390 + "==x"), ("pin-400-version", "a==" + "1" * 390 + "~"), ("pin-400-blanks", "a==1" + " " * 390 + "x"),
    ("direct-400-wheel", "a @ file:///" + "1-" * 190), ("direct-400-wheels", "a @ file:///" + "/1-1-1" * 60),
    ("direct-400-names", "a @ file:///" + "a-1" * 120), ("direct-400-version", "a @ https://x/a-" + "1" * 370),
    ("direct-400-whl", "a @ https://x/a-1" + "-a.whl" * 60), ("direct-400-whl-near", "a @ https://x/a-1" + "-1.wh" * 70),
    ("editable-400", "-e git+x" + "#egg=" * 70), ("editable-400-and", "-e git+x" + "&egg=a" * 60),
):
    same(f"listings/{_name}", _unit[:398] + "\n", gate="torch==2.1.0\n")
run("listings/comment", "(", gate="torch==2.1.0\n", head="# Editable ", tail="\n-e x")
run("listings/comment-name", "(a", gate="torch==2.1.0\n", head="# Editable ", tail="==\n-e x")
run("listings/comment-names", "(" + "a" * 50, gate="torch==2.1.0\n", head="# Editable ", tail="==\n-e x")
for _name, _fill in (("prompts", ">"), ("prompts-blank", "> "), ("dollars", "$ "), ("python", "python "), ("python-joined", "python"),
                     ("prompt-python", "$python "), ("python-digits", "python3.1 "), ("sudo", "sudo uv "), ("letters", "a"), ("pip", "pip "),
                     ("blanks", " "), ("hash-sudo", "#sudo "), ("prompt-words", "$a"), ("dash-m", "python -m ")):
    for _width in (100, 4_000, 180_000):
        generator(f"listings/command-{_name}@{_width}")(
            lambda n, fill=_fill, width=_width: filled(
                lambda i: repeated(fill, min(n, width)) + f"\n{word(i)}==1.0\nb{i}==2.0\n\n\n\n\n", n
            )
        )
COLUMNS = "Package Version\n------- -------\n"
run("listings/columns-name", "a", gate=COLUMNS, tail="")
run("listings/columns-dots", "a.", gate=COLUMNS, tail="")
run("listings/columns-version", "1", gate=COLUMNS, head="a ", tail="~")
run("listings/columns-blanks", " ", gate=COLUMNS, head="a", tail="x")
run("listings/columns-after", " ", gate=COLUMNS, head="a 1", tail="x")
run("listings/columns-parens", " (", gate=COLUMNS, head="a 1", tail="")
run("listings/columns-margin", " ", gate=COLUMNS, tail="~")
run("listings/rule", "--- ", gate=COLUMNS, tail="x")
run("listings/rule-dashes", "-", gate=COLUMNS, tail=" x")
run("listings/rule-blanks", " ", gate=COLUMNS, head="--- ---", tail="x")
same("listings/tables", COLUMNS)
same("listings/tables-blank", COLUMNS + "\n" * 50)
same("listings/tables-name", "Package Version1\n--- ---\na 1\n")
CONDA = "# packages in environment\n# Name Version Build Channel\n"
run("listings/conda-name", "a", gate=CONDA, tail="")
run("listings/conda-blanks", " ", gate=CONDA, head="a 1", tail="x y z")
run("listings/conda-fields", " a", gate=CONDA, head="a 1", tail="")
run("listings/conda-version", "1", gate=CONDA, head="a ", tail="~")
run("listings/conda-header", " ", gate=CONDA, head="# Name", tail="x")
same("listings/conda-headers", CONDA)
run("listings/conda-pin", "a::", gate="dependencies:\n", head="- ", tail="=1")
run("listings/conda-pin-name", "a", gate="dependencies:\n", head="- ", tail="")
run("listings/conda-pin-path", "a/", gate="dependencies:\n", head="- ", tail="=1")
run("listings/conda-pin-blanks", " ", gate="dependencies:\n", head="- a=1", tail="x")
run("listings/json-blanks", " ", gate='[ {"name": "a", "version": "1"}]\n', head='"name":', tail="x")
run("listings/json-names", '"name": "a" ', gate='[ {"name": "a", "version": "1"}]\n', tail="")
run("listings/json-long-name", "a", gate='[ {"name": "a", "version": "1"}]\n', head='"name": "', tail="")
run("listings/json-brackets", "[ ", gate='"name": "version":\n', tail="")
run("listings/json-bracket-blanks", "[" + " " * 50, gate='"name": "version":\n', tail="")
same("listings/json-bracket-lines", "\n\n[\n", gate='"name": "version":\n')
pieces("listings/pip-freeze", lambda i: f"{word(i)}=={i}.0\n")
pieces("listings/pip-freeze-apart", lambda i: f"{word(i)}=={i}.0\n\n\n\n\n")
pieces("listings/pip-freeze-same", lambda i: f"torch=={i}.0\n")
pieces("listings/pip-freeze-direct", lambda i: f"{word(i)} @ file:///x/{word(i)}-{i}.0-py3-none-any.whl\n")
pieces("listings/pip-freeze-editable", lambda i: f"# Editable install ({word(i)}==1.0)\n-e /x/{i}\n")
pieces("listings/pip-list", lambda i: f"{word(i)} {i}.0\n", gate=COLUMNS)
pieces("listings/conda-list", lambda i: f"{word(i)} {i}.0 py_0 conda-forge\n", gate=CONDA)
pieces("listings/conda-export", lambda i: f"  - {word(i)}={i}.0=py_0\n", gate="dependencies:\n", end="prefix: x\n")
pieces("listings/json-list", lambda i: f'{{"name": "{word(i)}", "version": "{i}.0"}},\n', gate="[ ")
pieces("listings/names-dashes", lambda i: f"{'-' * 0}a{'-_.' * 100}{word(i)}==1\n")
run("listings/names-dashes-long", "-_.", gate="torch==2.1.0\n", head="a", tail="b==1")

OWN = '{"troubleshoot_environment": 1, '
same("exchange/open", OWN)
same("exchange/open-lines", OWN + "\n")
same("exchange/nested", "[", gate=OWN + '"packages": ')
same("exchange/nested-objects", '{"a":', gate=OWN + '"packages": ')
same("exchange/lines-before", "x\n", end="troubleshoot_environment\n")
pieces("exchange/packages", lambda i: f'"{word(i)}": "{i}", ', gate=OWN + '"packages": {', end='"z": "1"}}\n')
pieces("exchange/accelerators", lambda i: f'{{"name": "{word(i)}"}}, ', gate=OWN + '"accelerators": [', end='{"name": "z"}]}\n')
pieces("exchange/smi", lambda i: f"{word(i)}, {i} MiB, {i}\\n", gate=OWN + '"nvidia_smi": "', end='"}\n')
same("exchange/wrapped", '"a":\n"b",\n', gate=OWN + '"packages": {')

# -- knowledge/sentences.py, phrases.py, word_classes.py; matching/search.py -----------------------------------------------------------

run("sentences/ends", ". ", tail="")
run("sentences/dots", ".", tail="")
run("sentences/abbreviations", "e.g. i.e. vs. ", tail="")
run("sentences/wraps", "a a a a a a ", tail="!")
run("sentences/wraps-quotes", "'\"`,.()/%->", tail="!")
run("sentences/commas", "a,", tail="")
run("sentences/commas-end", "word ", tail=",")
run("sentences/commas-chinese", "\u6a21\u578b\uff0c", tail="\uff0c")
run("sentences/tokens", "a-b_c.d+e/f'", tail="")
run("sentences/half", "first half of a half ", tail="half")
run("sentences/spoken-marks", "!", tail="a")
run("sentences/spoken-error", "a.", tail="error")
run("sentences/written", "a ", tail="\\")
run("sentences/written-assign", "a.[']", tail=" = ")
run("sentences/cjk", "\u6a21\u578b\u8f93\u51fa\u4e0d\u5bf9", tail="\u3002")
run("sentences/apostrophes", "doesn\u2019t ", tail="")
same("sentences/short", "It is wrong. ")
same("sentences/chain", "so it goes on and on and on and on and on and on and on\n")
same("sentences/title", "nan in fp16\n\n" + "it works but gives nan with half precision on my gpu and not in float32\n" * 3)
pieces("sentences/one-word", lambda i: f"{word(i)} is wrong\n")
pieces("sentences/listed", lambda i: f"{word(i)} {i}.0\n" * 5 + "x\n")
run("search/listed", " ", head="a 1", tail="x", widths=("@100",))
run("search/listed-words", "a", head="a ", tail=" 1", widths=("@100",))
same("search/announce", ":\n")
same("search/announce-words", "it stops with this:\nthe dtype is not supported here:\n")
pieces("search/yaml", lambda i: f"  section_{i}:\n    value_{i}: {i}\n")
pieces("search/yaml-dtypes", lambda i: f"dtype_{i}:\n  float16 is not supported for device cpu {i}\n")
pieces("search/general", lambda i: f"RuntimeError: {word(i)} float16 dtype is not supported by this device\n")
pieces("search/general-trace", lambda i: HEADER + f'  File "{word(i)}.py", line 1, in f\n    x()\nRuntimeError: {word(i)} bfloat16 is not supported on this device\n\n')
pieces("search/message-not-in-text", lambda i: f"[rank0]: RuntimeError: {word(i)}\n[rank1]: x\n[rank0]:   {word(i)} goes on\n[rank1]: y\n")
pieces("search/same-known-message", lambda i: f"RuntimeError: expected scalar type Half but found Float {word(i)}\n")
pieces("search/known-in-traces", lambda i: HEADER + f'  File "{word(i)}.py", line 1, in f\n    x()\nRuntimeError: expected scalar type Half but found Float\n\n')
pieces("search/known-near", lambda i: f"RuntimeError: expected scalar type {word(i)} but found {word(i + 1)}\n")
pieces("search/many-models", lambda i: f'{HEADER}  File "/x/site-packages/{word(i)}/a.py", line 1, in f\n    F.linear(x)\nRuntimeError: {word(i)}\n\n')
same("search/joined", "expectedscalartypeHalfbutfoundFloat")
same("search/joined-lines", "\n".join("RuntimeError: expected scalar type Half but found Float") + "\n")

# -- lines/inferring.py, evidence.py, versions.py, dtypes.py, render/, redact.py -------------------------------------------------------

pieces("lines/frames", lambda i: f'  File "/x/site-packages/transformers/modeling_{i % 50}.py", line {i}, in f\n    x = y{i % 7}()\n', gate=HEADER, end="RuntimeError: x\n")
pieces("lines/long-code", lambda i: f'  File "/x/site-packages/torch/nn/functional.py", line {i}, in linear\n    {"F.linear(" * 400}\n', gate=HEADER, end="RuntimeError: x\n")
pieces("evidence/owners", lambda i: f'  File "/x/site-packages/{word(i)}/a.py", line {i}, in f\n    torch.nn.functional.linear(x)\n', gate=HEADER, end="RuntimeError: expected scalar type Half but found Float\n")
run("evidence/calls", "F.", gate=HEADER + '  File "/x/site-packages/torch/nn/functional.py", line 1, in linear\n', head="    ", tail="linear")
run("evidence/calls-name", "a", gate=HEADER + '  File "/x/site-packages/torch/nn/functional.py", line 1, in linear\n', head="    F.", tail="")
run("evidence/example", "such as the A100 or newer ", tail="")
run("versions/long", "1.", head="torch==", tail="1")
run("versions/digits", "9", head="torch==", tail="")
run("versions/said-zeros", ".0", gate="torch==2.0\n", head="torch==2", tail="")
run("dtypes/tensor", "torch.cuda.", gate="RuntimeError: ", tail="HalfTensor")
run("dtypes/legacy", "CUDA", gate="RuntimeError: ", tail="HalfType")
run("dtypes/names", "half", gate="RuntimeError: expected scalar type ", tail=" but found Float")

KNOWN = "RuntimeError: expected scalar type Half but found Float "
for _name, _fill in (
    ("hf", "hf_a"), ("hf-run", "hf_" + "a" * 15 + "."), ("jwt", "eyJaaaaaaaa"), ("jwt-dots", ".eyJaaaaaaaa"), ("key", "-----BEGIN PRIVATE KEY-----"),
    ("key-open", "-----BEGIN A"), ("url", "a://"), ("url-user", "a://" + "a" * 200 + ":"), ("url-long", "https://" + "a" * 300),
    ("parameters", "?a-token"), ("parameters-amp", "&token=a"), ("authorization", "authorization: bearer "), ("password", "password='"),
    ("passwords", "password = "), ("bearer", "bearer  "), ("named", "a_" * 4 + "token="), ("named-run", "a" * 30 + "_"), ("names", "key "),
    ("mail", "a@"), ("mail-dots", "a@a.a."), ("address", "1.1.1."), ("address-run", "1."), ("homes", "/home/"), ("users", "C:\\Users\\"),
    ("quotes", "'\"`"), ("ticks", "`a`"), ("markdown", "*_[](~|<"), ("urls-plain", "https://a "), ("html", "<script>&amp;"),
    ("controls", "\x07\x08\x1f\x7f\x9b"), ("wide", "\u5168\uff21"), ("bidi", "\u202e\u2066"), ("long-word", "a"), ("slashes", "a/"),
    ("mentions", "@a #1 "), ("numbered", "1. "),
):
    same(f"render/{_name}", (KNOWN + repeated(_fill, 3_900))[:4_000] + "\n")
    generator(f"render/{_name}-line")(lambda n, fill=_fill: KNOWN + repeated(fill, min(n, 19_000)) + "\n" + repeated(repeated(fill, 4_000) + "\n", n))


# -- gates opened together -----------------------------------------------------------------------------------------------------------------

#: Everything that lets a reader look further, in one text.
GATES = (
    TRACE + GROUP + "> Traceback (most recent call last):\n[rank0]: x\n\x1b[0m [0m &gt; </b>\n\u2502 x \u2502\n+---+\n" + COLLECT + SMI + ROCM
    + "Product Name\nmemory.total MiB\n" + "dependencies:\n- a=1\n\n" + COLUMNS + "a 1\n\n" + CONDA + 'torch==2.1.0\n"name": "version": [ {\n'
    + "cpu gpu cuda fp16 import no module named found autocast --a launch float16 A100 For Model hf.co/a/b 3090 training\n"
)
for _name, _fill in (
    ("blanks", " "), ("tabs", "\t"), ("digits", "1"), ("letters", "a"), ("capitals", "A"), ("dots", "."), ("quotes", '"'), ("single", "'"),
    ("backslash", "\\"), ("slash", "/"), ("colons", ":"), ("bars", "|"), ("angles", ">"), ("less", "<"), ("brackets", "["), ("parens", "("),
    ("braces", "{"), ("dashes", "-"), ("equals", "="), ("stars", "*"), ("ticks", "`"), ("underscores", "_"), ("hashes", "#"), ("commas", ","),
    ("word-dots", "a."), ("word-blanks", "a "), ("digit-dots", "1."), ("digit-blanks", "1 "), ("word-digits", "a1"), ("word-dashes", "a-"),
    ("word-slashes", "a/"), ("word-colons", "a:"), ("errors", "Error: "), ("files", 'File "'), ("lines", '", line 1'), ("ins", " in "),
    ("newline-blank", " \n"), ("blank-newlines", "\n \n"), ("return", "\r"), ("superscripts", "1\u00b2"), ("cjk", "\u6a21\u578b"), ("emspace", " \u2003"),
    ("at", " @ "), ("percent", "%"), ("ampersand", "&"), ("plus", "+"), ("tilde", "~"), ("caret", "^"), ("comma-blank", ", "), ("dot-blank", ". "),
):
    run(f"gates/{_name}", _fill, gate=GATES, tail="\u00a7")

#: Alphabets from which long random texts are drawn: what nobody thought of.
for _number, _alphabet in enumerate((" a", " \t", "1.", "1 ", "a.", 'a"', "\\n\"", "[]1", "> ", "a:", "a/", "-=1", "(a)", " \n", "1:\n", "a=\n", "E \n", " in:", "\u00b21 ", "|+-")):
    for _width in (100, 4_000, 190_000):

        def _random(n: int, alphabet: str = _alphabet, width: int = _width, seed: int = _number) -> str:
            chance = random.Random(seed)
            line = "".join(chance.choices(alphabet, k=min(n, width))) + "\n"
            return GATES + repeated(line, max(1, n - len(GATES)))

        generator(f"random/{_number}@{_width}")(_random)


# -- from the knowledge base -------------------------------------------------------------------------------------------------------------------

#: What a hole of each type nearly takes: runs of its class, and beginnings that go on otherwise.
NEAR = {
    "dtype": ("a" * 60, "torch.", "struct ", "c10::"), "dtype_name": ("torch.", "'\"`(", "floa"), "tensor_type": ("torch.cuda.", "a[" * 30),
    "device": ("cuda:", "a" * 12, "cuda :"), "int": ("-", "1" * 20), "float": ("1.", "1e", "1" * 20 + "."), "version": ("1.", "1-" * 20),
    "name": ("a.", "a" * 100), "path": ("/", "a" * 200), "text": ("a", " ", "a" * 199 + " "),
}


@lru_cache(maxsize=1)
def _patterns() -> tuple[tuple[str, str, str], ...]:
    """Return (name, kind, text) of every pattern of the base that anything can be made of."""
    from troubleshoot.knowledge import load_kb

    named: list[tuple[str, str, str]] = []
    counts: dict[str, int] = {}
    for kind, text, owners in load_kb().index.patterns:
        owner = owners[0] if owners else "nobody"
        number = counts[owner] = counts.get(owner, -1) + 1
        named.append((f"{'phrase' if kind == 'p' else 'template'}:{owner}:{number}", kind, text))
    return tuple(named)


def _spelled(nodes: Iterable[object], fill: Callable[[str], str], branch: int) -> str:
    """Return a text that a template's nodes nearly match: holes are filled by their type."""
    from troubleshoot.knowledge.templates import Choice, Hole, Literal, Optional_

    parts: list[str] = []
    for node in nodes:
        if isinstance(node, Literal):
            parts.append(node.text)
        elif isinstance(node, Hole):
            parts.append(fill(node.type))
        elif isinstance(node, Choice):
            parts.append(_spelled(node.branches[branch % len(node.branches)], fill, branch))
        elif isinstance(node, Optional_) and branch % 2:
            parts.append(_spelled(node.body, fill, branch))
    return "".join(parts)


def _template_unit(text: str) -> str:
    """Return some 4,000 characters written against one template: its pieces in order without the last, cut short, and overfull holes."""
    from troubleshoot.knowledge.templates import Literal, parse_template

    nodes = parse_template(text)
    body = nodes[:-1] if isinstance(nodes[-1], Literal) and len(nodes) > 1 else nodes
    literals = " ".join(node.text for node in body if isinstance(node, Literal))
    units: list[str] = []
    for branch in range(4):
        units.append("RuntimeError: " + _spelled(body, lambda kind, branch=branch: NEAR[kind][branch % len(NEAR[kind])], branch))
    units.append("RuntimeError: " + literals)
    units.append(" ".join(_spelled(body, lambda kind: NEAR[kind][0], 0) for _ in range(6)))
    units.append(_spelled(nodes, lambda kind: " ", 1)[:-1])
    return "\n".join(units) + "\n" + repeated(literals + " ", 600) + "\n"


def _phrase_unit(text: str) -> str:
    """Return sentences each of which holds all terms of a phrase but one, and never the phrase."""
    from troubleshoot.knowledge.phrases import parse_phrase

    phrase = parse_phrase(text)
    words = [[one.rstrip("*").replace("_", " ") or "x" for one in term.alternatives] or ["x"] for term in (*phrase.terms, *phrase.further, *phrase.around)]
    lines: list[str] = []
    for row in range(12):
        chosen = [alternatives[row % len(alternatives)] for alternatives in words]
        del chosen[row % len(chosen)]
        lines.append("it is " + " ".join(chosen or ["so"]) + " here.")
        lines.append(words[row % len(words)][row % len(words[row % len(words)])])
    return "\n".join(lines) + "\n"


def entry_generators() -> Iterator[tuple[str, Generator]]:
    """Yield a generator for every template and phrase of the knowledge base."""
    for name, kind, text in _patterns():
        unit = _phrase_unit if kind == "p" else _template_unit
        yield name, lambda n, unit=unit, text=text: repeated(unit(text), n)


@lru_cache(maxsize=1)
def _all_words() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return all words of templates, and all of phrases."""
    from troubleshoot.knowledge.phrases import parse_phrase
    from troubleshoot.knowledge.templates import key_words, parse_template

    told: dict[str, None] = {}
    spoken: dict[str, None] = {}
    for _, kind, text in _patterns():
        if kind == "p":
            phrase = parse_phrase(text)
            spoken.update((one.rstrip("*"), None) for term in (*phrase.terms, *phrase.further, *phrase.around) for one in term.alternatives)
        else:
            told.update((one, None) for group in key_words(parse_template(text)) for one in group)
    return tuple(told), tuple(one for one in spoken if one)


@lru_cache(maxsize=1)
def _all_templates() -> tuple[str, ...]:
    from troubleshoot.knowledge.templates import parse_template

    return tuple(_spelled(parse_template(text), lambda kind: NEAR[kind][0][:12], 0) for _, kind, text in _patterns() if kind != "p")


@generator("base/template-words")
def _(n: int) -> str:
    return repeated(" ".join(_all_words()[0]) + " ", n)


@generator("base/template-words-lines")
def _(n: int) -> str:
    return repeated("\n".join(_all_words()[0]) + "\n", n)


@generator("base/phrase-words")
def _(n: int) -> str:
    return repeated(" ".join(_all_words()[1]) + " ", n)


@generator("base/phrase-words-lines")
def _(n: int) -> str:
    return repeated("\n".join(one.replace("_", " ") for one in _all_words()[1]) + "\n", n)


@generator("base/phrase-words-sentences")
def _(n: int) -> str:
    words = [one.replace("_", " ") for one in _all_words()[1]]
    return filled(lambda i: f"it says {words[i * 7 % len(words)]} and {words[i * 13 % len(words)]} but {words[i * 29 % len(words)]}.\n", n)


@generator("base/phrase-pairs-apart")
def _(n: int) -> str:
    words = [one for one in _all_words()[1] if "_" in one]
    return filled(lambda i: " x ".join(words[i % len(words)].split("_")) + f" {i}\n", n)


@generator("base/phrase-pairs-near")
def _(n: int) -> str:
    words = [one.replace("_", " ") for one in _all_words()[1] if "_" in one]
    return filled(lambda i: f"{words[i % len(words)]}x " * 6 + "\n", n)


@generator("base/phrases-cjk")
def _(n: int) -> str:
    words = [one for one in _all_words()[1] if not one.isascii()]
    return filled(lambda i: words[i % len(words)] + words[i * 7 % len(words)] + "\uff0c\n"[i % 2], n)


@generator("base/templates-cut")
def _(n: int) -> str:
    texts = _all_templates()
    return filled(lambda i: f"RuntimeError: {texts[i % len(texts)][:-1]}\n", n)


@generator("base/templates-lines")
def _(n: int) -> str:
    texts = _all_templates()
    return filled(lambda i: f"{texts[i % len(texts)][:-1]}\n", n)


@generator("base/templates-failures")
def _(n: int) -> str:
    texts = _all_templates()
    return filled(lambda i: HEADER + f'  File "{word(i)}.py", line {i}, in f\n    x()\nRuntimeError: {texts[i % len(texts)]} {word(i)}\n\n', n)


@generator("base/templates-joined")
def _(n: int) -> str:
    return repeated("".join(one.replace(" ", "") for one in _all_templates()), n)


@generator("base/templates-spaced")
def _(n: int) -> str:
    return repeated(" ".join(" ".join(one) for one in _all_templates()), n)


@generator("base/templates-holes-full")
def _(n: int) -> str:
    from troubleshoot.knowledge.templates import parse_template

    texts = [text for _, kind, text in _patterns() if kind != "p"]
    return filled(lambda i: _spelled(parse_template(texts[i % len(texts)])[:-1], lambda kind: NEAR[kind][-1], i) + "\n", n)


@generator("base/words-then-prose")
def _(n: int) -> str:
    words = " ".join(_all_words()[1]).replace("_", " ")
    return words + "\n" + filled(lambda i: f"{word(i)} goes {word(i * 7)} well, so far as {word(i * 3)} is seen.\n", max(1, n - len(words)))


@generator("base/trouble-pairs")
def _(n: int) -> str:
    words = [one.replace("_", " ") for one in _all_words()[1]]
    return filled(lambda i: f"The {words[i % len(words)]} is wrong. But {words[i * 31 % len(words)]} works.\n", n)


@generator("base/titles")
def _(n: int) -> str:
    words = [one.replace("_", " ") for one in _all_words()[1]]
    return " ".join(words)[:150] + "\n\n" + filled(lambda i: f"{words[i % len(words)]} and then it is so that nothing works as it should here, {word(i)}.\n", n)


def _shuffled(words: Iterable[str], n: int, head: str = "") -> str:
    """Return lines of words in random order, below a line that holds all of them: each pattern's gate is open, and nothing fits."""
    known = list(words)
    chance = random.Random(3)
    opened = head or " ".join(known) + "\n"
    return opened + filled(lambda _: " ".join(chance.choice(known) for _ in range(12)) + "\n", max(1, n - len(opened)))


@generator("base/phrase-words-shuffled")
def _(n: int) -> str:
    return _shuffled((part for one in _all_words()[1] for part in one.replace("_", " ").split()), n)


@generator("base/template-words-shuffled")
def _(n: int) -> str:
    return _shuffled(_all_words()[0], n)


@generator("base/failures-then-templates")
def _(n: int) -> str:
    failures = filled(lambda i: f"{word(i).title()}Error: {word(i)}q\n\n", min(110_000, n // 4))
    return repeated(failures + "\n\n" + "".join(f"log {one}\n" for one in _all_templates()), n)


@generator("base/everything")
def _(n: int) -> str:
    templates, words = _all_templates(), [one.replace("_", " ") for one in _all_words()[1]]

    def step(i: int) -> str:
        record = json.dumps({"m": f'Traceback (most recent call last):\n  File "a.py", line 1, in f\n    x()\nRuntimeError: {word(i)}'})
        return (
            f'[rank{i % 97}]: {HEADER}[rank{i % 97}]:   File "/x/site-packages/{word(i)}/a.py", line {i}, in {word(i)}\n'
            f"[rank{i % 97}]: RuntimeError: {templates[i % len(templates)]}\n"
            f"(W{i % 50} pid={i}) ValueError: {templates[i * 7 % len(templates)]}\n"
            f"torch=={i % 9}.0 cuda {i % 13}.1 RTX {3000 + i % 1000} Qwen/Qwen{i}-7B fp16 autocast\n"
            f"{' '.join(words[i * k % len(words)] for k in range(3, 13))}.\n"
            f"GPU {i}: NVIDIA A100 (UUID: GPU-{i})\nPyTorch version: 2.{i % 9}\nIs debug build: False\n"
            f"Root Cause (first observed failure):\n  rank      : {i % 97} (local_rank: 1)\n{record}\n"
        )

    return filled(step, n)


@generator("search/chinese-lines")
def _(n: int) -> str:
    return filled(lambda i: f"报错了第{i}次，半精度不支持，显卡是3090，模型{word(i)}加载失败\n", n)


@lru_cache(maxsize=1)
def all_generators() -> dict[str, Generator]:
    """Return the generators of this file and those made of the knowledge base."""
    return {**GENERATORS, **dict(entry_generators())}
