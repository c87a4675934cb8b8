"use strict";
(() => {
  const root = document.documentElement;
  root.classList.remove("no-js");

  // ---- theme: that of the system until someone chooses; the choice is kept where the browser allows that
  const KEPT = "grailbench-theme";
  try { if (/^(dark|light)$/.test(localStorage.getItem(KEPT))) root.dataset.theme = localStorage.getItem(KEPT); } catch { /* not allowed */ }
  const theme = document.querySelector(".theme");
  const dark = () => (root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const say = () => { theme.textContent = dark() ? "Light page" : "Dark page"; };
  theme.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    try { localStorage.setItem(KEPT, root.dataset.theme); } catch { /* this page alone has it then */ }
    say();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", say);
  say();

  // ---- sorting: what is missing stays last, equal lines keep their order; lines of a stacked table stay together
  const NUMBER = /[-+]?\d[\d,]*(\.\d+)?(e[-+]?\d+)?/i;
  const value = (cell, numeric) => {
    const text = cell.textContent.trim();
    if (!numeric) return text === "" ? null : text.toLowerCase();
    const found = cell.dataset.by ?? NUMBER.exec(text)?.[0];
    return found === undefined || cell.classList.contains("bad") ? null : Number(found.replaceAll(",", ""));
  };
  const sort = (th) => {
    const table = th.closest("table"), stacked = table.classList.contains("stacked"), at = th.cellIndex;
    const numeric = th.classList.contains("num");
    const up = th.getAttribute("aria-sort") ? th.getAttribute("aria-sort") !== "ascending" : true;
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    th.setAttribute("aria-sort", up ? "ascending" : "descending");
    const parts = [...(stacked ? table.tBodies : table.tBodies[0].rows)];
    const keyed = parts.map((part) => ({ part, by: value((stacked ? part.rows[0] : part).cells[at], numeric) }));
    keyed.sort((a, b) => {
      if (a.by === null || b.by === null) return (a.by === null) - (b.by === null);
      const order = numeric ? a.by - b.by : a.by.localeCompare(b.by, "en", { numeric: true });
      return up ? order : -order;
    });
    (stacked ? table : table.tBodies[0]).append(...keyed.map((each) => each.part));
  };
  for (const button of document.querySelectorAll("table.sortable .sort")) {
    button.addEventListener("click", () => sort(button.closest("th")));
  }

  // @FIGURES@
  // ---- heat maps: another reference, another phase
  for (const heat of document.querySelectorAll("table.heat")) {
    const pick = (name) => heat.closest(".speedup").querySelector(`[data-heat="${name}"]`);
    const DEEPEST = Number("@DEEPEST@"), LEVELS = Number("@LEVELS@"), PENALTY = Number("@PENALTY@");
    const times = (x) => (x >= 99.5 ? Math.round(x).toLocaleString("en-US") : x >= 9.95 ? x.toFixed(1)
      : x >= 0.095 ? x.toFixed(2) : x >= 0.0005 ? x.toFixed(3) : "<0.001") + "×";
    const paint = (cell, ratio) => {
      cell.className = ratio === null ? "none" : ratio > 1 ? "faster" : ratio < 1 ? "slower" : "same";
      cell.textContent = ratio === null ? "–" : times(ratio);
      const level = ratio === null ? 0 : Math.round(Math.min(1, Math.abs(Math.log(ratio)) / Math.log(DEEPEST)) * LEVELS);
      if (level) cell.classList.add(`t${level}`);
    };
    const mean = (cell, ratios, lost) => {
      const graphs = ratios.length + lost;
      if (!ratios.length) { paint(cell, null); return; }
      const slowdowns = ratios.map((ratio) => 1 / ratio), penalty = Math.max(PENALTY, ...slowdowns);
      const logs = slowdowns.reduce((sum, each) => sum + Math.log(each), 0) + lost * Math.log(penalty);
      paint(cell, Math.exp(-logs / graphs));
      const small = document.createElement("small");
      small.textContent = `${graphs} graph${graphs === 1 ? "" : "s"}${lost ? `, ${lost} lost` : ""}`;
      cell.append(small);
    };
    const update = () => {
      const phase = pick("phase").value, heads = [...heat.tHead.rows[0].cells].slice(1);
      const at = heads.findIndex((head) => head.dataset.config === pick("reference").value);
      heads.forEach((head, i) => { i === at ? head.setAttribute("aria-current", "true") : head.removeAttribute("aria-current"); });
      for (const body of heat.tBodies) {
        const found = heads.map(() => ({ ratios: [], lost: 0 }));
        for (const row of body.rows) {
          const cells = [...row.cells].slice(1);
          if (row.classList.contains("means")) {
            cells.forEach((cell, i) => mean(cell, found[i].ratios, found[i].lost));
            continue;
          }
          const base = Number(cells[at].dataset[phase] || NaN);
          cells.forEach((cell, i) => {
            if ("absent" in cell.dataset) return;
            const ms = Number(cell.dataset[phase] || NaN), ratio = base / ms;
            const sound = ratio > 0 && Number.isFinite(ratio);
            if (sound) found[i].ratios.push(ratio);
            if (cell.classList.contains("fault")) { found[i].lost += !Number.isNaN(base); return; }
            paint(cell, sound ? ratio : null);
            cell.title = Number.isNaN(ms) ? "" : `${Number(ms.toPrecision(3))} ms`;
          });
        }
      }
    };
    for (const name of ["reference", "phase"]) pick(name).addEventListener("change", update);
    update();
  }

  // ---- what is folded is printed too
  addEventListener("beforeprint", () => { for (const each of document.querySelectorAll("details")) each.open = true; });
})();
