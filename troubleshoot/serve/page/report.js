// The pasted report as numbered lines with the evidence marked. Lines are counted as the server counts them.
import { h, visible } from "./dom.js";

const WHOLE = 160; // Reports up to this many lines are shown whole.
const AROUND = 4; // Lines kept on both sides of a marked one in longer reports.
const STEP = 400; // Lines that one press on a gap brings back.
const WIDE = 2000; // Characters of a line that are shown.
const ANSI = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b\n]*(?:\u0007|\u001b\\)?)/g;

/** The lines of a report, numbered from 1. */
export function linesOf(text) {
  const lines = text.replaceAll("\r\n", "\n").split("\n");
  if (lines.length > 1 && lines.at(-1) === "") lines.pop();
  return lines;
}

/** Fill `holder` with the report; `marks` are line -> {state, lead, texts}, as the server found them. Returns {show(number, origin)}, which goes to a line and offers the way back. */
export function markedReport(holder, text, marks, words) {
  const lines = linesOf(text);
  const kept = keptLines(lines.length, marks);
  const rows = new Map();
  let current = null;

  const row = (number) => {
    const mark = marks.get(number);
    const element = h("div", { class: mark ? `row ${mark.state}${mark.lead ? " lead" : ""}` : "row", tabindex: mark ? "-1" : null },
      h("span", { class: "number", "aria-hidden": "true" }, number),
      h("span", { class: "text" }, mark ? marked(lines[number - 1], mark) : shown(lines[number - 1], words)));
    if (mark) rows.set(number, element);
    return element;
  };
  const gap = (from, to) => {
    const many = to - from + 1;
    const button = h("button", { type: "button", class: "gap" }, words("hidden-lines", { n: many, m: Math.min(many, STEP) }));
    button.addEventListener("click", () => {
      const until = Math.min(to, from + STEP - 1);
      const fresh = Array.from({ length: until - from + 1 }, (_, at) => row(from + at));
      const rest = until < to ? gap(until + 1, to) : null;
      button.replaceWith(...fresh, ...(rest ? [rest] : []));
      fresh[0].tabIndex = -1;
      fresh[0].focus({ preventScroll: true });
    });
    return button;
  };

  const parts = document.createDocumentFragment();
  for (let number = 1; number <= lines.length; number += 1) {
    if (kept(number)) {
      parts.append(row(number));
    } else {
      let to = number;
      while (to < lines.length && !kept(to + 1)) to += 1;
      parts.append(gap(number, to));
      number = to;
    }
  }
  holder.replaceChildren(parts);
  holder.style.setProperty("--digits", String(lines.length).length);
  const lead = [...rows].find(([number]) => marks.get(number).lead)?.[1];

  const leave = () => {
    current?.element.classList.remove("current");
    current?.back.remove();
    const origin = current?.origin;
    current = null;
    return origin;
  };
  holder.onkeydown = (event) => {
    if (event.key === "Escape" && current) leave()?.focus();
  };
  return {
    show(number, origin) {
      const element = rows.get(number);
      if (!element) return;
      leave();
      const back = h("button", { type: "button", class: "back", onclick: () => leave()?.focus() }, `↩ ${words("back")}`);
      current = { element, back, origin };
      element.classList.add("current");
      element.append(back);
      element.scrollIntoView({ block: "center", behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });
      element.focus({ preventScroll: true });
    },
    has: (number) => rows.has(number),
    /** Scroll within the report so that the failure's message is in sight. */
    lead() {
      if (lead) holder.scrollTop = lead.offsetTop - holder.offsetTop - holder.clientHeight * 0.7;
    },
  };
}

function keptLines(count, marks) {
  if (count <= WHOLE) return () => true;
  const kept = new Set();
  const keep = (from, to) => {
    for (let number = Math.max(1, from); number <= Math.min(count, to); number += 1) kept.add(number);
  };
  keep(1, AROUND * 2);
  keep(count - AROUND * 2 + 1, count);
  for (const number of marks.keys()) keep(number - AROUND, number + AROUND);
  return (number) => kept.has(number);
}

function plain(line) {
  const text = line.replace(ANSI, "");
  // A progress bar overwrites its line: its last state is what was seen.
  return text.includes("\r") ? text.split("\r").filter((part) => part.trim()).at(-1) ?? "" : text;
}

function shown(line, words) {
  const text = plain(line);
  return text.length > WIDE ? [visible(text.slice(0, WIDE)), h("span", { class: "dim" }, words("cut-line", { n: text.length - WIDE }))] : visible(text);
}

/** A line with the part that is the evidence in <mark>: the text itself, or what follows its first word, or all of it. */
function marked(line, mark) {
  const text = plain(line);
  for (const wanted of mark.texts.flatMap((one) => [one, one.slice(one.indexOf(" ") + 1)])) {
    const at = wanted.length > 2 ? text.indexOf(wanted) : -1;
    if (at >= 0 && wanted.length <= WIDE) {
      const before = text.slice(Math.max(0, at - WIDE), at);
      const after = text.slice(at + wanted.length, at + wanted.length + WIDE);
      return [at > WIDE ? "… " : "", visible(before), h("mark", {}, visible(wanted)), visible(after)];
    }
  }
  const indent = /^\s*/.exec(text)[0];
  return [indent, h("mark", {}, visible(text.slice(indent.length, WIDE)))];
}

/** Bytes of a file to text: byte order marks, UTF-16 as PowerShell writes it, UTF-8, GB18030. Null where it is no text. */
export function decode(bytes) {
  const starts = (...head) => head.every((byte, at) => bytes[at] === byte);
  if (starts(0xff, 0xfe)) return new TextDecoder("utf-16le").decode(bytes);
  if (starts(0xfe, 0xff)) return new TextDecoder("utf-16be").decode(bytes);
  if (starts(0x50, 0x4b, 3, 4) || starts(0x89, 0x50, 0x4e, 0x47) || starts(0x1f, 0x8b) || starts(0x25, 0x50, 0x44, 0x46) || starts(0x80, 2) || starts(0xff, 0xd8, 0xff)) return null;
  const sample = bytes.subarray(0, 65536);
  const zeros = [0, 0];
  sample.forEach((byte, at) => { if (byte === 0) zeros[at % 2] += 1; });
  if ((zeros[0] + zeros[1]) * 3 > sample.length && sample.length > 7) {
    if (zeros[1] > 4 * zeros[0]) return new TextDecoder("utf-16le").decode(bytes);
    if (zeros[0] > 4 * zeros[1]) return new TextDecoder("utf-16be").decode(bytes);
    return null;
  }
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    const text = new TextDecoder("utf-8").decode(bytes);
    const broken = text.split("\ufffd").length - 1;
    // A cut log has a broken character or two; a file in another encoding has many.
    if (broken <= 3) return text;
    try {
      return new TextDecoder("gb18030", { fatal: true }).decode(bytes);
    } catch {
      return broken * 10 > text.length ? null : text;
    }
  }
}

/** The last `limit` bytes of a text (as UTF-8), from the beginning of a line. */
export function lastBytes(text, limit) {
  const bytes = new TextEncoder().encode(text);
  if (bytes.length <= limit) return text;
  const end = new TextDecoder("utf-8").decode(bytes.subarray(bytes.length - limit)).replace(/^\ufffd+/, "");
  const line = end.indexOf("\n");
  return line >= 0 && line < end.length - 1 ? end.slice(line + 1) : end;
}

/** How many bytes a text has as UTF-8. */
export function byteLength(text) {
  return new TextEncoder().encode(text).length;
}
