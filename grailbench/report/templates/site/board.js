// ---- the leaderboard, by Tabulator
{
  const data = JSON.parse(document.querySelector("script.cells").textContent), [pages, of, anchors] = data.rows;
  const names = Object.entries(data.names), numbers = Object.entries(data.numbers).filter(([, values]) => values.some(value => value !== null));
  const rows = of.map((page, i) => {
    const row = { id: i, rows: `${pages[page]}#${anchors[i]}`, mark: data.marks[i] };
    names.forEach(([, [texts, at]], n) => { row[`n${n}`] = texts[at[i]]; });
    numbers.forEach(([, values], n) => { row[`v${n}`] = values[i]; });
    return row;
  });
  const rank = names.map(([, [texts]]) => new Map(texts.map((text, i) => [text, i])));
  const least = (a, b, one, other, column, way) => a === b ? 0 : a === null ? (way === "asc" ? 1 : -1) : b === null ? (way === "asc" ? -1 : 1) : a - b;
  const text = title => ({ title, headerFilter: "input", minWidth: 100 });
  const named = names.map(([title], n) => ({ ...text(title), field: `n${n}`, responsive: n === 1 || n === 2 ? 0 : n + 2,
    sorter: (a, b) => rank[n].get(a) - rank[n].get(b) }));
  const narrow = matchMedia("(max-width: 600px)").matches;
  window.board = new Tabulator(".board", {
    data: rows, height: narrow ? "70vh" : "75vh", layout: narrow ? "fitColumns" : "fitDataFill", renderVerticalBuffer: 100, placeholder: "No cell fits the filters.",
    responsiveLayout: narrow ? "collapse" : false, responsiveLayoutCollapseStartOpen: false,
    initialSort: [{ column: "v0", dir: "asc" }], initialHeaderFilter: [{ field: "n0", value: "reachability" }],
    columns: [
      ...(narrow ? [{ formatter: "responsiveCollapse", headerSort: false, width: 30, minWidth: 30, hozAlign: "center" }] : []),
      ...named.slice(0, 4),
      ...numbers.map(([title], n) => ({ ...text(title), field: `v${n}`, hozAlign: "right", responsive: n ? n + 1 : 0, sorter: least,
        headerFilterFunc: (most, value) => value !== null && value <= +most, headerFilterPlaceholder: "at most",
        formatter: cell => cell.getValue() === null ? "" : cell.getValue().toLocaleString("en-US", { maximumSignificantDigits: 4 }) + (title.endsWith("bytes") ? "" : cell.getData().mark) })),
      ...named.slice(4),
    ],
  });
  board.on("rowClick", (event, row) => { location.href = row.getData().rows; });
}
