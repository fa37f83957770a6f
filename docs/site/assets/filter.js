// The list of known issues: hide the rows that do not fit. Without scripts the list is complete.
function prepare() {
  const form = document.querySelector("form.ts-filter");
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

document.addEventListener("DOMContentLoaded", prepare);
