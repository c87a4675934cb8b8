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
  // ---- what is folded is printed too
  addEventListener("beforeprint", () => { for (const each of document.querySelectorAll("details")) each.open = true; });
})();
