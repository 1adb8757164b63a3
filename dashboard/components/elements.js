// Elements of a page, made in one call, and the components that keep them through every call of Streamlit's.

/** A new element of this tag, the last in `parent` (none: nowhere yet). */
export function element(tag, className, parent, text = "") {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text) made.textContent = text;
  parent?.appendChild(made);
  return made;
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
