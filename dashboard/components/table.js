// A table of typed cells. Changed in place: only rows that differ are drawn again; the order that somebody chose and the scroll stay.
import { component, element, write } from "./elements.js";
import { saveMenu, saveRows } from "./saving.js";

const SVG = "http://www.w3.org/2000/svg";
const WIDTH = 120;
const HEIGHT = 24;

/** A small line with its area; `heights` run from 0 to 100. */
function drawing(heights) {
  const step = WIDTH / (heights.length - 1);
  const points = heights.map((height, index) => `${(index * step).toFixed(1)} ${(HEIGHT - 2 - (height / 100) * (HEIGHT - 5)).toFixed(1)}`);
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", `0 0 ${WIDTH} ${HEIGHT}`);
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("aria-hidden", "true");
  for (const [name, path] of [["area", `M0 ${HEIGHT} L${points.join(" L")} L${WIDTH} ${HEIGHT} Z`], ["line", `M${points.join(" L")}`]]) {
    const drawn = document.createElementNS(SVG, "path");
    drawn.setAttribute("d", path);
    drawn.setAttribute("class", name);
    svg.appendChild(drawn);
  }
  return svg;
}

function fill(cell, said, href) {
  cell.className = [said.mono && "mono", said.b && "strong", said.m && "muted"].filter(Boolean).join(" ");
  if (said.h) cell.title = said.h;
  if (said.l) {
    cell.classList.add("lined");
    cell.appendChild(drawing(said.l));
    return;
  }
  const place = said.b && href ? element("a", "", cell) : cell;
  if (place !== cell) place.href = href;
  if (!said.c) {
    write(said.t ?? "", place);
    return;
  }
  const chip = element("span", `tm-chip ${said.c}${said.mono ? " square mono" : ""}`, place);
  if (!said.mono) element("span", `tm-dot${said.live ? " live" : ""}`, chip);
  chip.append(said.t);
}

const missing = (value) => value === undefined || value === null;
const sortable = (cell) => (missing(cell.s) ? (cell.t === "–" ? null : cell.t) : cell.s);

/** Missing values stand last, whichever way. */
function compared(a, b, down) {
  if (missing(a) || missing(b)) return missing(a) - missing(b);
  const order = typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b));
  return down ? -order : order;
}

class Table {
  constructor(host) {
    this.frame = element("div", "tm-table-frame", host);
    this.root = element("div", "tm-table", this.frame);
    this.corner = element("div", "tm-table-corner", this.root);
    this.save = saveMenu(this.corner, "Save all rows", (kind) => this.saved(kind));
    this.table = element("table", "", this.root);
    this.head = element("tr", "", element("thead", "", this.table));
    this.body = element("tbody", "", this.table);
    this.empty = element("div", "tm-table-empty", this.root);
    this.pager = element("nav", "tm-table-pager", this.frame);
    this.drawn = new Map();
    this.body.addEventListener("click", (event) => this.clicked(event));
    this.body.addEventListener("keydown", (event) => this.pressed(event));
  }

  show(data, trigger) {
    this.data = data;
    this.onRow = (id) => data.clickable && trigger("row", id);
    this.onAsk = trigger;
    if (data.cut) this.order = this.orderOf(data.cut);
    this.root.dataset.testid = `table-${data.name}`;
    this.root.style.maxHeight = data.maxHeight ? `max(${data.maxHeight}px, ${data.maxHeight / 10}vh)` : "";
    this.root.classList.toggle("clickable", data.clickable);
    this.table.setAttribute("aria-label", data.label);
    this.empty.textContent = data.rows.length ? "" : data.empty;
    this.empty.hidden = data.rows.length > 0;
    this.corner.hidden = data.rows.length === 0;
    this.showHead();
    this.showRows();
    this.showPager();
    this.saveWhole();
  }

  /** Of a longer list only a page is here: the rest is asked for, and comes with the next data. */
  saved(kind) {
    if (this.data.cut?.pages > 1) this.onAsk("save", kind);
    else saveRows(this.data.label, this.data.columns, this.ordered(), kind, this.data.zone);
  }

  saveWhole() {
    const whole = this.data.whole;
    if (!whole || whole.turn === this.wholeTurn) return;
    this.wholeTurn = whole.turn;
    saveRows(this.data.label, whole.columns, whole.rows, whole.kind, this.data.zone);
  }

  /** The order of a page cut elsewhere, as this table's own. */
  orderOf({ order }) {
    const index = order ? this.data.columns.findIndex(({ name }) => name === order.column) : -1;
    return index < 0 ? undefined : { index, down: order.down };
  }

  /** Which rows of how many, and the way to the others; nothing where these are all. */
  showPager() {
    const cut = this.data.cut;
    this.pager.hidden = !cut || cut.pages < 2;
    const said = JSON.stringify(cut ?? null);
    if (this.pager.hidden || said === this.pagerSaid) return;
    this.pagerSaid = said;
    const last = cut.first + this.data.rows.length;
    this.pager.replaceChildren();
    this.pager.setAttribute("aria-label", `Pages of ${this.data.label}`);
    element("span", "", this.pager, `${(cut.first + 1).toLocaleString("en")}–${last.toLocaleString("en")} of ${cut.total.toLocaleString("en")}`);
    for (const [text, title, page] of [["‹", "Previous page", cut.page - 1], ["›", "Next page", cut.page + 1]]) {
      const button = element("button", "", this.pager, text);
      button.title = title;
      button.setAttribute("aria-label", title);
      button.disabled = page < 1 || page > cut.pages;
      button.onclick = () => this.onAsk("page", page);
    }
  }

  showHead() {
    const said = JSON.stringify([this.data.columns, this.order, Boolean(this.data.picked)]);
    if (said === this.headSaid) return;
    this.headSaid = said;
    this.head.replaceChildren(...(this.data.picked ? [this.headBox()] : []), ...this.data.columns.map((column, index) => this.headCell(column, index)));
  }

  /** The box that ticks all rows shown, or none. */
  headBox() {
    const cell = element("td", "box");
    const box = element("input", "", cell);
    box.type = "checkbox";
    box.setAttribute("aria-label", "Select all rows shown");
    box.onchange = () => this.onAsk("pick", box.checked ? this.data.rows.map(({ id }) => id) : []);
    return cell;
  }

  rowBox(id) {
    const cell = element("td", "box");
    const box = element("input", "", cell);
    box.type = "checkbox";
    box.setAttribute("aria-label", `Select ${id}`);
    box.onchange = () => {
      const others = this.data.picked.filter((other) => other !== id);
      this.data.picked = box.checked ? [...others, id] : others;
      this.onAsk("pick", this.data.picked);
    };
    return cell;
  }

  headCell({ name, right, hint, wide }, index) {
    const cell = element("th", [right && "right", wide && "wide"].filter(Boolean).join(" "));
    cell.scope = "col";
    const chosen = this.order?.index === index;
    cell.setAttribute("aria-sort", chosen ? (this.order.down ? "descending" : "ascending") : "none");
    const button = element("button", "", cell, name);
    if (hint) button.title = hint;
    button.onclick = () => this.sort(index, right);
    if (chosen) element("span", "arrow", button, this.order.down ? "↓" : "↑");
    return cell;
  }

  /** First click: the greatest number or the first word; then the other way; then as it came. */
  sort(index, downFirst) {
    if (this.order?.index !== index) this.order = { index, down: downFirst };
    else if (this.order.down === downFirst) this.order = { index, down: !downFirst };
    else this.order = undefined;
    this.showHead();
    if (this.data.cut) {
      this.onAsk("order", this.order ? `${this.data.columns[index].name}.${this.order.down ? "down" : "up"}` : "");
      return;
    }
    this.showRows();
  }

  ordered() {
    if (!this.order || this.data.cut) return this.data.rows;
    const { index, down } = this.order;
    return [...this.data.rows].sort((a, b) => compared(sortable(a.cells[index]), sortable(b.cells[index]), down));
  }

  showRows() {
    const wanted = this.ordered().map((row) => this.row(row));
    const kept = new Set(wanted);
    for (const old of [...this.body.children]) if (!kept.has(old)) old.remove();
    wanted.forEach((row, index) => {
      if (this.body.children[index] !== row) this.body.insertBefore(row, this.body.children[index] ?? null);
    });
    const ids = new Set(this.data.rows.map(({ id }) => id));
    for (const id of this.drawn.keys()) if (!ids.has(id)) this.drawn.delete(id);
    const all = this.head.querySelector("td.box input");
    if (all) {
      const ticked = this.data.rows.filter(({ id }) => this.data.picked.includes(id)).length;
      Object.assign(all, { checked: ticked > 0 && ticked === ids.size, indeterminate: ticked > 0 && ticked < ids.size });
    }
  }

  /** The row's element, drawn again only where it says something else. */
  row(row) {
    const said = JSON.stringify(row);
    let known = this.drawn.get(row.id);
    if (!known) this.drawn.set(row.id, (known = { element: element("tr", "") }));
    if (known.said !== said) this.fillRow(known.element, row);
    known.said = said;
    const chosen = row.id === this.data.selected || Boolean(this.data.picked?.includes(row.id));
    const box = known.element.querySelector("td.box input");
    if (box) box.checked = chosen;
    known.element.classList.toggle("selected", chosen);
    known.element.ariaCurrent = chosen ? "true" : null;
    return known.element;
  }

  fillRow(place, { id, href, cells }) {
    place.dataset.row = id;
    if (this.data.clickable && !href) place.tabIndex = 0;
    place.replaceChildren(...(this.data.picked ? [this.rowBox(id)] : []), ...cells.map((said, index) => {
      const cell = element("td", "");
      fill(cell, said, href);
      if (this.data.columns[index]?.right) cell.classList.add("right");
      return cell;
    }));
  }

  clicked(event) {
    const row = event.target.closest("tr");
    if (!row || !this.data.clickable || event.target.closest("td.box") || String(getSelection())) return;
    if (event.metaKey || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    this.onRow(row.dataset.row);
  }

  pressed(event) {
    if (event.key !== "Enter" || !event.target.matches("tr")) return;
    event.preventDefault();
    this.onRow(event.target.dataset.row);
  }

  destroy() {
    this.frame.remove();
  }
}

export default component(Table);
