// A panel: title, legend with last values, chart. Updated in place, so that zoom and hover survive a refresh.
// Panels of one group share a crosshair and a zoomed range of time.
import { component, element } from "./elements.js";
import { figureOf, themeOf, painted } from "./figure.js";
import { saveButton, saveChart } from "./saving.js";
import { moment } from "./zones.js";

const groups = new Map();
let plotlyLoading;
const LINE_PX = 20;
/** Panels stand below each other: none has to be level with another. */
const NARROW = matchMedia("(max-width: 640px)");
const EDGE_PX = 14;
const TABLE_GAP_PX = 4;
const MANY = 3; // names with values; more of them stand in a table below the plot, whose height stays

/** Plotly's own build, from this server, once per page. */
function loadPlotly(url) {
  plotlyLoading ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = new URL(url, document.baseURI).href;
    script.onload = () => resolve(window.Plotly);
    script.onerror = () => {
      plotlyLoading = undefined;
      reject(new Error("plotly.js could not be loaded from this server"));
    };
    document.head.appendChild(script);
  });
  return plotlyLoading;
}

class Panel {
  constructor(host, data) {
    this.root = element("section", "tm-panel", host);
    this.root.dataset.testid = `panel-${data.name}`;
    this.head = element("div", "tm-panel-head", this.root);
    this.title = element("span", "tm-panel-title", this.head);
    this.reset = element("button", "tm-panel-reset", this.head, "Reset");
    this.reset.title = "Show the whole range again (or double-click a chart)";
    this.reset.hidden = true;
    this.reset.onclick = () => this.whole();
    this.legend = element("span", "tm-panel-legend", this.head);
    this.save = saveButton(this.head, "Save as a picture");
    this.save.onclick = () => saveChart(this.plotly, this.data, this.host, this.group.range, this.plot.clientWidth);
    this.axis = element("div", "tm-panel-axis", this.root);
    this.axis.ariaHidden = "true";
    this.plot = element("div", "tm-panel-plot", this.root);
    this.plot.setAttribute("role", "img");
    this.empty = element("div", "tm-panel-empty", this.plot);
    this.cross = element("div", "tm-panel-cross", this.plot);
    this.join(data.group || this);
  }

  join(name) {
    if (!groups.has(name)) groups.set(name, { panels: new Set(), range: null, ranged: "" });
    this.group = groups.get(name);
    this.group.panels.add(this);
  }

  leave() {
    this.group.panels.delete(this);
    if (this.group.panels.size) return;
    for (const [name, group] of groups) if (group === this.group) groups.delete(name);
  }

  everyone(act) {
    for (const panel of this.group.panels) if (panel.drawn) act(panel);
  }

  async show(data, trigger, host) {
    this.data = data;
    this.host = host;
    this.tell = (name, value) => (name !== "click" || data.clickable) && trigger(name, value);
    this.takeRange(data.ranged);
    const theme = themeOf(host);
    this.showHead(theme);
    this.level();
    this.plot.setAttribute("aria-label", data.summary || data.empty);
    this.save.hidden = !data.traces.length;
    this.save.setAttribute("aria-label", `Save ${data.title || "the chart"} as a picture`);
    this.empty.style.display = data.traces.length ? "none" : "";
    this.empty.textContent = data.empty;
    if (!data.traces.length) return this.clear();
    this.plot.classList.toggle("loading", !this.plotly);
    this.plotly = await loadPlotly(data.plotly);
    this.plot.classList.remove("loading");
    if (!this.gone) await this.draw();
  }

  /** A range that the page has taken over is the charts' whole; what was brushed to get there is done with. */
  takeRange(ranged) {
    if (ranged === this.group.ranged) return;
    this.group.ranged = ranged;
    this.group.range = null;
  }

  showHead(theme) {
    const { title, legend } = this.data;
    const tabled = legend.length > MANY && legend.every(({ value }) => value);
    this.root.classList.toggle("tabled", tabled);
    this.head.style.display = title || legend.length ? "" : "none";
    this.title.textContent = title;
    this.legend.replaceChildren(...legend.map((entry) => this.legendEntry(entry, theme)));
  }

  legendEntry({ name, value, color, symbol, hint }, theme) {
    const shown = painted(color, theme.names);
    const entry = element("span", "tm-panel-entry");
    const swatch = element("i", `tm-panel-swatch ${symbol}`, entry);
    swatch.style.background = shown;
    swatch.style.borderColor = shown;
    element("span", "tm-panel-name", entry, name).title = hint || name;
    if (value) element("b", "", entry, value);
    return entry;
  }

  /** The legend takes the lines that it needs, and the plot what is left, so that panels beside each other stay level; where one of them
   *  has a table below its plot, the others' plots take the room of the longest. */
  level() {
    const table = this.root.classList.contains("tabled") ? this.legend.offsetHeight + TABLE_GAP_PX : 0;
    const changed = table !== this.table;
    this.table = table;
    for (const panel of changed ? this.group.panels : [this]) if (panel.data) panel.stretch();
  }

  stretch() {
    const longest = Math.max(...[...this.group.panels].map(({ table }) => table ?? 0));
    const lines = this.table || NARROW.matches ? 0 : Math.max(0, this.legend.offsetHeight - LINE_PX);
    this.plot.style.height = `${this.data.height + longest - (this.table ?? 0) - lines}px`;
    if (this.legend.scrollHeight > this.legend.clientHeight) this.legend.tabIndex = 0;
    else this.legend.removeAttribute("tabindex");
  }

  async draw() {
    if (this.chart?._dragging) return;
    this.reset.hidden = !this.group.range && !this.data.ranged;
    const { data, layout } = figureOf(this.data, themeOf(this.host), this.group.range, this.plot.clientWidth);
    await this.plotly.react(this.canvas(), data, layout, { displayModeBar: false, showTips: false, responsive: false, doubleClick: false });
    if (!this.drawn && !this.gone) this.listen();
    this.drawn = true;
    this.keepAxis();
  }

  /** The time axis of a chart that is higher than the window, once more over itself: this one stays in sight. */
  keepAxis() {
    const ticks = this.data.layout.sticky && this.chart?.querySelector(".xaxislayer-above");
    this.axis.hidden = !ticks;
    if (!ticks) return;
    const picture = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    picture.append(ticks.cloneNode(true));
    this.axis.replaceChildren(picture);
    this.axis.style.setProperty("--height", `${this.chart._fullLayout._size.t}px`);
  }

  canvas() {
    if (!this.chart) {
      this.chart = element("div", "", this.plot);
      this.chart.style.height = "100%";
      this.plot.appendChild(this.cross);
    }
    return this.chart;
  }

  listen() {
    this.chart.on("plotly_click", (event) => this.clicked(event));
    this.chart.on("plotly_clickannotation", ({ annotation }) => annotation.name && this.tell("click", annotation.name));
    this.chart.on("plotly_hover", (event) => this.hovered(event));
    this.chart.on("plotly_unhover", () => this.unhovered());
    this.chart.on("plotly_relayouting", () => this.keepAxis());
    this.chart.on("plotly_relayout", (change) => this.zoomed(change));
    this.chart.on("plotly_doubleclick", () => this.whole());
    this.sizes = new ResizeObserver(() => this.fit());
    this.sizes.observe(this.plot);
  }

  fit() {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => {
      if (this.gone || !this.chart || !this.plot.clientWidth) return;
      this.level();
      const { width, height } = this.chart._fullLayout ?? {};
      if (width !== this.plot.clientWidth || height !== this.plot.clientHeight) this.plotly.Plots.resize(this.chart).then(() => !this.gone && this.draw());
    });
  }

  /** On the upper edge stand the marks; below it a click is for the moment, also where a mark stands over it. */
  clicked({ points, event }) {
    const point = points.find(({ customdata }) => customdata !== undefined && customdata !== null && customdata !== "");
    if (point && (!this.data.moments || this.onEdge(event))) this.tell("click", Array.isArray(point.customdata) ? point.customdata[0] : point.customdata);
    else if (this.data.moments && points.length) this.tell("moment", Math.ceil(moment(points[0].x, this.data.zone)));
  }

  onEdge({ clientY }) {
    return clientY - this.plot.getBoundingClientRect().top < this.chart._fullLayout.yaxis._offset + EDGE_PX;
  }

  hovered({ points }) {
    const clickable = points.some(({ customdata }) => customdata !== undefined && customdata !== "");
    this.root.classList.toggle("pointing", (clickable && this.data.clickable) || this.data.moments);
    this.everyone((panel) => panel.showCross(points[0].x));
  }

  unhovered() {
    this.root.classList.remove("pointing");
    this.everyone((panel) => { panel.cross.style.display = "none"; });
  }

  /** A line at the time that a panel of the group is hovered at. */
  showCross(x) {
    const { xaxis, yaxis } = this.chart._fullLayout;
    const offset = xaxis.d2p(x);
    const inside = offset >= 0 && offset <= xaxis._length;
    Object.assign(this.cross.style, {
      display: inside ? "block" : "none", left: `${xaxis._offset + offset}px`, top: `${yaxis._offset}px`, height: `${yaxis._length}px`,
    });
  }

  zoomed(change) {
    const from = change["xaxis.range[0]"];
    if (from === undefined) return;
    const range = [from, change["xaxis.range[1]"]].map((end) => moment(end, this.data.zone));
    this.zoomTo(range);
    if (this.data.brush) this.tell("range", range.map(Math.round).join("_"));
  }

  /** Shows all again, also of a range that the page has taken over. */
  whole() {
    this.zoomTo(null);
    if (this.data.ranged) this.tell("range", "");
  }

  /** Shows `range` (epoch ms; null for all) in every panel of the group, now and after each refresh. */
  zoomTo(range) {
    this.group.range = range;
    this.everyone((panel) => panel.draw());
  }

  clear() {
    this.sizes?.disconnect();
    if (this.chart) {
      this.plotly.purge(this.chart);
      this.chart.remove();
    }
    this.chart = undefined;
    this.drawn = false;
    this.axis.hidden = true;
  }

  destroy() {
    this.gone = true;
    cancelAnimationFrame(this.frame);
    this.clear();
    this.leave();
    this.root.remove();
  }
}

export default component(Panel);
