"""A document as an article for a page whose script lets it be used: what can be pressed says in its ``data-`` attributes what it is for.

``data-line``: a line of the report; ``data-about`` with ``data-answer``: an answer to a question; ``data-fix`` with ``data-worked``:
whether a fix helped. A button ``copy`` copies the code beside it. There is no script in the markup, and every text is escaped.
"""

from __future__ import annotations

from html import escape

from troubleshoot.telling.document import Choice, Code, Document, Point, Quote, Section, Step
from troubleshoot.telling.html import Writer, literal, numbered, prose
from troubleshoot.telling.layout import visible
from troubleshoot.telling.words import Words

#: Questions with these answers need no field for another one.
_CLOSED = {"present", "absent", "on", "off"}


def to_live_article(page: Document, *, feedback: bool = False) -> str:
    """Return a document as an article; with ``feedback``, readers are asked whether a fix helped."""
    return _LiveWriter(Words(page.language, "page"), feedback).article(page)


class _LiveWriter(Writer):
    live = True

    def __init__(self, words: Words, feedback: bool) -> None:
        self.words = words
        self.feedback = feedback
        #: What code is called by the button that copies it.
        self.name = ""
        self.choices = 0

    def title(self, text: str) -> str:
        self.name = text
        return f'<h1 id="found-title" tabindex="-1">{prose(text)}</h1>'

    def section(self, section: Section) -> str:
        self.name = section.title
        return super().section(section)

    def quote(self, quote: Quote) -> str:
        lines = (self._at(line, f'<span class="n">{shown}</span><span>{text}</span>') for line, shown, text in numbered(quote))
        return f'<div class="quote">{"".join(lines)}</div>'

    def point(self, point: Point) -> str:
        if point.line is None:
            return prose(point.text)
        side = {"+": "supporting", "-": "refuting"}.get(point.mark)
        words = self.words
        heard = f'<span class="unseen">{words(side)}: </span>' if side else ""
        return self._at(point.line, heard + prose(point.text))

    def _at(self, line: int | None, markup: str) -> str:
        """Return what leads to a line of the report."""
        if line is None:
            return f'<span class="item">{markup}</span>'
        words = self.words
        return _button("item", markup, data_line=line, title=words("to-line", n=line))

    def code(self, code: Code) -> str:
        name, text = visible(self.name), code.text.rstrip()
        one = "" if "\n" in text else ' class="one"'
        shown = f'<pre tabindex="0" role="group" aria-label="{escape(name)}"><code{one}>{literal(text)}</code></pre>'
        words = self.words
        return f'<div class="code">{shown}{_button("copy", words("copy"), aria_label=words("copy-named", name=name))}</div>'

    def step(self, step: Step) -> str:
        # What does not help is not there to be copied or judged.
        if not step.mark.isdigit():
            return Writer().step(step)
        self.name = step.title
        return super().step(step).removesuffix("</div></li>") + f"{self._feedback(step)}</div></li>"

    def _feedback(self, step: Step) -> str:
        if not (self.feedback and step.fix):
            return ""
        words = self.words
        buttons = _button("quiet", words("worked"), data_worked=1) + _button("quiet", words("did-not"), data_worked=0)
        group = f'role="group" aria-label="{escape(words("did-it"))} {literal(step.title)}" data-fix="{escape(step.fix)}"'
        return f'<div class="feedback" {group}><span class="dim">{words("did-it")}</span>{buttons}</div>'

    def choice(self, choice: Choice) -> str:
        words = self.words
        self.choices += 1
        name = f"question-{self.choices}"
        buttons = "".join(_button("option", literal(label), data_answer=value) for value, label in choice.answers)
        field = ""
        if not choice.answers or not {value for value, _ in choice.answers} <= _CLOSED:
            label = words("ask.other") if choice.answers else escape(choice.about.removeprefix("package."))
            field = (
                f'<form class="other"><label for="{name}-other">{label}</label>'
                f'<input id="{name}-other" maxlength="80" autocomplete="off"><button type="submit">{words("ask.send")}</button></form>'
            )
        group = f'<div class="question" role="group" aria-labelledby="{name}" data-about="{escape(choice.about)}">'
        return f'{group}<p id="{name}">{prose(choice.text)}</p><div class="options">{buttons}{field}</div></div>'


def _button(kind: str, markup: str, **attributes: object) -> str:
    named = "".join(f' {name.replace("_", "-")}="{escape(str(value))}"' for name, value in attributes.items())
    return f'<button type="button" class="{kind}"{named}>{markup}</button>'
