// On a phone the pages are listed in a drawer: it closes behind whoever has chosen one.
const NARROW = matchMedia("(max-width: 768px)");

document.addEventListener("click", ({ target }) => {
  if (!NARROW.matches || !target.closest?.('[data-testid="stSidebarNavLink"]')) return;
  setTimeout(() => document.querySelector('[data-testid="stSidebar"][data-collapsed="false"] [data-testid="stSidebarCollapseButton"] button')?.click());
});
