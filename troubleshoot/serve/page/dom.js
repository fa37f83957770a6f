// Building the page. Every text goes in as a text node; nothing here parses HTML.

const SPAN = /(?<!`)`([^`\n]+)`(?!`)/g;
const LINK = /https?:\/\/[^\s<>"'`）)]+/g;
// Characters that a reader does not see and that reorder or hide others: shown as their code.
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

/** An element with attributes, listeners (`onclick`) and children; strings become text nodes, null and false nothing. */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  add(element, children);
  return element;
}

/** Append children, nested lists and strings included. */
export function add(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false || child === "") continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}

/** The text with invisible and reordering characters written as escapes. */
export function visible(text) {
  return text.replace(HIDDEN, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** Prose of the knowledge base: back-quoted code and http links, the rest plain text. */
export function prose(text) {
  const parts = [];
  let at = 0;
  const shown = visible(String(text ?? ""));
  for (const match of shown.matchAll(SPAN)) {
    parts.push(...linked(shown.slice(at, match.index)), h("code", {}, match[1]));
    at = match.index + match[0].length;
  }
  parts.push(...linked(shown.slice(at)));
  return parts;
}

function linked(text) {
  const parts = [];
  let at = 0;
  for (const match of text.matchAll(LINK)) {
    const url = match[0].replace(/[.,;:!?。，；]+$/, "");
    parts.push(text.slice(at, match.index), link(url, url));
    at = match.index + url.length;
  }
  parts.push(text.slice(at));
  return parts;
}

/** A link to elsewhere, or plain text where the address is not http. */
export function link(url, text) {
  if (!/^https?:\/\//i.test(url)) return document.createTextNode(text);
  return h("a", { href: url, rel: "nofollow noreferrer noopener", target: "_blank" }, text);
}

/** Tell a screen reader, politely. The same text twice is told twice. */
export function announce(text) {
  const live = document.getElementById("live");
  live.textContent = "";
  setTimeout(() => { live.textContent = text; }, 60);
}

/** Copy a text; where the clipboard interface is missing (a page over plain http), through a selection. Resolves to whether it worked. */
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const holder = h("textarea", { class: "unseen", readonly: true, "aria-hidden": "true", tabindex: "-1" });
    holder.value = text;
    const focused = document.activeElement;
    document.body.append(holder);
    holder.select();
    let done = false;
    try {
      done = document.execCommand("copy");
    } catch {
      // Told by the caller.
    }
    holder.remove();
    focused?.focus();
    return done;
  }
}

/** A block of code with a button that copies it. `words` are the page's words. */
export function codeBlock(text, words, name) {
  const code = h("code", { class: text.includes("\n") ? null : "one" }, visible(text));
  const button = h("button", { type: "button", class: "copy", "aria-label": words("copy-named", { name }) }, words("copy"));
  button.addEventListener("click", async () => {
    const done = await copy(text);
    if (!done) getSelection()?.selectAllChildren(code);
    button.textContent = words(done ? "copied" : "copy-by-hand");
    announce(words(done ? "copied" : "copy-by-hand"));
    setTimeout(() => { button.textContent = words("copy"); }, 2500);
  });
  return h("div", { class: "code" }, h("pre", { tabindex: "0", role: "group", "aria-label": name }, code), button);
}
