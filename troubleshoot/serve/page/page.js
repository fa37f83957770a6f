// The page to paste a report into: what the reader gives on one side, what was found on the other.
import { remember, remembered, themeButton } from "./appearance.js";
import { post, Refusal, settings, useToken } from "./client.js";
import { announce, h, prose, visible } from "./dom.js";
import { article, chips, listen } from "./found.js";
import { byteLength, decode, lastBytes, linesOf, markedReport } from "./report.js";
import { wordsOf } from "./words.js";

const EXAMPLES = ["blip2", "t5", "multinomial", "black"];
const ENVELOPE = 8192; // Bytes that a request has beside the report: answers, names of fields.

const at = (id) => document.getElementById(id);
const text = at("text");
const marked = at("marked");
const found = at("found");
const problem = at("problem");
const fields = [...document.querySelectorAll("[data-about]")];

let words = wordsOf(chosenLanguage());
let report = ""; // As it was pasted or read, carriage returns included; a textarea would lose them.
let answers = {};
let diagnosis = null; // What the server found: html, spoken, marks, known; `of` is the report that it is of.
let marks = null;
let sending = null;
let dropped = null; // What "Undo" brings back after "New report".

function chosenLanguage() {
  const kept = remembered("language");
  if (kept === "en" || kept === "zh") return kept;
  return navigator.language?.toLowerCase().startsWith("zh") ? "zh" : "en";
}

// ---- words, language, colours

function speak() {
  document.documentElement.lang = words.language === "zh" ? "zh-CN" : "en";
  document.title = `troubleshoot: ${words("tagline")}`;
  for (const element of document.querySelectorAll("[data-t]")) element.textContent = words(element.dataset.t);
  for (const element of document.querySelectorAll("[data-t-placeholder]")) element.placeholder = words(element.dataset.tPlaceholder);
  for (const element of document.querySelectorAll("[data-t-label]")) element.setAttribute("aria-label", words(element.dataset.tLabel));
  const other = words.language === "zh" ? "en" : "zh";
  at("language").textContent = other === "zh" ? "中文" : "English";
  at("language").lang = other === "zh" ? "zh-CN" : "en";
  at("limit").textContent = words("limit", { size: words.size(settings.limit) });
  at("versions").href = `${settings.root}/issues?lang=${words.language}`;
  at("versions").textContent = words("versions", { tool: settings.tool, count: settings.count });
  showSize();
}

const labelTheme = themeButton(at("theme"), () => words);

at("language").addEventListener("click", () => {
  words = wordsOf(words.language === "zh" ? "en" : "zh");
  remember("language", words.language);
  speak();
  labelTheme();
  problem.replaceChildren();
  if (diagnosis) run({ focus: false });
  else showWelcome();
});

// ---- the report

function setReport(value, { edit = true } = {}) {
  report = value;
  text.value = value;
  if (edit) showEditor();
  at("clear").hidden = !report;
  showSize();
  stale();
}

function showSize() {
  const count = report ? linesOf(report).length : 0;
  at("size").textContent = report ? words(count === 1 ? "size-one" : "size", { lines: count, size: words.size(byteLength(report)) }) : "";
  at("size").classList.toggle("bad", tooLarge());
}

function tooLarge() {
  return byteLength(JSON.stringify(report)) + ENVELOPE > settings.limit;
}

/** The end of a text that fits into a request. */
function fittingEnd(value) {
  let room = settings.limit - ENVELOPE;
  let end = lastBytes(value, room);
  while (room > 1000 && byteLength(JSON.stringify(end)) + ENVELOPE > settings.limit) {
    room = Math.floor(room * 0.8);
    end = lastBytes(value, room);
  }
  return end;
}

function showEditor() {
  marked.hidden = true;
  text.hidden = false;
  at("edit").hidden = true;
}

function showMarked() {
  marks = markedReport(marked, report, new Map(diagnosis.marks.map((one) => [one.line, one])), words);
  marked.hidden = false;
  text.hidden = true;
  at("edit").hidden = false;
  marks.lead();
}

text.addEventListener("input", () => {
  report = text.value;
  at("clear").hidden = !report;
  showSize();
  stale();
});
at("edit").addEventListener("click", () => {
  showEditor();
  text.focus();
});
at("clear").addEventListener("click", () => {
  dropped = { report, answers, values: fields.map((field) => field.value) };
  sending?.abort();
  diagnosis = null;
  answers = {};
  for (const field of fields) field.value = "";
  setReport("");
  showWelcome();
  tell(words("told.cleared"), { label: words("undo"), act: restore }, "calm");
  text.focus();
});

function restore() {
  if (!dropped) return;
  answers = dropped.answers;
  fields.forEach((field, number) => { field.value = dropped.values[number]; });
  setReport(dropped.report);
  dropped = null;
  problem.replaceChildren();
  text.focus();
}

function stale() {
  found.classList.toggle("stale", Boolean(diagnosis) && (report !== diagnosis.of || fields.some((field) => field.value.trim() !== (answers[field.dataset.about] ?? ""))));
}

// ---- files

at("open").addEventListener("click", () => at("file").click());
at("file").addEventListener("change", () => {
  const [file] = at("file").files;
  if (file) take(file);
  at("file").value = "";
});

async function take(file) {
  problem.replaceChildren();
  if (file.type.startsWith("image/")) return tell(words("problem.image"));
  if (file.size > settings.limit - ENVELOPE) {
    return tell(words("problem.file-large", { name: file.name, size: words.size(file.size), limit: words.size(settings.limit) }),
      { label: words("problem.take-end", { limit: words.size(settings.limit) }), act: () => takeEnd(file) });
  }
  return load(file.name, new Uint8Array(await file.arrayBuffer()));
}

async function takeEnd(file) {
  // An even start keeps the two bytes of a UTF-16 character together.
  const from = (file.size - settings.limit) & ~1;
  const value = decode(new Uint8Array(await file.slice(Math.max(0, from)).arrayBuffer()));
  if (value === null) return tell(words("problem.binary", { name: file.name }));
  const end = fittingEnd(value);
  setReport(end);
  tell(words("problem.taken-end", { name: file.name, size: words.size(byteLength(end)) }), null, "calm");
  return run();
}

function load(name, bytes) {
  const value = decode(bytes);
  if (value === null) return tell(words("problem.binary", { name }));
  setReport(value);
  announce(words("told.loaded", { name, lines: linesOf(value).length }));
  return run();
}

document.addEventListener("dragover", (event) => {
  if (![...event.dataTransfer.types].includes("Files")) return;
  event.preventDefault();
  document.body.classList.add("dropping");
});
document.addEventListener("dragleave", (event) => {
  if (!event.relatedTarget) document.body.classList.remove("dropping");
});
document.addEventListener("drop", (event) => {
  document.body.classList.remove("dropping");
  const [file] = event.dataTransfer.files;
  if (!file) return;
  event.preventDefault();
  take(file);
});
text.addEventListener("paste", (event) => {
  const files = [...event.clipboardData.files];
  if (!files.length || event.clipboardData.getData("text/plain")) return;
  event.preventDefault();
  take(files[0]);
});

// ---- diagnosing

at("form").addEventListener("submit", (event) => {
  event.preventDefault();
  dropped = null;
  run();
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    run();
  }
});
for (const field of fields) {
  field.addEventListener("input", stale);
  field.addEventListener("change", () => {
    if (diagnosis && found.classList.contains("stale")) run({ focus: false });
  });
  // Enter in a field submits the form; the change event has then already done it.
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.ctrlKey && !event.metaKey && diagnosis) {
      event.preventDefault();
      field.blur();
      field.focus();
    }
  });
}

/** Answer a question, or take an answer back (null), and diagnose again. */
function answer(about, value) {
  const field = fields.find((one) => one.dataset.about === about);
  if (field) field.value = value ?? "";
  if (value === null) delete answers[about];
  else answers[about] = value;
  run({ answered: true });
}

/** Send what is there. The result gets the focus where the reader asked for it. */
async function run({ focus = true, answered = false } = {}) {
  problem.replaceChildren();
  if (!report.trim()) {
    tell(words("problem.empty"));
    showEditor();
    text.focus();
    return;
  }
  if (tooLarge()) {
    tell(words("problem.too-large", { size: words.size(byteLength(report)), limit: words.size(settings.limit) }), keepEnd());
    return;
  }
  for (const field of fields) {
    if (field.value.trim()) answers[field.dataset.about] = field.value.trim();
    else delete answers[field.dataset.about];
  }
  sending?.abort();
  const own = sending = new AbortController();
  const asked = { report, language: words.language, answers: { ...answers } };
  const slow = setTimeout(() => busy(true), 250);
  try {
    const answer = await post("/page/diagnose", asked, own.signal);
    if (own !== sending) return;
    diagnosis = answer;
    diagnosis.of = asked.report;
    showMarked();
    showFound();
    stale();
    announce(answered ? words("told.answered", { what: diagnosis.spoken }) : diagnosis.spoken);
    if (focus) {
      const title = at("found-title");
      title.focus({ preventScroll: true });
      if (matchMedia("(max-width: 62rem)").matches) found.scrollIntoView({ block: "start" });
      else found.scrollTop = 0;
    }
  } catch (error) {
    if (own !== sending || error.name === "AbortError") return;
    if (!(error instanceof Refusal)) throw error;
    refuse(error);
  } finally {
    clearTimeout(slow);
    if (own === sending) busy(false);
  }
}

function busy(yes) {
  at("send").textContent = words(yes ? "diagnosing" : "diagnose");
  found.setAttribute("aria-busy", String(yes));
}

function keepEnd() {
  return { label: words("problem.keep-end", { limit: words.size(settings.limit) }), act: () => {
    setReport(fittingEnd(report));
    run();
  } };
}

// ---- what goes wrong

/** Say what is wrong, with one thing to do about it; `kind` is "calm" where nothing is. */
function tell(message, action = null, kind = "wrong") {
  problem.replaceChildren(h("div", { class: `problem ${kind}` }, h("p", {}, visible(message)),
    action ? h("button", { type: "button", onclick: action.act }, action.label) : null));
  if (problem.getBoundingClientRect().top < 0) problem.scrollIntoView({ block: "center" });
}

function told(error) {
  if (!(error instanceof Refusal)) return String(error);
  if (error.kind === "too-large") return words("problem.refused-size");
  if (error.kind === "busy") return error.after ? words("problem.busy-after", { n: error.after }) : words("problem.busy");
  if (error.kind === "input") return words("problem.input", { why: error.detail || "400" });
  return words(`problem.${error.kind}`);
}

function refuse(error) {
  if (error.kind === "token") {
    askToken();
    return;
  }
  const again = { label: words("again"), act: () => run() };
  tell(told(error), error.kind === "too-large" ? null : error.kind === "input" ? null : again);
}

function askToken() {
  const field = h("input", { type: "password", id: "token", autocomplete: "off" });
  const form = h("form", { class: "problem" }, h("p", {}, words("problem.token")), h("label", { for: "token" }, words("token")), " ", field, " ",
    h("button", { type: "submit" }, words("use-token")));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    useToken(field.value.trim());
    run();
  });
  // Not inside the report's own form.
  problem.replaceChildren();
  at("token-holder")?.remove();
  at("form").before(h("div", { id: "token-holder", role: "alert" }, form));
  field.focus();
}

// ---- what was found

function showFound() {
  at("token-holder")?.remove();
  found.replaceChildren(h("p", { class: "changed" }, words("changed")), ...[chips(answers, words, answer)].filter(Boolean), article(diagnosis.html));
  fields.forEach((field) => {
    const value = diagnosis.known[field.dataset.about];
    field.placeholder = value ? words("from-report", { value }) : "";
  });
}

listen(found, {
  words: () => words,
  answer,
  told,
  show: (line, origin) => {
    if (marked.hidden) showMarked();
    marks.show(line, origin);
  },
  feedback: (issue, fix, worked) => post("/v1/feedback", { issue, fix, worked, ...(settings.stored ? { report: diagnosis.of.slice(0, 200_000) } : {}) }),
});

function showWelcome() {
  found.classList.remove("stale");
  fields.forEach((field) => { field.placeholder = ""; });
  const list = (keys) => h("ul", {}, keys.map((key) => h("li", {}, prose(words(key)))));
  found.replaceChildren(
    h("header", { class: "welcome" }, h("h2", { id: "found-title", tabindex: "-1" }, words("welcome")), h("p", {}, words("welcome.lead"))),
    h("section", { class: "part" }, h("h3", {}, words("welcome.examples")),
      h("div", { class: "examples" }, EXAMPLES.map((name) => h("button", { type: "button", class: "example", onclick: () => tryExample(name) },
        h("strong", {}, words(`example.${name}`)), h("span", {}, words(`example.${name}.about`)))))),
    h("section", { class: "part" }, h("h3", {}, words("welcome.paste")), list(["welcome.paste.1", "welcome.paste.2", "welcome.paste.3"])),
    h("section", { class: "part" }, h("h3", {}, words("welcome.privacy")),
      h("p", {}, settings.reader ? words("welcome.privacy.reader", { model: settings.reader }) : words("welcome.privacy.text"), " ", words(settings.stored ? "welcome.stored" : "welcome.not-stored"))));
}

async function tryExample(name) {
  const file = name === "black" ? `black-${words.language}` : name;
  try {
    const response = await fetch(`${settings.root}/page/examples/${file}.txt`);
    if (!response.ok) throw new Error(String(response.status));
    setReport(await response.text());
  } catch {
    tell(words("problem.offline"), { label: words("again"), act: () => tryExample(name) });
    return;
  }
  answers = {};
  for (const field of fields) field.value = "";
  run();
}

// ---- the rest

// Everything that is closed on the screen is open on paper.
let closed = [];
addEventListener("beforeprint", () => {
  closed = [...document.querySelectorAll("details:not([open])")];
  for (const one of closed) one.open = true;
});
addEventListener("afterprint", () => {
  for (const one of closed) one.open = false;
});

/** `#transformers/some-issue` leads to the page of that issue; whatever else a hash says is not looked at. */
function followHash() {
  const match = /^#(?:issue=)?([a-z0-9][a-z0-9_.-]{0,60}\/[a-z0-9][a-z0-9_.-]{0,100})$/i.exec(location.hash);
  if (match) location.replace(`${settings.root}/issues/${match[1]}?lang=${words.language}`);
}
addEventListener("hashchange", followHash);
followHash();

speak();
showWelcome();
