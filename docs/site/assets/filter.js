// The list of known issues: hide the rows that do not fit. Without scripts the list is complete.
function prepare() {
  const form = document.querySelector("form.ts-filter:not(.ts-find)");
  if (!form || form.dataset.ready) return;
  form.dataset.ready = "1";
  form.hidden = false;
  const rows = [...document.querySelectorAll(".ts-row")];
  const nothing = document.querySelector(".ts-nothing");
  const fields = ["words", "cause", "package", "impact", "verified"];

  function value(name) {
    const field = form.elements[name];
    return field.type === "checkbox" ? (field.checked ? "1" : "") : field.value;
  }

  function apply() {
    const words = value("words").toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const data = row.dataset;
      const fits =
        words.every((word) => data.words.includes(word)) &&
        (!value("cause") || data.cause.split(" ").includes(value("cause"))) &&
        (!value("package") || data.package === value("package")) &&
        (!value("impact") || data.impact === value("impact")) &&
        (!value("verified") || data.verified === "1");
      row.hidden = !fits;
      shown += fits;
    }
    form.querySelector("output b").textContent = shown;
    nothing.hidden = shown > 0;
    // The address keeps the filter, so that it can be shared.
    const query = new URLSearchParams(fields.filter((name) => value(name)).map((name) => [name, value(name)])).toString();
    history.replaceState(null, "", query ? `?${query}` : location.pathname);
  }

  const given = new URLSearchParams(location.search);
  for (const name of fields) {
    const field = form.elements[name];
    if (!given.has(name)) continue;
    if (field.type === "checkbox") field.checked = true;
    else field.value = given.get(name);
  }
  form.addEventListener("input", apply);
  form.addEventListener("submit", (event) => event.preventDefault());
  apply();
}

// The table of GPUs: show the rows whose cards have the name, and that name. A whole word counts before the beginning of one.
function prepareFinder() {
  const form = document.querySelector("form.ts-find");
  if (!form || form.dataset.ready) return;
  form.dataset.ready = "1";
  form.hidden = false;
  const field = form.elements.gpu;
  const nothing = document.querySelector(".ts-nothing");
  const rows = [...document.querySelectorAll(".ts-devices tbody tr")].map((row) => ({
    row,
    place: row.querySelector(".ts-names"),
    names: row.querySelector(".ts-names").textContent.split(", "),
  }));
  const split = (text) => text.toLowerCase().replace(/([a-z])(?=\d{3})|(\d{3,})(?=[a-z])/g, "$1$2 ").split(/[^a-z0-9.]+/).filter(Boolean);

  function found(wanted, fits) {
    return rows.map(({ names }) => names.filter((name) => wanted.every((word) => split(name).some((part) => fits(part, word)))));
  }

  function apply() {
    const wanted = split(field.value);
    let hits = found(wanted, (part, word) => part === word);
    if (!hits.some((names) => names.length)) hits = found(wanted, (part, word) => part.startsWith(word));
    rows.forEach(({ row, place }, at) => {
      row.hidden = wanted.length > 0 && !hits[at].length;
      place.classList.toggle("ts-found", wanted.length > 0);
      place.textContent = (wanted.length ? hits[at] : rows[at].names).join(", ");
    });
    nothing.hidden = !wanted.length || hits.some((names) => names.length);
    history.replaceState(null, "", field.value ? `?gpu=${encodeURIComponent(field.value)}` : location.pathname + location.hash);
  }

  field.value = new URLSearchParams(location.search).get("gpu") || "";
  form.addEventListener("input", apply);
  form.addEventListener("submit", (event) => event.preventDefault());
  if (field.value) apply();
}

document.addEventListener("DOMContentLoaded", prepare);
document.addEventListener("DOMContentLoaded", prepareFinder);
