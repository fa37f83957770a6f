// A diagnosis as elements. What is shown, in which order: verdict, why, evidence, question, fixes, what does not help, the rest.
import { announce, codeBlock, h, link, prose, visible } from "./dom.js";
import { settings } from "./client.js";

const EVIDENCE = 5; // Shown at once; the others on demand.
const LONG = 360; // Characters of an explanation shown at once.
const MARKS = { supports: "+", refutes: "−", unknown: "?" };
const LEAST = 0.045; // Other explanations below this are not worth a line.

/**
 * The diagnosis as elements. `page` has words, show(line, origin), hasLine(line), hasPage(issue), answer(about, value), feedback(issue, fix, worked).
 */
export function diagnosisView(diagnosis, page) {
  const { words } = page;
  const [first, ...rest] = diagnosis.diagnoses;
  const told = diagnosis.verdict !== "unknown" && first;
  const same = told ? rest.filter((one) => one.failure === first.failure && share(one, first) >= LEAST) : [];
  const elsewhere = told ? otherFailures(first, rest) : [];
  return [
    told ? heading(diagnosis, first, page) : unknownHeading(diagnosis, words),
    answersView(page),
    diagnosis.errors.length ? h("ul", { class: "errors warn", "aria-label": words("notes") }, diagnosis.errors.slice(0, 3).map((one) => h("li", {}, visible(one)))) : null,
    told ? why(diagnosis, first, words) : unknownWhy(diagnosis, words),
    told ? evidenceView(first.evidence, diagnosis.questions, page) : null,
    questionsView(diagnosis.questions, page),
    told ? fixesView(diagnosis, first, page) : nextView(diagnosis, words),
    told ? dontView(first, words) : null,
    diagnosis.reason === "out-of-scope" ? null : knownSetup(diagnosis.environment, words),
    told ? othersView(same, first, diagnosis, page, "others") : weakView(diagnosis, page),
    othersView(elsewhere, null, diagnosis, page, "other-failure"),
    told && first.verify ? verifyView(first, words) : null,
    told && first.references.length ? references(first, words) : null,
  ].filter(Boolean);
}

/** One sentence for the screen reader. */
export function spoken(diagnosis, words) {
  const first = diagnosis.diagnoses[0];
  if (diagnosis.verdict === "unknown" || !first) return `${words(badge(diagnosis))}. ${diagnosis.summary}`;
  return `${words(badge(diagnosis))}, ${sureness(first.confidence, words)}. ${diagnosis.summary}`;
}

function badge(diagnosis) {
  if (diagnosis.verdict === "unknown") return diagnosis.reason === "out-of-scope" ? "verdict.out-of-scope" : "verdict.unknown";
  return diagnosis.diagnoses[0]?.kind === "family" ? "verdict.family" : `verdict.${diagnosis.verdict}`;
}

function sureness(value, words) {
  return words("confidence", { word: words.sure(value), n: words.percent(value) });
}

function chance(value, words) {
  return words("percent", { n: words.percent(value) });
}

function section(key, words, ...children) {
  return h("section", { class: `part ${key.split(".")[0]}` }, h("h3", {}, words(key)), children);
}

function heading(diagnosis, first, page) {
  const { words } = page;
  const percent = words.percent(first.confidence);
  return h("header", { class: `verdict ${diagnosis.verdict}` },
    h("p", { class: "line" },
      h("strong", { class: "badge" }, words(badge(diagnosis))), " ",
      h("span", {}, sureness(first.confidence, words)), " ",
      h("span", { class: "meter", "aria-hidden": "true" }, meter(percent))),
    h("h2", { id: "found-title", tabindex: "-1" }, prose(first.title)),
    h("p", { class: "names" },
      issueLink(first.issue, first.issue, page),
      first.kind === "family" ? null : h("span", {}, ` · ${words("cause")} `, h("code", {}, first.cause),
        words.percent(first.cause_confidence) === percent ? null : ` ${chance(first.cause_confidence, words)}`)));
}

/** A bar of ten cells: its length says what the number says. */
function meter(percent) {
  return Array.from({ length: 10 }, (_, at) => h("i", { class: percent > at * 10 + 4 ? "full" : null }));
}

/** A link to the page of an issue, or only its text where it has none. */
function issueLink(issue, content, page) {
  if (!page.hasPage(issue)) return h("span", {}, content);
  const address = `${settings.root}/issues/${issue.split("/").map(encodeURIComponent).join("/")}?lang=${page.words.language}`;
  return h("a", { href: address, title: page.words("read-entry") }, content);
}

function unknownHeading(diagnosis, words) {
  return h("header", { class: `verdict ${diagnosis.reason === "out-of-scope" ? "aside" : "unknown"}` },
    h("p", { class: "line" }, h("strong", { class: "badge" }, words(badge(diagnosis)))),
    h("h2", { id: "found-title", tabindex: "-1" }, prose(diagnosis.summary)));
}

function why(diagnosis, first, words) {
  const family = first.kind === "family";
  const failure = diagnosis.failures[first.failure];
  const victims = diagnosis.failures.filter((one) => one.role !== "cause").length;
  const circumstances = [
    failure?.count > 1 ? words("count", { n: failure.count }) : "",
    failure?.ranks.length ? words("ranks", { ranks: failure.ranks.slice(0, 8).join(", ") + (failure.ranks.length > 8 ? ", …" : "") }) : "",
    victims && victims < diagnosis.failures.length ? words(victims === 1 ? "victim" : "victims", { n: victims }) : "",
  ].filter(Boolean).join(" ");
  return h("div", { class: "why" },
    family ? h("p", { class: "cause" }, h("strong", {}, words("likeliest", { n: words.percent(first.cause_confidence) })), " ", prose(first.note || first.title), " ", h("code", {}, first.cause)) : null,
    !family && first.note ? h("p", {}, prose(first.note)) : null,
    explanation(first.explanation, words),
    first.impact !== "error" && words.has(`impact.${first.impact}`) ? h("p", { class: "warn" }, words(`impact.${first.impact}`)) : null,
    circumstances ? h("p", { class: "dim" }, circumstances) : null);
}

/** The explanation in paragraphs; a long one opens with its first sentences. */
function explanation(text, words) {
  const paragraphs = text.split(/\n\s*\n/).map((one) => flow(one, words)).filter(Boolean);
  const whole = paragraphs.join(" ");
  const limit = words.language === "zh" ? LONG / 2 : LONG;
  if (whole.length <= limit * 1.3) return paragraphs.map((one) => h("p", {}, prose(one)));
  const short = firstSentences(whole, limit);
  const holder = h("p", {}, prose(short), " ");
  const button = h("button", { type: "button", class: "more", "aria-expanded": "false" }, words("more"));
  let open = false;
  button.addEventListener("click", () => {
    open = !open;
    holder.replaceChildren(...h("p", {}, prose(open ? whole : short), " ").childNodes, button);
    button.textContent = words(open ? "less" : "more");
    button.setAttribute("aria-expanded", String(open));
    button.focus();
  });
  holder.append(button);
  return holder;
}

/** Lines as one paragraph; Chinese has no blanks around its own characters. */
function flow(text, words) {
  const line = text.split(/\s+/).filter(Boolean).join(" ");
  if (words.language !== "zh") return line;
  return line.replace(/(?<=[\u3000-\u303f\uff00-\uff65])\s+|\s+(?=[\u3000-\u303f\uff00-\uff65])|(?<=[\u4e00-\u9fff])\s+(?=[\u4e00-\u9fff])/g, "");
}

function firstSentences(text, limit) {
  let kept = "";
  for (const sentence of text.split(/(?<=[.!?] )(?=[A-Z`"'(])|(?<=[。！？])/)) {
    if (kept && kept.length + sentence.length > limit) break;
    kept += sentence;
  }
  return kept.trim();
}

function evidenceView(evidence, questions, page) {
  const { words } = page;
  // What is not known and asked for stands in the question.
  const items = distinct(evidence).filter((item) => item.state !== "unknown" || !questions.some((one) => item.text.includes(one.about)));
  if (!items.length) return null;
  const list = h("ul", { class: "evidence-list" }, items.slice(0, EVIDENCE).map((item) => evidenceItem(item, page)));
  const left = items.slice(EVIDENCE);
  const more = left.length
    ? h("button", { type: "button", class: "more", onclick: (event) => {
      const fresh = left.map((item) => evidenceItem(item, page));
      list.append(...fresh);
      event.target.remove();
      (fresh[0].querySelector("button") ?? fresh[0]).focus();
    } }, words("more-evidence", { n: left.length }))
    : null;
  return section("evidence", words, list, more);
}

/** Evidence without repetitions: of two texts on a line, one inside the other, the longer is enough. */
function distinct(evidence) {
  return evidence.filter((item, at) => !evidence.some((other, there) =>
    other.state === item.state && other.line === item.line && there !== at
    && other.text.includes(item.text) && (other.text.length > item.text.length || there < at)));
}

function evidenceItem(item, page) {
  const { words } = page;
  const content = [
    h("span", { class: `sign ${item.state}`, "aria-hidden": "true" }, MARKS[item.state]),
    h("span", { class: "unseen" }, `${words(item.state)}: `),
    h("span", { class: item.kind === "message" ? "quote" : null }, visible(item.text)),
  ];
  if (item.line === null || !page.hasLine(item.line)) {
    return h("li", {}, h("span", { class: "item" }, content, h("span", { class: "where" }, where(item, page))));
  }
  const button = h("button", { type: "button", class: "item", title: words("to-line", { n: item.line }) }, content,
    h("span", { class: "where" }, words("line", { n: item.line })));
  button.addEventListener("click", () => page.show(item.line, button));
  return h("li", {}, button);
}

/** Where evidence comes from that is on no line of the report: the reader's answer, or nowhere that could be named. */
function where(item, page) {
  if (item.line !== null) return page.words("line", { n: item.line });
  return Object.keys(page.answers).some((about) => about.split(".").at(-1) === item.text.split(" ")[0]) ? page.words("source.answer") : null;
}

function answersView(page) {
  const { words, answers } = page;
  const given = Object.entries(answers);
  if (!given.length) return null;
  return h("div", { class: "answers" }, h("span", { class: "dim", id: "answers-title" }, words("answers")),
    h("ul", { "aria-labelledby": "answers-title" }, given.map(([about, value]) => {
      const name = `${about === "gpu" ? words("gpu") : about.replace(/^package\./, "")}: ${words.has(value) ? words(value) : value}`;
      return h("li", { class: "chip" }, visible(name),
        h("button", { type: "button", "aria-label": words("remove", { name }), onclick: () => page.answer(about, null) }, "×"));
    })));
}

function questionsView(questions, page) {
  const { words } = page;
  if (!questions.length) return null;
  const [first, ...others] = questions.map((one, number) => questionView(one, `question-${number}`, page));
  return section("ask", words, first, others.length
    ? h("details", {}, h("summary", {}, words(others.length === 1 ? "ask.more-one" : "ask.more", { n: others.length })), others)
    : null);
}

function questionView(question, id, page) {
  const { words } = page;
  const field = h("input", { id: `${id}-other`, maxlength: "80", autocomplete: "off", "aria-describedby": id });
  const other = h("form", { class: "other" },
    h("label", { for: `${id}-other` }, question.answers.length ? words("ask.other") : visible(question.about.replace(/^package\./, ""))),
    field, h("button", { type: "submit" }, words("ask.answer")));
  other.addEventListener("submit", (event) => {
    event.preventDefault();
    if (field.value.trim()) page.answer(question.about, field.value.trim());
    else field.focus();
  });
  const closed = question.answers.length > 0 && question.answers.every((value) => ["present", "absent", "on", "off"].includes(value));
  return h("div", { class: "question", role: "group", "aria-labelledby": id },
    h("p", { id }, prose(question.ask)),
    h("div", { class: "options" },
      question.answers.map((value) => h("button", { type: "button", class: "option", onclick: () => page.answer(question.about, value) },
        words.has(value) ? words(value) : visible(value))),
      closed ? null : other));
}

function fixesView(diagnosis, issue, page) {
  const { words } = page;
  const fixes = issue.fixes.filter((fix) => fix.fits !== false && fix.expected !== "fails");
  if (!fixes.length) return section("fixes", words, h("p", { class: "warn" }, words(issue.fixes.length ? "no-fix" : "no-fix-at-all")));
  const gpu = fixes.some((fix) => fix.seen.some((run) => run.device !== "cpu"));
  const runs = fixes.flatMap((fix) => fix.seen);
  const one = new Set(runs.map((run) => JSON.stringify([run.versions, run.date]))).size === 1 ? runs[0] : null;
  return section("fixes", words, fixes.length > 1 ? h("p", { class: "dim order" }, words("fixes.order")) : null,
    h("ol", { class: "fix-list" }, fixes.map((fix) => fixView(fix, issue, page, !one))),
    h("p", { class: "dim" }, one ? [words("seen.all", { versions: versionsOf(one, words), date: one.date }), " "] : null,
      runs.length && gpu ? null : words(runs.length ? "seen.no-gpu" : "seen.none")));
}

function fixView(fix, issue, page, versions) {
  const { words } = page;
  const said = new Set([fix.title]);
  const once = (text) => text && !said.has(text) && said.add(text) && ![...said].some((one) => one !== text && one.includes(text));
  return h("li", { class: "fix" },
    h("h4", {}, prose(fix.title), " ", h("span", { class: `tag ${fix.applicability}` }, words.has(fix.applicability) ? words(fix.applicability) : fix.applicability)),
    fix.command ? codeBlock(fix.command, words, fix.title) : null,
    fix.code ? codeBlock(fix.code, words, fix.title) : null,
    fix.fits === null && once(fix.why) ? h("p", { class: "warn" }, prose(undecided(fix.why, words))) : null,
    once(fix.reason) ? h("p", {}, prose(flow(fix.reason, words))) : null,
    once(fix.warning) ? h("p", { class: "warn" }, h("strong", {}, `${words("price")}: `), prose(fix.warning)) : null,
    fix.fits === true && once(fix.why) ? h("p", { class: "dim" }, prose(fix.why)) : null,
    fix.seen.slice(0, 2).map((one) => seenView(one, words, versions)),
    settings.feedback ? feedbackView(fix, issue, page) : null);
}

/** "if the GPU has ..." becomes "Fits if the GPU has ..."; anything else is what cannot be told. */
function undecided(why, words) {
  if (why.startsWith("if it fits: ")) return words("undecided", { why: why.slice(12) });
  return why.startsWith("if ") ? words("fits-if", { why: why.slice(3) }) : words("undecided", { why });
}

/** A run of a fix: its outcome and where; the versions unless all runs have the same, which are told once. */
function seenView(run, words, versions) {
  const good = run.outcome === "works";
  const where = run.device === "cpu" ? words("seen.cpu") : [run.device, run.capability].filter(Boolean).join(" ");
  return h("p", { class: `seen ${good ? "good" : "bad"}` }, h("span", { "aria-hidden": "true" }, good ? "✓ " : "✗ "),
    words.has(`seen.${run.outcome}`) ? words(`seen.${run.outcome}`) : words("seen.other", { outcome: run.outcome }), " ",
    h("span", { class: "dim" }, versions ? words("seen.on", { where, versions: versionsOf(run, words), date: run.date }) : words("seen.at", { where })));
}

function versionsOf(run, words) {
  return words.list(Object.entries(run.versions).map(([name, version]) => `${name} ${version}`));
}

function feedbackView(fix, issue, page) {
  const { words } = page;
  const holder = h("div", { class: "feedback", role: "group", "aria-label": `${words("did-it")} ${fix.title}` }, h("span", { class: "dim" }, words("did-it")));
  const button = (worked) => h("button", { type: "button", class: "quiet", onclick: async () => {
    try {
      await page.feedback(issue.issue, fix.id, worked);
      const thanks = h("span", { class: "good", tabindex: "-1" }, words(worked ? "thanks.worked" : "thanks.did-not"));
      holder.replaceChildren(thanks);
      thanks.focus();
      announce(thanks.textContent);
    } catch (error) {
      holder.querySelector(".bad")?.remove();
      holder.append(h("span", { class: "bad", role: "alert" }, words("feedback-failed", { why: page.told(error) })));
    }
  } }, words(worked ? "worked" : "did-not"));
  holder.append(button(true), button(false));
  return holder;
}

function dontView(issue, words) {
  const wrong = issue.fixes.filter((fix) => fix.fits === false || fix.expected === "fails");
  if (!wrong.length) return null;
  return section("dont", words, h("ul", { class: "dont-list" }, wrong.map((fix) => {
    const fails = fix.expected === "fails";
    const reason = fails ? fix.reason : fix.why;
    return h("li", {}, h("strong", {}, prose(fix.title)), " ", h("span", { class: "tag bad" }, words(fails ? "dont.fails" : "dont.unfit")),
      reason ? h("p", {}, prose(flow(reason, words))) : null);
  })));
}

function knownSetup(environment, words) {
  const from = (source) => (words.has(`source.${source}`) ? words(`source.${source}`) : source);
  const packages = Object.entries(environment.packages).filter(([, one]) => one.version !== "");
  const first = ["torch", "transformers", "accelerate", "diffusers", "peft", "bitsandbytes", "apex"];
  const weight = ([name]) => (first.includes(name) ? first.indexOf(name) : first.length);
  packages.sort((one, other) => weight(one) - weight(other));
  const items = [
    ...environment.accelerators.map((one) => [
      words.list([one.count > 1 ? `${one.count} × ${one.name}` : one.name, one.memory_gib && !one.name.includes(`${one.memory_gib}G`) ? words("memory", { n: one.memory_gib }) : "",
        one.capability ? words("capability", { n: one.capability }) : ""].filter(Boolean)), from(one.source)]),
    ...packages.slice(0, 10).map(([name, one]) => [`${name} ${one.version ?? words("absent")}`, from(one.source)]),
    ...(environment.python ? [[`Python ${environment.python}`, from("report")]] : []),
  ];
  return section("known-setup", words, items.length
    ? h("ul", { class: "facts" }, items.map(([text, source]) => h("li", {}, visible(text), " ", h("span", { class: "dim" }, source))))
    : h("p", { class: "dim" }, words("nothing-known")));
}

function share(other, shown) {
  return other.issue === shown.issue ? other.cause_confidence : other.confidence;
}

function otherFailures(first, rest) {
  const seen = new Set([first.failure]);
  return rest.filter((one) => one.failure !== null && !seen.has(one.failure) && seen.add(one.failure));
}

function othersView(others, shown, diagnosis, page, key) {
  const { words } = page;
  if (!others.length) return null;
  return section(key, words, others.slice(0, 4).map((one) => {
    const same = shown && one.issue === shown.issue;
    const probability = shown ? share(one, shown) : one.confidence;
    return h("details", { class: "other-issue" },
      h("summary", {}, h("span", { class: "percent" }, chance(probability, words)), " ", prose(same ? one.note || one.title : one.title), " ",
        h("code", {}, same ? one.cause : one.issue)),
      same ? null : explanation(one.explanation, words),
      fixesView(diagnosis, one, page),
      dontView(one, words),
      same || !page.hasPage(one.issue) ? null : h("p", {}, issueLink(one.issue, words("read-entry"), page)));
  }));
}

function weakView(diagnosis, page) {
  const { words } = page;
  const weak = diagnosis.diagnoses.slice(0, 3);
  if (!weak.length || diagnosis.reason === "out-of-scope") return null;
  return section("weak", words, h("ul", {}, weak.map((one) => h("li", {}, issueLink(one.issue, prose(one.title), page), ` ${chance(one.confidence, words)}`))));
}

function unknownWhy(diagnosis, words) {
  const failure = diagnosis.failures.find((one) => one.role === "cause") ?? diagnosis.failures[0];
  const library = failure?.place.library;
  return h("div", { class: "why" },
    failure ? [h("p", { class: "dim" }, words("first")), h("pre", { class: "quote", tabindex: "0", role: "group", "aria-label": words("first") }, visible(`${failure.exception ?? ""}${failure.exception && failure.message ? ": " : ""}${failure.message}`.slice(0, 600))),
      h("p", { class: "dim" }, [failure.place.user ? [`${words("in-yours")} `, h("code", {}, visible(failure.place.user))] : null,
        failure.place.user && library ? " · " : null, library ? [`${words("in-library")} `, h("code", {}, visible(library))] : null])] : null,
    h("p", {}, words(`reason.${diagnosis.reason ?? "none"}`)));
}

function nextView(diagnosis, words) {
  const failure = diagnosis.failures.find((one) => one.role === "cause");
  const library = failure?.place.library?.split("/")[0] || "torch";
  if (diagnosis.reason === "out-of-scope") return section("next", words, h("p", {}, words("next.out-of-scope")));
  if (diagnosis.reason === "no-failure") return section("next", words, h("p", {}, prose(words("next.no-failure"))));
  return section("next", words,
    diagnosis.questions.length ? h("p", {}, words("next.answer")) : null,
    diagnosis.reason === "too-little"
      ? [h("p", {}, prose(words("next.too-little"))), h("p", {}, prose(words("next.too-little.2"))), codeBlock(settings.probe, words, words("collect"))]
      : [h("p", {}, prose(words("next.no-entry", { package: library }))), h("p", {}, words("next.no-entry.2")), codeBlock(settings.probe, words, words("collect"))]);
}

function verifyView(issue, words) {
  return section("verify", words, h("p", { class: "dim" }, words("verify.text")), codeBlock(issue.verify, words, words("verify.command")));
}

function references(issue, words) {
  return section("references", words, h("ul", { class: "references-list" }, issue.references.map((url) => h("li", {}, link(url, visible(url.replace(/^https?:\/\//, "")))))));
}
