// Keys for people who live on these pages, and the list of them. Nothing here while somebody types, or has a dialog before them.
import { element } from "./elements.js";

const PATIENCE_MS = 1500;
const TYPING = 'input:not([type="checkbox"]):not([type="radio"]), textarea, select, [contenteditable="true"], [role="textbox"], [role="combobox"], [role="listbox"], .cm-editor';
const pages = JSON.parse(document.getElementById("tm-keys").dataset.pages);
const filter = () => document.querySelector('[class*="st-key-"][class*="filter"] input, .stMain input[type="search"]');
const savepoint = () => (location.pathname.endsWith("/job") ? document.querySelector(".st-key-take button:not(:disabled)") : null);
let prefixed = -Infinity; // when `g` was pressed, in ms since the page was opened

function busy(event) {
  const at = event.composedPath()[0];
  const typing = at instanceof Element && (at.isContentEditable || at.closest(TYPING));
  return typing || event.isComposing || document.querySelector('[role="dialog"], dialog[open]') !== null;
}

/** Through the top bar where it lists the page, which keeps the session; else by address. */
function open(path) {
  const link = [...document.querySelectorAll('[data-testid="stTopNavLink"]')].find(({ href }) => new URL(href).pathname === path);
  if (link) link.click();
  else location.assign(path + (new URLSearchParams(location.search).get("live") === "false" ? "?live=false" : ""));
}

function listed() {
  return [
    ["/", "Filter what the page lists"],
    ["s", "Take a savepoint, on a job's page"],
    ...Object.entries(pages).map(([letter, { title }]) => [`g ${letter}`, title]),
    ["Ctrl k", "Go to a job, a savepoint, an experiment or a page"],
    ["?", "Show these keys"],
    ["Esc", "Close"],
  ];
}

function help() {
  const dialog = element("dialog", "tm-keys", document.querySelector('[data-testid="stApp"]') ?? document.body);
  dialog.setAttribute("aria-labelledby", "tm-keys-title");
  const head = element("div", "tm-keys-head", dialog);
  element("h2", "", head, "Keys").id = "tm-keys-title";
  const close = element("button", "", head, "Close");
  close.onclick = () => dialog.close();
  const list = element("dl", "", dialog);
  for (const [keys, says] of listed()) {
    const row = element("div", "", list);
    const term = element("dt", "", row);
    keys.split(" ").forEach((key) => element("kbd", "", term, key));
    element("dd", "", row, says);
  }
  dialog.addEventListener("close", () => dialog.remove());
  dialog.addEventListener("click", ({ target }) => target === dialog && dialog.close());
  dialog.showModal();
}

function pressed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || event.defaultPrevented || busy(event)) return;
  const second = event.timeStamp - prefixed < PATIENCE_MS;
  prefixed = -Infinity;
  const act = second ? pages[event.key] && (() => open(pages[event.key].path)) : actOf(event);
  if (!act) return;
  event.preventDefault();
  event.stopPropagation();
  act();
}

function actOf(event) {
  if (event.key === "g") return () => { prefixed = event.timeStamp; };
  if (event.key === "?") return help;
  const found = { "/": filter, s: savepoint }[event.key]?.();
  return found && (event.key === "/" ? () => { found.focus(); found.select(); } : () => found.click());
}

/** Past the top bar, to the page's own content. */
document.getElementById("tm-skip")?.addEventListener("click", (event) => {
  event.preventDefault();
  const main = document.querySelector('[data-testid="stMainBlockContainer"]');
  if (!main) return;
  main.tabIndex = -1;
  main.focus();
});

document.addEventListener("keydown", pressed, true);
