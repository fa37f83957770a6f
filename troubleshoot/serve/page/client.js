// Talking to the server. What can go wrong has a kind, and the page says it in words.

export const settings = JSON.parse(document.body.dataset.settings);

let token = null;

/** Use this token from now on; it is kept in memory only. */
export function useToken(value) {
  token = value || null;
}

/** A request that was not answered: `kind` is offline, slow, too-large, busy, token, input or server. */
export class Refusal extends Error {
  constructor(kind, detail = "", after = null) {
    super(detail || kind);
    this.kind = kind;
    this.detail = detail;
    this.after = after;
  }
}

const KINDS = { 401: "token", 403: "token", 413: "too-large", 429: "busy", 503: "busy", 504: "slow" };
const PATIENCE = 60_000;

/** Send JSON, return JSON. Raises Refusal. */
export function post(path, body, signal) {
  return request(path, { method: "POST", body: JSON.stringify(body) }, signal);
}

async function request(path, what, signal) {
  const control = new AbortController();
  const stop = () => control.abort();
  signal?.addEventListener("abort", stop);
  let late = false;
  const clock = setTimeout(() => { late = true; stop(); }, PATIENCE);
  let response;
  try {
    response = await fetch(`${settings.root}${path}`, {
      ...what,
      headers: { "Content-Type": "application/json", Accept: "application/json", ...(token ? { Authorization: `Bearer ${token}` } : {}) },
      signal: control.signal,
      credentials: "same-origin",
      cache: "no-store",
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Refusal(late ? "slow" : "offline");
  } finally {
    clearTimeout(clock);
    signal?.removeEventListener("abort", stop);
  }
  if (response.ok) {
    try {
      return response.status === 204 ? null : await response.json();
    } catch {
      throw new Refusal("server");
    }
  }
  const after = Number.parseInt(response.headers.get("Retry-After") ?? "", 10);
  const kind = KINDS[response.status] ?? (response.status < 500 ? "input" : "server");
  throw new Refusal(kind, await detail(response), Number.isFinite(after) ? after : null);
}

async function detail(response) {
  try {
    const data = await response.json();
    const said = data.detail ?? data.error ?? data.message;
    if (Array.isArray(said)) return said.map((one) => one.msg ?? "").filter(Boolean).join("; ");
    return typeof said === "string" ? said : said?.message ?? "";
  } catch {
    return "";
  }
}
