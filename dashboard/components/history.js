// Back leads to where somebody was. Where a button opens a page, Streamlit makes two entries: first the old page with the new one's
// selection, then the new page. The second takes the first one's place, unless somebody pressed something between the two.
const push = history.pushState.bind(history);
let selected = false;

history.pushState = (state, unused, url) => {
  const to = new URL(url ?? location.href, location.href);
  const other = to.pathname !== location.pathname;
  if (other && selected && to.search === location.search) history.replaceState(state, unused, url);
  else push(state, unused, url);
  selected = !other;
};
for (const kind of ["pointerdown", "keydown", "popstate"]) addEventListener(kind, () => { selected = false; }, true);
