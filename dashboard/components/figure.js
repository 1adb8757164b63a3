// A chart as Python describes it -> what Plotly draws, in the colours of the theme and the time zone of the page.
import { placed } from "./labels.js";
import { wall } from "./zones.js";

const AXIS_TIMES = [
  { dtickrange: [null, 60000], value: "%H:%M:%S" },
  { dtickrange: [60000, 18000000], value: "%H:%M" },
  { dtickrange: [18000000, 86400000], value: "%H:%M\n%b %d" },
  { dtickrange: [86400000, null], value: "%b %d" },
];
const MARKS = {
  version: { color: "$c1", dash: "solid" },
  savepoint: { color: "$c3", dash: "dot" },
  restart: { color: "$red", dash: "dash" },
  alert: { color: "$red", dash: "solid" },
  moment: { color: "$text", dash: "solid" },
};
const ARRAYS = { f8: Float64Array, f4: Float32Array };

/** The theme as Streamlit's custom properties give it to a component. */
export function themeOf(element) {
  const style = getComputedStyle(element);
  const get = (name, otherwise) => style.getPropertyValue(name).trim() || otherwise;
  const text = get("--st-text-color", "#1b2330");
  const palette = get("--st-chart-categorical-colors", "#2563eb").split(",");
  const names = {
    $text: text,
    $muted: translucent(text, 0.6),
    $border: get("--st-border-color", "#e3e6eb"),
    $bg: get("--st-background-color", "#ffffff"),
    $red: get("--st-red-color", "#dc2626"),
  };
  palette.forEach((color, index) => { names[`$c${index}`] = color.trim(); });
  return { names, text, font: get("--st-font", "sans-serif") };
}

export function translucent(color, alpha) {
  const parts = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})/i.exec(color);
  return parts ? `rgba(${parts.slice(1, 4).map((part) => parseInt(part, 16)).join(",")},${alpha})` : color;
}

/** `value` with every colour name in it replaced; encoded arrays are left alone. */
export function painted(value, names) {
  if (typeof value === "string") return names[value] ?? value;
  if (Array.isArray(value)) return value.map((item) => painted(item, names));
  if (!value || typeof value !== "object" || value.bdata) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, painted(item, names)]));
}

/** The values of an axis as plain numbers; `place` is where each stands. */
function values(x, place) {
  if (!x) return x;
  const raw = x.bdata ? new ARRAYS[x.dtype](Uint8Array.from(atob(x.bdata), (c) => c.charCodeAt(0)).buffer) : x;
  return Array.from(raw, place);
}

function trace(described, names, place) {
  const { color, fillAlpha, ...rest } = painted(described, names);
  const out = { ...rest, x: values(rest.x, place) };
  if (!color) return out;
  if (out.type === "bar") return { ...out, marker: { color, ...out.marker } };
  out.line = { width: 1.6, color, ...out.line };
  if (out.stackgroup) return { ...out, fillcolor: translucent(color, fillAlpha ?? 0.72), line: { ...out.line, width: 0 } };
  if (out.fill) out.fillcolor = translucent(color, fillAlpha ?? 0.11);
  return out;
}

function verticals(marks, names, place) {
  return marks.map(({ at, kind }) => ({
    type: "line", x0: place(at), x1: place(at), yref: "paper", y0: 0, y1: 1, layer: "below",
    line: { color: translucent(names[MARKS[kind].color], 0.6), width: 1, dash: MARKS[kind].dash },
  }));
}

function horizontals(levels) {
  return levels.map(({ y, color }) => ({
    type: "line", xref: "paper", x0: 0, x1: 1, y0: y, y1: y, line: { color: translucent(color, 0.85), width: 1.2, dash: "dash" },
  }));
}

/** Names stand beside their marks on the upper edge; of savepoints on hover alone. */
function labels(marks, names, range, inner, place) {
  const named = marks.filter(({ text, kind }) => text && kind !== "savepoint");
  return placed(named, range ?? [Math.min(...named.map(({ at }) => at)), Math.max(...named.map(({ at }) => at))], inner).map(({ at, text, side }) => ({
    x: place(at), yref: "paper", y: 1, yanchor: "top", yshift: -6, text, showarrow: false, xanchor: side, xshift: side === "left" ? 3 : -3,
    font: { size: 10, color: names.$muted }, bgcolor: translucent(names.$bg, 0.75), borderpad: 0,
  }));
}

/** Savepoints sit as small diamonds on the upper edge, on an axis of their own, so that they can be hovered and clicked. */
function savepointTrace(marks, names, place) {
  const saved = marks.filter(({ kind }) => kind === "savepoint");
  if (!saved.length) return [];
  return [{
    type: "scatter", mode: "markers+text", name: "savepoint", yaxis: "y2", cliponaxis: false,
    x: saved.map(({ at }) => place(at)), y: saved.map(() => 1), customdata: saved.map(({ id }) => id), hovertext: saved.map(({ text }) => text),
    text: saved.map(({ count }) => (count > 1 ? String(count) : "")), textposition: "middle right", textfont: { size: 10, color: names.$muted },
    marker: { symbol: "diamond", size: saved.map(({ count }) => (count > 1 ? 11 : 8)), color: names.$c3, line: { color: names.$bg, width: 1 } },
    hovertemplate: "%{hovertext}<extra></extra>",
  }];
}

function axes(theme, described, zoom, place) {
  const shared = { gridcolor: translucent(theme.text, 0.08), zeroline: false, showline: false, tickfont: { size: 11, color: theme.names.$muted }, ticks: "" };
  const range = zoom ?? described.span;
  return {
    xaxis: { ...shared, type: "date", showgrid: false, nticks: 7, ticklabelstandoff: 4, tickformatstops: AXIS_TIMES, hoverformat: "%b %d, %H:%M:%S", showspikes: false,
      ...described.xaxis, ...(range && { range: range.map(place), autorange: false }) },
    yaxis: { ...shared, nticks: 5, rangemode: "tozero", fixedrange: true, ...described.yaxis },
    yaxis2: { overlaying: "y", range: [0, 1], visible: false, fixedrange: true },
  };
}

/** No more names on the time axis than stand beside each other. */
function fitting(both, inner) {
  const nticks = Math.max(2, Math.min(both.xaxis.nticks, Math.floor(inner / 42)));
  return { ...both, xaxis: { ...both.xaxis, nticks, tickangle: 0 } };
}

/** Plotly's data and layout for `chart`, `width` px wide, at the range `zoom` (epoch ms) that somebody chose (null for none). */
export function figureOf(chart, theme, zoom, width) {
  const described = painted(chart.layout, theme.names);
  const { levels = [], annotations = [], span, xaxis, yaxis, ...rest } = described;
  const margin = { l: 52, r: 8, t: 8, b: 24, ...described.margin };
  const inner = width - margin.l - margin.r;
  const place = (xaxis?.type ?? "date") === "date" ? (at) => wall(at, chart.zone) : (x) => x;
  const layout = {
    autosize: true, showlegend: false, hovermode: "x unified", dragmode: "zoom",
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: theme.font, color: theme.text, size: 12 },
    margin,
    hoverlabel: { bgcolor: theme.names.$bg, bordercolor: theme.names.$border, font: { color: theme.text, size: 12, family: theme.font } },
    ...rest,
    ...fitting(axes(theme, described, zoom, place), inner),
    shapes: [...verticals(chart.marks, theme.names, place), ...horizontals(levels)],
    annotations: [
      ...annotations.map((note) => (note.xref === "paper" ? note : { ...note, x: place(note.x) })),
      ...labels(chart.marks, theme.names, zoom ?? span, inner, place),
    ],
  };
  const traces = chart.traces.map((one) => trace(one, theme.names, place));
  return { data: [...traces, ...savepointTrace(chart.marks, theme.names, place)], layout };
}
