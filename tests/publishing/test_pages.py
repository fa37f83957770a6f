"""Pages of the site: what an entry says is on its page, in both languages, and nothing of it becomes markup."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml

from troubleshoot import load_kb
from troubleshoot.curation.publishing import pages
from troubleshoot.curation.publishing.catalogue import Catalogue
from troubleshoot.curation.publishing.issue import issue_page
from troubleshoot.curation.publishing.markup import code, escape, fence, prose
from troubleshoot.curation.publishing.navigation import navigation
from troubleshoot.curation.publishing.precision import Advice, advise, guide_page
from troubleshoot.knowledge import KnowledgeBase
from troubleshoot.reading.environment import accelerator_from_text
from troubleshoot.telling.entry import printed

DOCS = Path(__file__).parents[2] / "docs"
BASE = load_kb()
PAGES = {language: {page.path: page.text for page in pages(BASE, language, DOCS)} for language in ("en", "zh")}

#: Markup of every kind that MkDocs reads: none of it may come through.
MARKUP = "a <b>bold</b> [link](x) {{ jinja }} {: .c } | pipe | *em* _em_ `` ` # head :smile: ~sub~ ^sup^ == $x$ &amp; \\ ::: troubleshoot"


def visible(text: str) -> str:
    """Return Markdown with its entities read, as a browser shows it."""
    import html

    return html.unescape(re.sub(r"</?(?:code|span|div|br)[^>]*>", "", text))


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("issue", BASE.ids())
def test_the_page_of_an_entry_has_all_of_it(issue: str, language: str) -> None:
    """Title, every fix with its reason, every message as it is printed, every source, and the releases: nothing is left out."""
    entry = BASE.entry(issue)
    text = PAGES[language][f"issues/{issue}.md"]
    shown = " ".join(visible(text).split())
    chinese = entry.zh if language == "zh" else None
    assert (chinese or entry).title in shown
    for fix in entry.fixes:
        own = (chinese.fixes.get(fix.id) if chinese else None) or (fix.zh if chinese else None) or fix
        assert prose_of(own.title, language) in shown
        assert prose_of(own.reason or fix.reason, language) in shown
        assert f"#{fix.id} }}" in text
    for message in entry.signature.message:
        assert printed(message.template) in shown
    for reference in entry.references:
        assert f"]({reference.url})" in text
    for affected in entry.affected:
        assert affected.package in shown
        borders = [border for part in affected.ranges for border in (part.introduced, part.fixed)]
        assert all(border is None or border == "0" or border in shown for border in borders)


def prose_of(text: str, language: str) -> str:
    """Return a text of the knowledge base as its page shows it: back-quotes become code, no report tells which library it is."""
    text = text.replace("{library}", "该库" if language == "zh" else "the library")
    return re.sub(r"(?<!`)`([^`\n]+)`(?!`)", r"\1", " ".join(text.split()))


def test_every_link_between_pages_leads_to_a_page() -> None:
    """Before MkDocs looks at them."""
    import posixpath

    for language, made in PAGES.items():
        written = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")} if language == "en" else {"index.md"}
        for path, text in made.items():
            for target in re.findall(r"\]\(([^)#:]+\.md)", text):
                assert posixpath.normpath(posixpath.join(posixpath.dirname(path), target)) in {*made, *written}, (path, target)


def test_every_cause_has_a_page_with_its_entries() -> None:
    """Those that have it, and the families that may."""
    for cause in BASE.causes.causes:
        text = PAGES["en"][f"causes/{cause}.md"]
        for issue in BASE.ids():
            entry = BASE.entry(issue)
            if cause in (entry.cause, *(one.cause for one in entry.causes)):
                assert code(issue) in text


def test_the_list_has_every_entry_and_what_the_filters_ask() -> None:
    """A row an entry, with its cause, library and impact as data."""
    text = PAGES["zh"]["issues/index.md"]
    assert text.count('class="ts-row"') == len(BASE.ids())
    for issue in BASE.ids():
        assert f'data-package="{issue.partition("/")[0]}"' in text
        assert f"({issue}.md)" in text


def entry_with(changes: dict[str, Any], tmp_path: Path, language: str = "en") -> str:
    """Return the page of an entry made of the shipped linear family, with fields replaced."""
    shipped = yaml.safe_load((BASE.roots[0] / "torch" / "lerp-dtype.yaml").read_text(encoding="utf-8"))
    entry = {**deepcopy(shipped), "id": "acme/odd", "refines": [], **changes}
    entry.pop("verify", None)
    (tmp_path / "acme").mkdir()
    (tmp_path / "acme" / "odd.yaml").write_text(yaml.safe_dump(entry, allow_unicode=True, sort_keys=False), encoding="utf-8")
    base = load_kb([tmp_path])
    assert base.warnings == ()
    return issue_page(base.entry("acme/odd"), Catalogue(base, language))


@pytest.mark.slow
@pytest.mark.parametrize("field", ["title", "explanation", "reason"])
def test_markup_in_a_text_stays_text(field: str, tmp_path: Path) -> None:
    """Rendered as MkDocs would, the page shows the characters as they were written."""
    fix = {"id": "a", "kind": "other", "title": "T", "applicability": "manual", "action": {"advice": "A"}, "reason": "R"}
    changes: dict[str, Any] = {"fixes": [{**fix, "reason": MARKUP}], "zh": None} if field == "reason" else {field: MARKUP, "zh": None}
    text = entry_with(changes, tmp_path)
    body = text.split("---\n", 2)[2]
    for forbidden in ("<b>", "[link](x)", "{{", "{: .c", "| pipe", "*em*", "_em_", "\n:::"):
        assert forbidden not in body
    assert "a <b>bold</b> [link](x) {{ jinja }} {: .c } | pipe | *em* _em_" in visible(body)


@pytest.mark.parametrize(
    ("make", "text", "markdown"),
    [
        (escape, "a_b|c", "a&#95;b&#124;c"),
        (escape, "- no list", "&#45; no list"),
        (escape, "1. no list", "&#49;. no list"),
        (escape, "::: no.directive", "&#58;:: no.directive"),
        (code, "x[`{y}`]", "<code>x&#91;&#96;&#123;y&#125;&#96;&#93;</code>"),
        (prose, "call `f(*a)` and see https://example.org/a_b.", "call <code>f(&#42;a)</code> and see [example.org/a&#95;b](https://example.org/a_b)."),
        (fence, "```\ninner\n```", "````\n```\ninner\n```\n````"),
    ],
)
def test_escaping(make: Callable[[str], str], text: str, markdown: str) -> None:
    """One case after the other."""
    assert make(text) == markdown


def test_a_cause_that_is_none_of_ours_is_said_in_words() -> None:
    """A loss may turn NaN from its learning rate: that has a share and no page."""
    text = PAGES["en"]["issues/numerics/nan-loss.md"]
    assert "| no precision, dtype or device problem | " in text
    assert "<code>none</code>" not in text


def test_advice_that_fails_stands_apart() -> None:
    """Under what does not help, with what was seen."""
    text = PAGES["en"]["issues/transformers/blip2-query-tokens-fp32.md"]
    before, _, after = text.partition("## What does not help")
    assert "#use-bf16 }" in after
    assert "#use-bf16 }" not in before
    assert "**Seen**: fails (cpu)" in after


def test_what_nobody_has_run_says_so() -> None:
    """No record: that is said in place of a table."""
    lines = (BASE.roots[0] / "records" / "verifications.jsonl").read_text(encoding="utf-8").splitlines()
    bare = min(set(BASE.ids()) - {json.loads(line)["issue"] for line in lines})
    assert "There is no record of a run" in PAGES["en"][f"issues/{bare}.md"]
    assert "还没有运行记录" in PAGES["zh"][f"issues/{bare}.md"]


@pytest.mark.parametrize(
    ("gpu", "advice"),
    [
        ("A100-40GB", Advice("bf16", "bf16")),
        ("RTX 3060", Advice("bf16", "bf16")),
        ("T4", Advice("fp16", "fp16")),
        ("V100-16GB", Advice("fp16", "fp16")),
        ("GTX 1080", Advice("fp32", "fp32")),
        ("GTX 1660", Advice("fp32", "fp32")),
        ("K80", Advice("fp32", "fp32")),
        ("MI300X", Advice("bf16", "bf16")),
        ("M1", Advice("fp16", "fp16")),
    ],
)
def test_the_dtype_to_begin_with(gpu: str, advice: Advice) -> None:
    """By what the device computes in natively."""
    accelerator = accelerator_from_text(gpu)
    assert accelerator is not None
    assert advise(accelerator) == advice


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_guide_follows_the_table(language: str) -> None:
    """Each generation once, the advice beside it; the links lead to causes that exist."""
    text = guide_page(Catalogue(BASE, language))
    assert len(re.findall(r"^\| \*\*", text, re.MULTILINE)) > 40
    assert text.count("(causes/") == 6


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize(
    ("card", "inference"),
    [("RTX 4090", "bfloat16"), ("RTX 3090", "bfloat16"), ("GTX 1660", "float32"), ("T4", "float16"), ("MI300X", "bfloat16"),
     ("M2", "float16")],
)  # fmt: skip
def test_every_card_stands_in_the_row_of_its_generation(card: str, inference: str, language: str) -> None:
    """So the page's own field, the site's search and the browser's find it."""
    (row,) = [
        line
        for line in PAGES[language]["precision.md"].splitlines()
        if card in re.sub(r".*ts-names\">(.*?)</span>.*", r"\1", line).split(", ") and "ts-names" in line
    ]
    assert row.split(" | ")[1] == inference


@pytest.mark.parametrize("language", ["en", "zh"])
def test_common_messages_say_what_to_do(language: str) -> None:
    """Forty messages, each with its meaning, a first step and a link."""
    text = PAGES[language]["messages.md"]
    listed = yaml.safe_load((DOCS / "site" / "messages.yaml").read_text(encoding="utf-8"))
    assert len(listed) == 40
    parts = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    assert {visible(part.partition("\n")[0]) for part in parts} == {visible(escape(one["message"])) for one in listed}
    assert sum(("First: " if language == "en" else "先试：") in part for part in parts) >= 0.9 * len(parts)
    assert all(f"](issues/{one['issue']}.md)" in text for one in listed)
    assert "expected scalar type Float but found Half" in text


@pytest.mark.slow
def test_the_common_messages_are_those_of_the_reports() -> None:
    """The list is what the script counts. A few more or fewer reports of a message do not matter."""
    from common_messages import counted

    listed = yaml.safe_load((DOCS / "site" / "messages.yaml").read_text(encoding="utf-8"))
    now = counted(Path(__file__).parents[1] / "data" / "labelled")
    assert len({one["issue"] for one in now} & {one["issue"] for one in listed}) >= 32


def test_the_menu_lists_what_is_there(tmp_path: Path) -> None:
    """Pages that come later find their place; unknown ones stand among the guides; what is missing is left out."""
    for name in ("index.md", "cli.md", "server.md", "novel.md"):
        (tmp_path / name).write_text(f"# {name}\n")
    menu = navigation(tmp_path, ["issues/index.md", "issues/torch/x.md"], "en")
    assert menu == [{"Home": "index.md"}, {"Known issues": "issues/index.md"}, {"Guides": ["cli.md", "server.md", "novel.md"]}]


def test_the_shipped_menu_has_every_written_page() -> None:
    """No page of docs/ is out of reach."""
    listed = str(navigation(DOCS, list(PAGES["en"]), "en"))
    for path in DOCS.rglob("*.md"):
        name = path.relative_to(DOCS).as_posix()
        assert name.startswith(("zh/", "site/")) or f"'{name}'" in listed


@pytest.mark.slow
def test_a_withdrawn_entry_keeps_its_page(tmp_path: Path) -> None:
    """Reports may still link to it; it says that it never answers, and no list has it."""
    (tmp_path / "gone.yaml").write_text("schema: 1\nextends: torch/lerp-dtype\nwithdraw: true\n")
    made = {page.path: page.text for page in pages(load_kb([tmp_path]), "en", DOCS)}
    assert "This entry is withdrawn" in made["issues/torch/lerp-dtype.md"]
    assert "(torch/lerp-dtype.md)" not in made["issues/index.md"]


def test_the_api_page_names_everything_public() -> None:
    """And only what exists."""
    import troubleshoot

    text = PAGES["en"]["api.md"]
    for name in troubleshoot.__all__:
        assert name.startswith("__") or re.search(rf"^::: troubleshoot\.[\w.]+\.{name}$", text, re.MULTILINE), name


def test_a_base_without_records_has_pages(tmp_path: Path) -> None:
    """An overlay has none."""
    assert isinstance(BASE, KnowledgeBase)
    text = entry_with({"zh": None}, tmp_path, "zh")
    assert "暂无中文文本" in text
    assert "还没有运行记录" in text
