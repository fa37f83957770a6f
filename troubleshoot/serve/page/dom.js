// Building the page's own elements. Every text goes in as a text node.

const SPAN = /`([^`\n]+)`/;
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

/** The page's own prose: back-quoted code, the rest plain text. */
export function prose(text) {
  return text.split(SPAN).map((part, at) => (at % 2 ? h("code", {}, part) : part));
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
