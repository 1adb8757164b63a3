// A heat map on a canvas: partitions from top to bottom, moments from left to right. Arrows move through the cells, Enter opens one.
import { component, element } from "./elements.js";

const LEAST_PX = 3;
const MOST_PX = 22;
const HEIGHT_PX = 360;
const NAME_PX = 13;
const TIME_PX = 78;
const WIDEST_PX = 64;

/** Bytes in steps of 1000, as the pages say them. */
function sized(value, unit) {
  if (unit === "rows") return `${value.toLocaleString("en")} rows`;
  for (const [step, name] of [[1e12, "TB"], [1e9, "GB"], [1e6, "MB"], [1e3, "kB"]]) if (value >= step) return `${(value / step).toFixed(1)} ${name}`;
  return `${value} B`;
}

class Heat {
  constructor(host) {
    this.host = host;
    this.root = element("section", "tm-heat", host);
    const head = element("div", "tm-heat-head", this.root);
    this.title = element("b", "", head);
    this.words = element("span", "", head);
    this.scale = element("span", "tm-heat-scale", head);
    this.empty = element("div", "tm-heat-empty", this.root);
    this.frame = element("div", "tm-heat-frame", this.root);
    this.names = element("div", "tm-heat-names", this.frame);
    this.plot = element("div", "tm-heat-plot", this.frame);
    this.plot.tabIndex = 0;
    this.plot.setAttribute("role", "application");
    this.canvas = element("canvas", "", this.plot);
    this.at = element("div", "tm-heat-at", this.plot);
    this.times = element("div", "tm-heat-times", this.frame);
    this.said = element("div", "tm-heat-said", this.frame);
    this.said.setAttribute("aria-live", "polite");
    this.plot.addEventListener("pointermove", (event) => this.point(this.cellAt(event)));
    this.plot.addEventListener("pointerleave", () => this.point(null));
    this.plot.addEventListener("click", (event) => this.open(this.cellAt(event)));
    this.plot.addEventListener("keydown", (event) => this.pressed(event));
    this.sizes = new ResizeObserver(() => this.draw());
    this.sizes.observe(this.plot);
  }

  show(data, trigger) {
    this.data = data;
    this.onCell = (cell) => trigger("cell", cell);
    this.root.dataset.testid = `heat-${data.name}`;
    this.title.textContent = data.title;
    this.title.title = data.hint;
    this.words.textContent = data.columns.length ? data.words : "";
    this.words.classList.toggle("skewed", data.skewed);
    this.scale.hidden = this.frame.hidden = !data.columns.length;
    this.scale.replaceChildren("0", element("i", ""), data.most);
    this.empty.hidden = data.columns.length > 0;
    this.empty.textContent = data.empty;
    this.plot.setAttribute("aria-label", `${data.title} by partition over time: ${data.words}. Arrows move, Enter opens.`);
    this.draw();
  }

  get cell() {
    const { columns, partitions } = this.data;
    const height = Math.max(LEAST_PX, Math.min(MOST_PX, HEIGHT_PX / partitions));
    return { width: Math.min(WIDEST_PX, this.plot.clientWidth / columns.length), height };
  }

  draw() {
    if (!this.data?.columns.length || !this.plot.clientWidth) return;
    const { columns, partitions, top } = this.data;
    const { width, height } = this.cell;
    const ratio = window.devicePixelRatio || 1;
    this.canvas.width = Math.round(this.plot.clientWidth * ratio);
    this.canvas.height = Math.round(height * partitions * ratio);
    this.canvas.style.height = `${height * partitions}px`;
    const context = this.canvas.getContext("2d");
    context.scale(ratio, ratio);
    const style = getComputedStyle(this.host);
    context.fillStyle = style.getPropertyValue("--st-primary-color").trim() || "#2563eb";
    const gap = width > 4 && height > 4 ? 1 : 0;
    columns.forEach(({ cells }, column) => cells.forEach((value, partition) => {
      context.globalAlpha = value ? 0.1 + 0.9 * (value / top) : 0.04;
      context.fillRect(column * width, partition * height, width - gap, height - gap);
    }));
    this.label(width, height);
  }

  label(width, height) {
    const { columns, partitions } = this.data;
    const everyName = Math.max(1, Math.ceil(NAME_PX / height)), everyTime = Math.max(1, Math.ceil(TIME_PX / width));
    this.names.style.height = `${height * partitions}px`;
    this.names.replaceChildren(...Array.from({ length: Math.ceil(partitions / everyName) }, (_, n) => {
      const name = element("span", "", null, String(n * everyName));
      name.style.top = `${(n * everyName + 0.5) * height}px`;
      return name;
    }));
    this.times.replaceChildren(...columns.flatMap(({ time }, place) => {
      if ((columns.length - 1 - place) % everyTime) return [];
      const name = element("span", "", null, time);
      name.style.left = `${Math.min(Math.max((place + 0.5) * width, 26), this.plot.clientWidth - 26)}px`;
      return [name];
    }));
  }

  cellAt({ offsetX, offsetY }) {
    const { width, height } = this.cell;
    const column = Math.floor(offsetX / width), partition = Math.floor(offsetY / height);
    return column >= 0 && column < this.data.columns.length && partition >= 0 && partition < this.data.partitions ? { column, partition } : null;
  }

  point(place) {
    this.chosen = place;
    this.at.style.display = place ? "block" : "none";
    this.said.textContent = "";
    if (!place) return;
    const { width, height } = this.cell;
    const { batch, time, cells } = this.data.columns[place.column];
    Object.assign(this.at.style, { left: `${place.column * width}px`, top: `${place.partition * height}px`, width: `${width}px`, height: `${height}px` });
    this.said.textContent = `partition ${place.partition} · batch ${batch.toLocaleString("en")}, ${time} · ${sized(cells[place.partition] ?? 0, this.data.unit)}`;
  }

  open(place) {
    if (place) this.onCell({ column: this.data.columns[place.column].id, partition: place.partition });
  }

  pressed(event) {
    const [across, down] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key] ?? [0, 0];
    if (event.key === "Enter") this.open(this.chosen);
    else if (across || down) this.step(across, down);
    else return;
    event.preventDefault();
  }

  step(across, down) {
    const { columns, partitions } = this.data;
    const { column, partition } = this.chosen ?? { column: columns.length - 1 - across, partition: -down };
    const within = (value, count) => Math.min(Math.max(value, 0), count - 1);
    this.point({ column: within(column + across, columns.length), partition: within(partition + down, partitions) });
  }

  destroy() {
    this.sizes.disconnect();
    this.root.remove();
  }
}

export default component(Heat);
