// A query's plan: boxes and lines as they were laid out, and beside them all that is known of the chosen box.
// Changed in place: only what says something else is drawn again; the choice and the scroll stay.
import { component, element } from "./elements.js";

const SVG = "http://www.w3.org/2000/svg";
const CHARS = 34;
const KINDS = [["source", "source"], ["state", "keeps state"], ["exchange", "shuffle"], ["sink", "sink"]];

function shape(tag, parent, attributes, text = "") {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text) made.textContent = text;
  parent?.appendChild(made);
  return made;
}

const shortened = (text) => (text.length > CHARS ? `${text.slice(0, CHARS - 1)}…` : text);

class Plan {
  constructor(host) {
    this.root = element("div", "tm-plan", host);
    this.view = element("div", "tm-plan-view", this.root);
    this.legend = element("div", "tm-plan-legend", this.view);
    this.svg = shape("svg", this.view, { role: "group" });
    this.side = element("aside", "tm-plan-side", this.root);
    this.side.setAttribute("aria-live", "polite");
    this.svg.addEventListener("click", (event) => this.choose(event.target.closest("g[data-id]")));
    this.svg.addEventListener("keydown", (event) => this.pressed(event));
  }

  /** Until somebody chooses, the first operator that keeps state is shown, or else the first source. */
  show(data) {
    if (!this.touched) this.chosen = (data.boxes.find(({ kind }) => kind === "state") ?? data.boxes.find(({ kind }) => kind === "source"))?.id;
    this.root.dataset.testid = `plan-${data.name}`;
    const said = JSON.stringify(data);
    if (said === this.said) return;
    this.said = said;
    this.data = data;
    this.svg.setAttribute("aria-label", data.label);
    this.showLegend();
    this.draw();
    this.showSide();
  }

  showLegend() {
    const there = new Set(this.data.boxes.map(({ kind }) => kind));
    this.legend.replaceChildren();
    for (const [kind, text] of KINDS) {
      if (!there.has(kind)) continue;
      const entry = element("span", "", this.legend);
      element("i", "", entry).dataset.kind = kind;
      entry.append(text);
    }
    element("span", "hint", this.legend, "click an operator for its metrics");
  }

  draw() {
    const { width, height, boxes, lines } = this.data;
    const focused = document.activeElement?.closest?.("g[data-id]")?.dataset.id;
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.svg.setAttribute("width", width);
    this.svg.setAttribute("height", height);
    this.svg.replaceChildren();
    for (const line of lines) this.drawLine(line);
    for (const box of boxes) this.drawBox(box);
    if (focused !== undefined) this.svg.querySelector(`g[data-id="${focused}"]`)?.focus();
  }

  drawLine({ at: [x0, y0, x1, y1] }) {
    const tip = y1 - 6;
    const bend = tip - 8;
    const way = Math.sign(x1 - x0) * 6;
    const turn = `V${bend - 6} Q${x0} ${bend} ${x0 + way} ${bend} H${x1 - way} Q${x1} ${bend} ${x1} ${bend + 6}`;
    shape("path", this.svg, { class: "flow", d: `M${x0} ${y0} ${way ? turn : ""} V${tip}` });
    shape("path", this.svg, { class: "head", d: `M${x1 - 4} ${tip} h8 l-4 6 z` });
  }

  drawBox(box) {
    const group = shape("g", this.svg, { "data-id": box.id, "data-kind": box.kind, role: "button", tabindex: 0, "aria-label": `${box.title} ${box.line}`.trim() });
    group.classList.toggle("selected", box.id === this.chosen);
    shape("title", group, {}, box.title.length > CHARS ? box.title : "Click for its metrics and details");
    shape("rect", group, { x: box.x, y: box.y, width: box.w, height: box.h, rx: 7 });
    const first = box.line ? box.y + 19 : box.y + box.h / 2 + 4.5;
    shape("text", group, { class: "name", x: box.x + 12, y: first }, shortened(box.title));
    if (box.line) shape("text", group, { class: "line", x: box.x + 12, y: box.y + 37 }, box.line);
  }

  pressed(event) {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    this.choose(event.target.closest("g[data-id]"));
  }

  /** A second click lets go. */
  choose(group) {
    if (!group) return;
    const id = Number(group.dataset.id);
    this.chosen = this.chosen === id ? undefined : id;
    this.touched = true;
    for (const one of this.svg.querySelectorAll("g[data-id]")) one.classList.toggle("selected", Number(one.dataset.id) === this.chosen);
    this.showSide();
  }

  showSide() {
    const box = this.data.boxes.find(({ id }) => id === this.chosen);
    this.side.replaceChildren();
    if (!box) {
      element("p", "", this.side, this.data.hint);
      return;
    }
    element("h3", "", this.side, box.title);
    if (!box.facts.length && !box.detail) element("p", "", this.side, "Spark reports nothing more about this operator.");
    const list = element("dl", "", this.side);
    for (const [name, value] of box.facts) {
      element("dt", "", list, name);
      element("dd", "", list, value);
    }
    if (box.detail) element("pre", "", this.side, box.detail);
  }

  destroy() {
    this.root.remove();
  }
}

export default component(Plan);
