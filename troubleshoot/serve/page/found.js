// What was found: the article that the server wrote, the reader's answers above it, and what the article's buttons do.
import { announce, copy, h, visible } from "./dom.js";

/** The article as elements. The server has escaped every text in it; whatever slipped through, the page's policy lets nothing run. */
export function article(html) {
  const holder = document.createElement("template");
  holder.innerHTML = html;
  return holder.content;
}

/** The answers that were given, each with a button that takes it back; null where there are none. */
export function chips(answers, words, answer) {
  const given = Object.entries(answers);
  if (!given.length) return null;
  return h("div", { class: "answers" }, h("span", { class: "dim", id: "answers-title" }, words("answers")),
    h("ul", { "aria-labelledby": "answers-title" }, given.map(([about, value]) => {
      const name = `${about === "gpu" ? words("gpu") : about.replace(/^package\./, "")}: ${words.has(value) ? words(value) : value}`;
      return h("li", { class: "chip" }, visible(name),
        h("button", { type: "button", "aria-label": words("remove", { name }), onclick: () => answer(about, null) }, "×"));
    })));
}

/** Let the buttons of articles within `holder` copy; `words` returns the page's words. */
export function copyButtons(holder, words) {
  holder.addEventListener("click", async (event) => {
    const button = event.target.closest("button.copy");
    if (!button) return;
    const code = button.previousElementSibling.querySelector("code");
    const label = button.dataset.label ??= button.textContent;
    const done = await copy(code.textContent);
    if (!done) getSelection()?.selectAllChildren(code);
    button.textContent = words()(done ? "copied" : "copy-by-hand");
    announce(button.textContent);
    setTimeout(() => { button.textContent = label; }, 2500);
  });
}

/** Let the other buttons work. `page` has words(), show(line, origin), answer(about, value), feedback(issue, fix, worked), told(error). */
export function listen(holder, page) {
  copyButtons(holder, page.words);
  holder.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (button?.dataset.line) page.show(Number(button.dataset.line), button);
    if (button?.dataset.answer) page.answer(aboutOf(button), button.dataset.answer);
    if (button?.dataset.worked) judge(button.parentElement, button.dataset.worked === "1", page);
  });
  holder.addEventListener("submit", (event) => {
    event.preventDefault();
    const field = event.target.querySelector("input");
    if (field.value.trim()) page.answer(aboutOf(field), field.value.trim());
    else field.focus();
  });
}

function aboutOf(element) {
  return element.closest("[data-about]").dataset.about;
}

async function judge(holder, worked, page) {
  const words = page.words();
  const [issue, fix] = holder.dataset.fix.split("#");
  try {
    await page.feedback(issue, fix, worked);
    const thanks = h("span", { class: "good", tabindex: "-1" }, words(worked ? "thanks.worked" : "thanks.did-not"));
    holder.replaceChildren(thanks);
    thanks.focus();
    announce(thanks.textContent);
  } catch (error) {
    holder.querySelector(".bad")?.remove();
    holder.append(h("span", { class: "bad", role: "alert" }, words("feedback-failed", { why: page.told(error) })));
  }
}
