// What is on a page as a file: rows as CSV or Parquet, a chart as a picture.
import { element } from "./elements.js";
import { figureOf, painted, themeOf } from "./figure.js";
import { wall } from "./zones.js";

const KINDS = { csv: "CSV", parquet: "Parquet" };
const HEAD_PX = 52;
const LINE_PX = 16;
const LETTER_PX = 6.6;
const SYMBOLS = { square: "■", circle: "●", diamond: "◆", dash: "–" };
const missing = (value) => value === undefined || value === null;

function stamped(name, ending, zone) {
  const at = wall(Date.now(), zone).replace(" ", "T").replace(/[-:]|\.\d+/g, "");
  return `${name.replace(/[^\w.-]+/g, "_")}-${at}${zone === "UTC" ? "Z" : ""}.${ending}`;
}

function handOver(url, name) {
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
}

/** A cell as a number or a text: never as it is formatted. */
function plain(cell) {
  if (!missing(cell.r)) return cell.r;
  if (!cell.c && !missing(cell.s)) return cell.s;
  return missing(cell.t) || cell.t === "–" ? null : cell.t;
}

/** The rows as a file of this kind, with its times in the zone; the server writes it, from what stands here. */
export async function saveRows(name, columns, rows, kind, zone) {
  const kept = columns.map((column, index) => ({ ...column, index })).filter(({ lines }) => !lines);
  const said = {
    zone,
    columns: kept.map(({ name: title, unit }) => ({ name: title, unit })),
    rows: rows.map(({ cells }) => kept.map(({ index }) => plain(cells[index]))),
  };
  const answer = await fetch(`/download/${kind}`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(said) });
  if (!answer.ok) throw new Error(`${KINDS[kind]} could not be made: ${await answer.text()}`);
  const url = URL.createObjectURL(await answer.blob());
  handOver(url, stamped(name, kind, zone));
  setTimeout(() => URL.revokeObjectURL(url), 60000);
}

/** The legend in as many lines as it needs. */
function legendOf(entries, names, width) {
  const lines = [];
  let filled = Infinity;
  for (const { name, value, color, symbol } of entries) {
    const said = `<span style="color:${painted(color, names)}">${SYMBOLS[symbol] ?? SYMBOLS.square}</span> ${name}${value ? ` <b>${value}</b>` : ""}`;
    const long = (name.length + value.length + 8) * LETTER_PX;
    if (filled + long > width) {
      lines.push([]);
      filled = 0;
    }
    lines.at(-1).push(said);
    filled += long;
  }
  return lines.map((line) => line.join("     "));
}

/** The chart as it is seen, with its title and legend, on the page's background, at twice its size. */
export async function saveChart(plotly, chart, host, range, width) {
  const theme = themeOf(host);
  const { data, layout } = figureOf(chart, theme, range, width);
  const wide = Math.max(width, 480);
  const lines = legendOf(chart.legend, theme.names, wide - layout.margin.l - layout.margin.r);
  const more = Math.max(0, lines.length - 1) * LINE_PX;
  const above = { xref: "paper", yref: "paper", y: 1, yanchor: "bottom", showarrow: false };
  const head = [
    { ...above, x: 0, xanchor: "left", yshift: 30 + more, text: `<b>${chart.title}</b> · ${chart.zone}`, font: { size: 15, color: theme.text } },
    { ...above, x: 0, xanchor: "left", yshift: 9, text: lines.join("<br>"), align: "left", font: { size: 12, color: theme.text } },
  ];
  const margin = { ...layout.margin, t: (layout.margin?.t ?? 8) + HEAD_PX + more, r: (layout.margin?.r ?? 8) + 12, b: (layout.margin?.b ?? 24) + 8 };
  const picture = { data, layout: { ...layout, margin, paper_bgcolor: theme.names.$bg, plot_bgcolor: theme.names.$bg, annotations: [...layout.annotations, ...head] } };
  const height = chart.height + HEAD_PX + more + 8;
  handOver(await plotly.toImage(picture, { format: "png", width: wide, height, scale: 2 }), stamped(chart.name, "png", chart.zone));
}

/** A small button with an arrow down; `says` is what it is to people who do not see it. */
export function saveButton(parent, says) {
  const button = element("button", "tm-save", parent);
  button.type = "button";
  button.title = says;
  button.setAttribute("aria-label", says);
  element("i", "", button).setAttribute("aria-hidden", "true");
  return button;
}

/** The button with the two kinds of files that rows can be saved as; `save` gets the chosen one. */
export function saveMenu(parent, says, save) {
  const button = saveButton(parent, says);
  const menu = element("div", "tm-save-menu", parent);
  menu.popover = "auto";
  button.popoverTargetElement = menu;
  for (const [kind, name] of Object.entries(KINDS)) {
    element("button", "", menu, name).onclick = () => {
      menu.hidePopover();
      save(kind);
    };
  }
  menu.addEventListener("beforetoggle", ({ newState }) => newState === "open" && place(menu, button));
  menu.addEventListener("toggle", ({ newState }) => newState === "open" && menu.querySelector("button").focus());
  return button;
}

function place(menu, button) {
  const { bottom, right } = button.getBoundingClientRect();
  Object.assign(menu.style, { top: `${bottom + 4}px`, right: `${document.documentElement.clientWidth - right}px` });
}
