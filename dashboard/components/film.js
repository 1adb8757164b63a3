// A film strip: frames of savepoints in time, thin frames of the batches that Spark still keeps. Drawn again only where it says something
// else; scrolled to its newest end at first, then left where somebody scrolled it.
import { component, element } from "./elements.js";

class Strip {
  constructor(host) {
    this.root = element("ol", "tm-film", host);
    this.root.setAttribute("aria-label", "Savepoints and retained batches, oldest first");
    this.root.tabIndex = 0;
    this.root.addEventListener("click", (event) => this.clicked(event));
    this.root.addEventListener("keydown", (event) => this.moved(event));
  }

  show(data, trigger) {
    this.onClick = (id) => trigger("click", id);
    this.root.dataset.testid = `film-${data.name}`;
    const said = JSON.stringify(data.pieces);
    if (said !== this.said) this.draw(data.pieces);
    this.said = said;
    for (const button of this.root.querySelectorAll("button")) button.ariaPressed = String(button.dataset.frame === data.selected);
    if (data.selected !== this.selected) this.root.querySelector('[aria-pressed="true"]')?.scrollIntoView({ block: "nearest", inline: "nearest" });
    this.selected = data.selected;
  }

  draw(pieces) {
    const { scrollLeft, scrollWidth, clientWidth } = this.root;
    const atEnd = !this.said || scrollLeft + clientWidth >= scrollWidth - 4;
    const focused = this.root.contains(document.activeElement) ? document.activeElement.dataset.frame : undefined;
    this.root.replaceChildren(...pieces.map((piece) => (piece.thin ? this.stretch(piece) : this.frame(piece))));
    this.root.scrollLeft = atEnd ? this.root.scrollWidth : scrollLeft;
    if (focused) this.root.querySelector(`[data-frame="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
  }

  frame({ id, batch, time, label, trust, tone, size, fresh, count, hint }) {
    const item = element("li", "tm-film-frame");
    const button = element("button", "", item);
    button.type = "button";
    button.dataset.frame = id;
    button.title = hint;
    const head = element("span", "tm-film-head", button);
    element("b", "", head, batch);
    element("span", "", head, time);
    element("span", "tm-film-label", button, label || "–");
    const trusted = element("span", "tm-film-trust", button);
    element("span", `tm-chip ${tone}`, trusted, trust);
    if (count > 1) element("span", "tm-film-count", trusted, `× ${count}`);
    element("span", "tm-film-size", button, size);
    element("span", "tm-film-size", button, fresh);
    return item;
  }

  stretch({ changes, thin }) {
    const item = element("li", "tm-film-stretch");
    const said = element("div", "tm-film-changes", item);
    for (const change of changes) element("span", "", said, change);
    if (!thin.length) return item;
    const row = element("div", "tm-film-thin", item);
    for (const { id, hint } of thin) {
      const button = element("button", "", row);
      button.type = "button";
      button.dataset.frame = id;
      button.title = hint;
      button.tabIndex = -1;
      button.setAttribute("aria-label", hint);
    }
    return item;
  }

  clicked(event) {
    const button = event.target.closest("button");
    if (button) this.onClick(button.dataset.frame);
  }

  /** Arrows go from frame to frame, thin ones too, which a Tab passes by; from the strip itself they begin at its newest. */
  moved(event) {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const buttons = [...this.root.querySelectorAll("button")];
    const at = event.target === this.root ? buttons.length : buttons.indexOf(event.target);
    if (!step || !buttons[at + step]) return;
    event.preventDefault();
    buttons[at + step].focus();
  }

  destroy() {
    this.root.remove();
  }
}

export default component(Strip);
