"use strict";
// Draws the charts of the page. `vegaEmbed` stands in the page too: nothing is loaded.
(async () => {
  const page = JSON.parse(document.getElementById("plots").textContent);
  for (const [at, chart] of page.charts.entries()) {
    await vegaEmbed(document.getElementById(`plot-${at}`), { ...chart.spec, config: { ...chart.spec.config, ...page.config } }, {
      renderer: "svg",
      downloadFileName: chart.file,
      actions: { export: true, source: false, compiled: false, editor: false },
    });
  }
  document.body.dataset.drawn = "yes";
})();
