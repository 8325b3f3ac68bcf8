// Puts the figures on the page, and lets a reader choose.

// What is chosen for the figures of a section.
function chosen(figure) {
  const selects = figure.closest("section")?.querySelectorAll("select") || [];
  return Object.fromEntries([...selects].map((select) => [select.dataset.choose, select.value]));
}

function startFigures() {
  const sizes = new ResizeObserver((entries) => entries.forEach(({ target }) => {
    const plot = plots.get(target);
    // Its own height changes when it is drawn.
    if (target.clientWidth !== plot.seen) { plot.seen = target.clientWidth; plot.draw(); }
  }));
  const plots = new Map();
  for (const figure of document.querySelectorAll("figure[data-plot]")) {
    const run = DATA.runs[figure.dataset.run] || null;
    plots.set(figure, new Plot(figure, () => FIGURES[figure.dataset.plot](run, chosen(figure))));
    sizes.observe(figure);
  }
  for (const select of document.querySelectorAll("select[data-choose]"))
    select.addEventListener("change", () => {
      for (const figure of select.closest("section").querySelectorAll("figure")) plots.get(figure)?.draw();
    });
  // On paper all panels are shown, those too that were never drawn.
  window.addEventListener("beforeprint", () => plots.forEach((plot, figure) => plot.draw(figure.clientWidth || 680)));
}

function startTabs() {
  const tabs = [...document.querySelectorAll("[role=tab]")];
  const select = (tab) => {
    for (const other of tabs) {
      other.setAttribute("aria-selected", String(other === tab));
      other.tabIndex = other === tab ? 0 : -1;
      document.getElementById(other.getAttribute("aria-controls")).hidden = other !== tab;
    }
  };
  tabs.forEach((tab, index) => {
    tab.addEventListener("click", () => select(tab));
    tab.addEventListener("keydown", (event) => {
      const to = { ArrowLeft: index - 1, ArrowRight: index + 1, Home: 0, End: tabs.length - 1 }[event.key];
      const next = to === undefined ? null : tabs[(to + tabs.length) % tabs.length];
      if (!next) return;
      event.preventDefault();
      select(next);
      next.focus();
    });
  });
  if (tabs.length) select(tabs[0]);
}

startTabs();
startFigures();
