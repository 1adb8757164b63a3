// Ctrl-K: goes to a job, a savepoint, an experiment or a page by a few letters of its name. What there is, the server's REST says.
import { element } from "./elements.js";

const MOST = 12;
const DATA = document.getElementById("tm-keys").dataset;
const pages = Object.values(JSON.parse(DATA.pages)).map(({ title, path }) => ({ kind: "page", name: title, path, words: title }));
const SOURCES = [
  ["jobs", ({ job, state }) => ({ kind: "job", name: job.name, note: state ?? "", path: `/job?job=${encodeURIComponent(job.name)}`, words: job.name })],
  ["experiments", ({ id, name, jobs }) => ({ kind: "experiment", name, note: id, path: `/experiments?experiment=${encodeURIComponent(id)}`, words: `${name} ${id} ${jobs.join(" ")}` })],
  ["savepoints", ({ id, job, label, queries }) => ({ kind: "savepoint", name: label || id, note: `${job} · batch ${queries[0].batch.toLocaleString("en")}`, path: `/savepoints?savepoint=${encodeURIComponent(id)}`, words: `${id} ${label} ${job}` })],
];

async function asked([call, entry]) {
  const answer = await fetch(`/api/v1/${call}`, { headers: { Accept: "application/json" } });
  if (!answer.ok) throw new Error(`${call}: ${answer.status}`);
  return (await answer.json()).map(entry);
}

/** Those whose words hold all that was typed; what begins with it stands first, else in the order of the list. */
export function fitting(entries, typed) {
  const parts = typed.toLowerCase().split(/\s+/).filter(Boolean);
  const first = ({ name }) => (name.toLowerCase().startsWith(parts[0] ?? "") ? 0 : 1);
  return entries.filter(({ words, kind }) => parts.every((part) => `${words} ${kind}`.toLowerCase().includes(part)))
    .sort((a, b) => first(a) - first(b)).slice(0, MOST);
}

class Switcher {
  constructor() {
    this.entries = pages;
    this.dialog = element("dialog", "tm-keys tm-switcher", document.querySelector('[data-testid="stApp"]') ?? document.body);
    this.dialog.setAttribute("aria-label", "Go to");
    this.input = element("input", "", this.dialog);
    Object.assign(this.input, { type: "text", placeholder: "Job, savepoint, experiment or page", autocomplete: "off", spellcheck: false });
    for (const [name, value] of [["role", "combobox"], ["aria-expanded", "true"], ["aria-controls", "tm-switcher-list"], ["aria-label", "Go to"]]) this.input.setAttribute(name, value);
    this.list = element("ul", "", this.dialog);
    this.list.id = "tm-switcher-list";
    this.list.setAttribute("role", "listbox");
    this.list.setAttribute("aria-label", "Matches");
    this.note = element("p", "", this.dialog);
    this.input.oninput = () => this.show();
    this.input.onkeydown = (event) => this.pressed(event);
    this.list.onclick = ({ target }) => this.go(Number(target.closest("li")?.dataset.place));
    this.dialog.addEventListener("close", () => this.dialog.remove());
    this.dialog.addEventListener("click", ({ target }) => target === this.dialog && this.dialog.close());
    this.dialog.showModal();
    this.show();
    this.load();
  }

  /** Jobs stand before all others, pages last: each list takes its place as it comes. */
  async load() {
    const lists = await Promise.allSettled(SOURCES.map(asked));
    this.entries = [...lists.flatMap(({ value }) => value ?? []), ...pages];
    this.failed = lists.filter(({ reason }) => reason).map(({ reason }) => reason.message);
    this.show();
  }

  show() {
    this.shown = fitting(this.entries, this.input.value);
    this.list.replaceChildren(...this.shown.map(({ kind, name, note }, place) => {
      const item = element("li", "");
      item.id = `tm-switcher-${place}`;
      item.dataset.place = place;
      item.setAttribute("role", "option");
      element("b", "", item, name);
      element("span", "", item, note ?? "");
      element("i", "", item, kind);
      return item;
    }));
    this.note.textContent = this.failed?.length ? `Not all could be asked: ${this.failed.join(", ")}` : this.shown.length ? "" : "Nothing fits";
    this.choose(0);
  }

  choose(place) {
    this.place = Math.max(0, Math.min(place, this.shown.length - 1));
    [...this.list.children].forEach((item, index) => item.setAttribute("aria-selected", String(index === this.place)));
    this.input.setAttribute("aria-activedescendant", this.shown.length ? `tm-switcher-${this.place}` : "");
    this.list.children[this.place]?.scrollIntoView({ block: "nearest" });
  }

  pressed(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) this.choose(this.place + step);
    else if (event.key === "Enter") this.go(this.place);
    else return;
    event.preventDefault();
  }

  go(place) {
    const chosen = this.shown[place];
    if (!chosen) return;
    const paused = new URLSearchParams(location.search).get("live") === "false";
    location.assign(chosen.path + (paused ? `${chosen.path.includes("?") ? "&" : "?"}live=false` : ""));
    this.dialog.close();
  }
}

document.addEventListener("keydown", (event) => {
  if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return;
  if (document.querySelector('[role="dialog"], dialog[open]')) return;
  event.preventDefault();
  event.stopPropagation();
  new Switcher();
}, true);
