"use strict";
// Draws the plots of the page and lets them zoom together. `vegaEmbed` stands in the page too: nothing is loaded.
(async () => {
  const page = JSON.parse(document.getElementById("plots").textContent);
  const rows = (columns) => {
    const names = Object.keys(columns);
    return columns[names[0]].map((_, at) => Object.fromEntries(names.map((name) => [name, columns[name][at]])));
  };
  const timed = [];
  let following = false;
  for (const [at, panel] of page.panels.entries()) {
    const own = Object.fromEntries(Object.entries(panel.data).map(([name, columns]) => [name, rows(columns)]));
    const spec = {
      ...panel.spec,
      width: "container",
      autosize: { type: "fit-x", contains: "padding" },
      config: page.config,
      datasets: { ...panel.spec.datasets, ...own },
    };
    const { view } = await vegaEmbed(document.getElementById(`plot-${at}`), spec, {
      renderer: "svg",
      downloadFileName: panel.file,
      actions: { export: true, source: false, compiled: false, editor: false },
    });
    if (panel.time) {
      timed.push(view);
      view.addSignalListener("zoom_t", (_, domain) => {
        if (following) return;
        following = true;
        for (const other of timed) if (other !== view) other.signal("zoom_t", domain).run();
        following = false;
      });
    }
  }
  document.body.dataset.drawn = "yes";
})();
