// The leaderboard. Names are only ever text: they are set by textContent, and looked up in Maps.
(() => {
  "use strict";
  const board = document.querySelector(".board");
  if (!board) return;
  const data = JSON.parse(board.querySelector('script[type="application/json"]').textContent);
  if (!data.problems.length) return;
  const { problems, sets, graphs, impls, queries, statuses, machines, cells } = data;
  const DIGITS = Number("@DIGITS@"), UNMEASURED = "@UNMEASURED@", BLANK = "–", ALL = "all";
  const FROM_EDGES = ["answers", "ready"], SOUND = ["good", "sampled", "incomplete"];
  const KINDS = [["random", "Random"], ["balanced", "Balanced"], ["other", "Others"]];
  const PAGE = Number(board.dataset.page), total = cells.graph.length;
  const part = (selector) => board.querySelector(selector);
  const table = part("table"), region = part(".scroll"), status = part("[role=status]"), warning = part(".warning");
  const picks = new Map([...board.querySelectorAll("[data-choice]")].map((each) => [each.dataset.choice, each]));

  // ---- columns as typed arrays; a number that was not measured is NaN
  const values = new Map();
  const column = (key) => {
    if (!values.has(key)) {
      values.set(key, key === "machine" ? Int32Array.from(cells.run, (run) => data.runs.machine[run])
        : Float64Array.from(cells[key], (value) => (value === null ? NaN : value)));
    }
    return values.get(key);
  };
  const sound = statuses.map(([word, kind]) => kind === "good" || SOUND.includes(word));
  const own = problems.map(() => []);
  for (let i = 0; i < total; i++) own[cells.problem[i]].push(i);
  const rows = own.map((each) => Int32Array.from(each));
  const orders = new Map();
  const order = (problem, key) => {  // the cells of a problem by a column, those without a value apart
    const name = `${problem} ${key}`;
    if (!orders.has(name)) {
      const by = column(key), found = rows[problem].filter((i) => !Number.isNaN(by[i]));
      found.sort((a, b) => by[a] - by[b] || a - b);
      orders.set(name, [found, rows[problem].filter((i) => Number.isNaN(by[i]))]);
    }
    return orders.get(name);
  };
  const numbered = new Map();
  const ordinals = (problem, key) => {  // equal values have equal ordinals, from 1 on; 0 stands for none
    const name = `${problem} ${key}`;
    if (!numbered.has(name)) {
      const by = column(key), found = new Int32Array(total);
      let before = NaN, at = 0;
      for (const i of order(problem, key)[0]) {
        if (by[i] !== before) { before = by[i]; at++; }
        found[i] = at;
      }
      numbered.set(name, found);
    }
    return numbered.get(name);
  };

  // ---- what may be chosen of a problem: [value, words, index], by the name of the choice
  const plain = (header) => header.replace(/, ms$/, "");
  const lists = new Map();
  const choices = (problem) => {
    if (!lists.has(problem)) {
      const its = problems[problem], having = (key) => new Set(rows[problem].map((i) => column(key)[i]));
      const inside = having("impl"), here = having("machine");
      const present = new Set(), asked = new Set();
      for (const i of rows[problem]) { present.add(graphs.set[cells.graph[i]]); asked.add(queries.kind[cells.queries[i]]); }
      lists.set(problem, new Map(Object.entries({
        set: [["", "All sets", -1], ...sets.map(([name, title], at) => [name, title, at]).filter(([, , at]) => present.has(at))],
        impl: [["", "All implementations", -1], ...impls.name.map((name, at) => [name, name, at]).filter(([, , at]) => inside.has(at))],
        machine: [[ALL, "All machines", -1], ...machines.map((each, at) => [each.id, each.name, at]).filter(([, , at]) => here.has(at))],
        time: its.columns.filter(([key, , kind]) => kind === "ms" && rows[problem].some((i) => cells[key][i] !== null)).map(([key, header]) => [key, plain(header)]),
        queries: [["", "All queries"], ...KINDS.filter(([kind]) => asked.has(kind))],
      })));
    }
    return lists.get(problem);
  };
  const chosen = (name) => choices(state.problem).get(name).find(([value]) => value === state[name]);

  // ---- the state, and the fragment of the address that keeps it
  const usual = (problem) => ({
    problem, set: "", graph: "", impl: "", machine: machines[problems[problem].machine].id, time: problems[problem].time,
    queries: problems[problem].queries, best: true, sound: true, sort: "graph", down: false, page: 1,
  });
  let state = usual(0);
  const CHOSEN = ["set", "impl", "machine", "time", "queries"];
  const fragment = () => {
    const words = new URLSearchParams({ problem: problems[state.problem].name }), start = usual(state.problem);
    for (const name of [...CHOSEN, "graph"]) {
      if (name === "machine" || name === "time" || state[name] !== start[name]) words.set(name, state[name]);
    }
    if (!state.best) words.set("best", "no");
    if (!state.sound) words.set("sound", "no");
    if (state.sort !== "graph" || state.down) words.set("sort", `${state.down ? "-" : ""}${state.sort}`);
    if (state.page > 1) words.set("page", state.page);
    return `#${words}`;
  };
  const read = () => {  // null: the fragment names another place of the page, and the view stays
    const words = new URLSearchParams(location.hash.slice(1));
    if (location.hash.length > 1 && !words.has("problem")) return null;
    const at = problems.findIndex((each) => each.name === words.get("problem"));
    const found = usual(Math.max(0, at)), known = choices(found.problem);
    for (const name of CHOSEN) {
      if (words.has(name) && known.get(name).some(([value]) => value === words.get(name))) found[name] = words.get(name);
    }
    found.graph = words.get("graph") ?? "";
    found.best = words.get("best") !== "no";
    found.sound = words.get("sound") !== "no";
    const sort = words.get("sort") ?? "", key = sort.replace(/^-/, "");
    if (problems[found.problem].columns.some(([name]) => name === key)) { found.sort = key; found.down = sort !== key; }
    found.page = Math.max(1, Math.floor(Number(words.get("page"))) || 1);
    return found;
  };
  let later = 0;
  const keep = (anew) => {
    clearTimeout(later);
    later = 0;
    if (fragment() === location.hash) return;
    if (anew) history.pushState(null, "", fragment());
    else later = setTimeout(() => { later = 0; history.replaceState(null, "", fragment()); }, 250);
  };

  // ---- the view: which cells, their ranks, their order
  const rank = new Int32Array(total), among = new Int32Array(total);
  let view = { lines: [], passing: 0, without: 0, columns: [] };
  const compute = () => {
    const wanted = state.graph.trim().toLowerCase(), set = chosen("set")[2], machine = chosen("machine")[2];
    const fits = Uint8Array.from(graphs.name, (name, at) => (set < 0 || graphs.set[at] === set) && name.toLowerCase().includes(wanted));
    const asked = Uint8Array.from(queries.kind, (kind) => !state.queries || kind === state.queries);
    const impl = chosen("impl")[2], host = column("machine"), many = queries.name.length;
    const passes = (i) => fits[cells.graph[i]] && asked[cells.queries[i]] && (impl < 0 || cells.impl[i] === impl)
      && (machine < 0 || host[i] === machine) && (!state.sound || sound[cells.status[i]]);
    const [timed, untimed] = order(state.problem, state.time), time = column(state.time), groups = new Map();
    const group = (i) => {
      const key = cells.graph[i] * many + cells.queries[i];
      let found = groups.get(key);
      if (!found) groups.set(key, (found = { graph: cells.graph[i], timed: [], untimed: [], last: NaN, rank: 0 }));
      return found;
    };
    let passing = 0;
    for (const i of timed) {
      if (!passes(i)) continue;
      const its = group(i);
      its.timed.push(i);
      if (time[i] !== its.last) { its.last = time[i]; its.rank = its.timed.length; }
      rank[i] = its.rank;
      passing++;
    }
    for (const i of untimed) {
      if (!passes(i)) continue;
      group(i).untimed.push(i);
      rank[i] = 0;
      passing++;
    }
    const keys = Float64Array.from(groups.keys()).sort(), lines = [], largest = new Map(), seen = new Set();
    for (const key of keys) {
      const its = groups.get(key);
      for (const i of its.timed) among[i] = its.timed.length;
      if (!state.best) lines.push(...its.timed, ...its.untimed);
      seen.add(its.graph);
      if (its.timed.length > (largest.get(its.graph)?.timed.length ?? 0)) largest.set(its.graph, its);
    }
    if (state.best) for (const its of largest.values()) lines.push(its.timed[0]);
    const columns = problems[state.problem].columns.filter(([key, , kind]) => kind === "rank" || kind === "name"
      || FROM_EDGES.includes(key) || key === state.time || lines.some((i) => cells[key][i] !== null));
    view = { lines: sorted(lines, columns), passing, without: state.best ? seen.size - largest.size : 0, columns };
  };
  const sorted = (lines, columns) => {  // by the chosen column, what has no value last; equal ones stay as they are
    const key = columns.some(([name]) => name === state.sort) ? state.sort : "graph", count = lines.length;
    const by = key === "rank" ? rank : ordinals(state.problem, key);
    const places = Float64Array.from(lines, (i, at) => (by[i] ? (state.down ? total - by[i] : by[i]) : total + 1) * count + at).sort();
    return Array.from(places, (place) => lines[place % count]);
  };

  // ---- values in words, as grailbench.words has them
  const grouped = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
  const short = (value) => {
    if (value === 0) return "0";
    if (Math.abs(value) >= 10 ** (DIGITS - 1)) return grouped.format(value);
    const power = Number(value.toExponential(DIGITS - 1).split("e")[1]);
    return value.toFixed(Math.min(9, Math.max(0, DIGITS - 1 - power)));
  };
  const size = (count) => {
    for (const [unit, one] of [["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 2 ** 10]]) {
      if (count >= one) return `${count / one >= 100 ? (count / one).toFixed(0) : String(Number((count / one).toPrecision(3)))} ${unit}`;
    }
    return `${count} B`;
  };
  const counted = (number, thing) => `${grouped.format(number)} ${thing}${number === 1 ? "" : "s"}`;
  const names = new Map([["graph", graphs.name], ["impl", impls.name], ["config", data.configs], ["queries", queries.name],
    ["machine", machines.map((each) => each.name)], ["run", data.runs.name.map((name, at) => name + data.runs.mark[at])]]);
  const pages = new Map([["graph", ["graphs", graphs.page]], ["impl", ["implementations", impls.page]], ["run", ["runs", data.runs.page]]]);

  // ---- elements
  const make = (tag, text = "", attributes = {}) => {
    const found = document.createElement(tag);
    if (text !== "") found.textContent = text;
    for (const [name, value] of Object.entries(attributes)) found.setAttribute(name, value);
    return found;
  };
  const named = (i, key, cell) => {
    const at = column(key)[i];
    if (key === "note") {
      const [word, kind, sign] = statuses[cells.status[i]], note = data.notes[at];
      cell.append(make("span", "", { class: `status ${kind}` }));
      cell.firstChild.append(make("bdi", `${sign} ${word}${note ? `, ${note}` : ""}`));
      return;
    }
    const text = make("bdi", names.get(key)[at]);
    if (!pages.has(key)) { cell.append(text); return; }
    const [folder, stems] = pages.get(key), link = make("a", "", { href: `${folder}/${stems[at]}.html` });
    link.append(text);
    cell.append(link);
  };
  const line = (i) => {
    const row = document.createElement("tr");
    const address = `runs/${data.runs.page[cells.run[i]]}.html#c${cells.anchors.slice(12 * i, 12 * i + 12)}`;
    let linked = false;  // further links of a line to the same rows are no stops of the Tab key
    for (const [key, , kind] of view.columns) {
      const cell = key === "graph" ? make("th", "", { scope: "row" }) : document.createElement("td");
      row.append(cell);
      if (kind === "name") { named(i, key, cell); continue; }
      const value = kind === "rank" ? rank[i] || null : cells[key][i];
      cell.className = value === null ? "num none" : key === state.time ? "num ranked" : "num";
      if (value === null) {
        cell.append(make("bdi", FROM_EDGES.includes(key) && sound[cells.status[i]] ? UNMEASURED : BLANK));
        continue;
      }
      const text = kind === "rank" ? `${value} of ${grouped.format(among[i])}` : kind === "bytes" ? size(value)
        : short(kind === "rate" ? value * problems[state.problem].scale : value);
      const link = make("a", "", { href: address, ...(linked ? { tabindex: "-1" } : {}) });
      link.append(make("bdi", text));
      cell.append(link);
      linked = true;
    }
    return row;
  };
  const caption = () => {
    const its = problems[state.problem], time = plain(its.columns.find(([key]) => key === state.time)[1]);
    const asked = state.queries ? `, ${state.queries} queries` : "";
    const what = state.best ? "the fastest on each graph" : "all cells, ranked on each graph";
    return `${its.title}: ${what} by ‘${time}’${asked}, on ${chosen("machine")[0] === ALL ? "all machines" : chosen("machine")[1]}`;
  };
  const heads = () => {
    const row = table.tHead.rows[0], at = row.contains(document.activeElement) && document.activeElement.dataset.key;
    const before = [...row.cells].map((each) => each.firstElementChild?.dataset?.key).join(" ");
    if (before !== view.columns.map(([key]) => key).join(" ")) {
      row.replaceChildren(...view.columns.map(([key, header, kind]) => {
        const head = make("th", "", { scope: "col", ...(kind === "name" ? {} : { class: "num" }) });
        head.append(make("button", header, { type: "button", class: "sort", "data-key": key }));
        return head;
      }));
      if (at) [...row.querySelectorAll("button")].find((each) => each.dataset.key === at)?.focus();
    }
    for (const head of row.cells) {
      if (head.firstElementChild.dataset.key === state.sort) head.setAttribute("aria-sort", state.down ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    }
  };
  const pagers = [...board.querySelectorAll(".pager")].map((pager) => {
    const buttons = [["Previous page", -1], ["Next page", 1]].map(([text, step]) => {
      const button = make("button", text, { type: "button" });
      button.addEventListener("click", () => {
        if (button.getAttribute("aria-disabled") !== "true") change({ page: state.page + step }, true);
      });
      return button;
    });
    const text = make("span");
    pager.append(buttons[0], text, buttons[1]);
    return { pager, text, buttons };
  });
  const show = () => {
    const last = Math.max(1, Math.ceil(view.lines.length / PAGE)), from = (state.page = Math.min(state.page, last)) - 1;
    table.caption.replaceChildren(make("bdi", caption()));
    heads();
    const shown = document.createDocumentFragment();
    for (const i of view.lines.slice(from * PAGE, state.page * PAGE)) shown.append(line(i));
    if (!view.lines.length) {
      const row = make("tr");
      row.append(make("td", "No cell fits these choices.", { colspan: String(view.columns.length) }));
      shown.append(row);
    }
    table.tBodies[0].replaceChildren(shown);
    for (const { pager, text, buttons: [back, on] } of pagers) {
      pager.hidden = last === 1;
      text.textContent = `Page ${state.page} of ${grouped.format(last)}`;
      back.setAttribute("aria-disabled", String(state.page === 1));
      on.setAttribute("aria-disabled", String(state.page === last));
    }
    const lost = view.without ? ` ${counted(view.without, "more graph")} ${view.without === 1 ? "has" : "have"} no such time.` : "";
    status.textContent = `${counted(view.lines.length, "line")} of ${counted(view.passing, "cell")}, page ${state.page} of ${grouped.format(last)}.${lost}`;
    const [host, , at] = chosen("machine");
    const crossing = host === ALL ? choices(state.problem).get("machine").length > 2 : machines[at].mixed;
    warning.hidden = !crossing;
    warning.textContent = crossing ? "Times of different machines stand side by side: a rank then tells of machines as much as of implementations." : "";
  };

  // ---- controls
  const offered = (problem) => {
    for (const [name, list] of choices(problem)) {
      picks.get(name).replaceChildren(...list.map(([value, text]) => make("option", text, { value })));
    }
    picks.get("queries").closest("label").hidden = choices(problem).get("queries").length < 3;
  };
  let filled = -1;
  const sync = () => {
    if (filled !== state.problem) offered((filled = state.problem));
    for (const [name, pick] of picks) {
      if (pick.type === "checkbox") pick.checked = state[name];
      else if (pick.value !== state[name]) pick.value = state[name];
    }
    for (const button of tabs) button.setAttribute("aria-pressed", String(problems[state.problem].name === button.dataset.problem));
  };
  const change = (by, anew) => {
    state = { ...state, page: 1, ...by };
    sync();
    if (!("page" in by) || "problem" in by) compute();
    show();
    keep(anew);
  };
  const tabs = problems.map((problem, at) => {
    const button = make("button", problem.title, { type: "button", "data-problem": problem.name });
    button.addEventListener("click", () => change(usual(at), true));
    return button;
  });
  part(".problems").append(...tabs);
  for (const [name, pick] of picks) {
    if (pick.type === "search") pick.addEventListener("input", () => change({ graph: pick.value }, false));
    else pick.addEventListener("change", () => change({ [name]: pick.type === "checkbox" ? pick.checked : pick.value }, true));
  }
  part(".reset").addEventListener("click", () => change(usual(state.problem), true));
  table.tHead.addEventListener("click", (event) => {
    const key = event.target.closest("button")?.dataset.key;
    if (key) change({ sort: key, down: key === state.sort && !state.down }, true);
  });
  addEventListener("popstate", () => {
    clearTimeout(later);
    const found = read();
    if (!found) return;
    state = found;
    sync();
    compute();
    show();
  });
  addEventListener("pagehide", () => { if (later) history.replaceState(null, "", fragment()); });
  state = read() ?? state;
  sync();
  compute();
  show();
  part(".controls").hidden = false;
  part("details").open = matchMedia("(min-width: 601px)").matches;
})();
