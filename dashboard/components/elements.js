// Elements of a page, made in one call, and the components that keep them through every call of Streamlit's.

/** A new element of this tag, the last in `parent` (none: nowhere yet). */
export function element(tag, className, parent, text = "") {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text) made.textContent = text;
  parent?.appendChild(made);
  return made;
}

/** Of a longer name the middle is left out, where it has no room: its end tells it from others as its beginning does. */
const LONG = 40;
const END = 14;

/** Writes a text into `place`, a long name so that its end is seen, too. */
export function write(text, place) {
  if (text.length <= LONG || /\s/.test(text)) {
    place.append(text);
    return;
  }
  const line = element("span", "long", place);
  line.title = text;
  element("span", "begin", line, text.slice(0, -END));
  element("span", "end", line, text.slice(-END));
}

/** A component for Streamlit: one `new Thing(host, data)` a host, which every call for that host tells to `show(data, trigger, host)`. Streamlit
 * may call an outdated cleanup after a newer call: only the newest one's counts, and calls `destroy()`. */
export function component(Thing) {
  const shown = new WeakMap();
  return ({ data, parentElement: host, setTriggerValue }) => {
    if (!shown.has(host)) shown.set(host, { thing: new Thing(host, data), turn: 0 });
    const kept = shown.get(host);
    const turn = (kept.turn += 1);
    const cleanup = () => {
      if (kept.turn !== turn || shown.get(host) !== kept) return;
      shown.delete(host);
      kept.thing.destroy();
    };
    const showing = kept.thing.show(data, setTriggerValue, host);
    return showing ? showing.then(() => cleanup) : cleanup;
  };
}
