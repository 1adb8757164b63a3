// Editors outlive the places where they stand: Streamlit may take a component off the page at a rerun and put it back at once,
// and what was typed, where the cursor was, what can be undone and what was in sight is then as it was.
const AWAY_MS = 1000;
const REFOCUS_MS = 500;
const kept = new Map();

/** The editor of this name that lives, or nothing. */
export function living(name) {
  return kept.get(name);
}

export class Kept {
  /** `root` holds the editor; `destroy` ends it. */
  constructor(name, root, destroy) {
    this.name = name;
    this.root = root;
    this.end = destroy;
    this.scrolled = new Map();
    this.turn = 0;
    root.addEventListener("scroll", ({ target }) => root.isConnected && this.scrolled.set(target, [target.scrollTop, target.scrollLeft]), true);
    root.addEventListener("focusin", () => { this.focused = document.activeElement; });
    root.addEventListener("focusout", ({ relatedTarget }) => this.left(relatedTarget));
    kept.set(name, this);
  }

  /** The focus goes to something else, or nowhere: as it does, too, where the editor is taken off the page. */
  left(to) {
    if (to) this.focused = undefined;
    else this.lostAt = performance.now();
  }

  /** Stands in `host` from now on; gives back what ends that, unless it was shown again meanwhile. */
  show(host) {
    clearTimeout(this.timer);
    this.turn += 1;
    const { turn } = this;
    if (this.root.parentNode !== host) this.move(host);
    return () => this.turn === turn && this.leave();
  }

  move(host) {
    host.appendChild(this.root);
    for (const [element, [top, left]] of this.scrolled) Object.assign(element, { scrollTop: top, scrollLeft: left });
    const lost = this.lostAt === undefined || performance.now() - this.lostAt < REFOCUS_MS;
    if (this.focused && lost && document.activeElement === document.body) this.focused.focus({ preventScroll: true });
  }

  leave() {
    this.root.remove();
    this.timer = setTimeout(() => this.destroy(), AWAY_MS);
  }

  destroy() {
    clearTimeout(this.timer);
    this.end();
    this.root.remove();
    if (kept.get(this.name) === this) kept.delete(this.name);
  }
}
