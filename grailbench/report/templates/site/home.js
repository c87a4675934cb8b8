// ---- the picture of the first page, by uPlot: a mark an implementation
{
  const home = document.querySelector(".picture"), data = JSON.parse(document.querySelector(".points").textContent);
  const [groups, axis] = ["group", "axis"].map(name => home.querySelector(`[data-pick=${name}]`));
  const plot = home.querySelector(".plot"), colour = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const short = value => value >= 1e9 ? `${value / 1e9} G` : value >= 1e6 ? `${value / 1e6} M` : value >= 1e3 ? `${value / 1e3} k` : `${value}`;
  const ticks = (u, axis, least, most) => {
    const steps = Math.log10(most / least) < 3 ? [1, 2, 5] : [1], found = [];
    for (let power = Math.floor(Math.log10(least)); 10 ** power <= most; power++) found.push(...steps.map(step => step * 10 ** power));
    return found.filter(value => value >= least && value <= most);
  };
  const range = values => [Math.min(...values) / 2, Math.max(...values) * 2];
  let drawn = null;

  const draw = () => {
    drawn?.destroy();
    const of = +axis.value, marks = data.groups[groups.value].marks;
    const known = marks.map(mark => mark[of]).filter(value => value > 0);
    const edge = known.length ? Math.min(...known) / 2 : 1;
    const xs = marks.map(mark => mark[of] > 0 ? mark[of] : edge), ys = marks.map(mark => mark[2]);
    const best = marks.map((_, i) => !marks.some((_, j) => ys[j] > ys[i] && xs[j] <= xs[i]));
    const paths = u => {
      const ctx = u.ctx, dot = 5 * devicePixelRatio;
      ctx.save();
      ctx.font = `${11 * devicePixelRatio}px system-ui, sans-serif`;
      marks.forEach((mark, i) => {
        const x = u.valToPos(xs[i], "x", true), y = u.valToPos(ys[i], "y", true);
        ctx.globalAlpha = mark[5] === "†" ? .45 : 1;
        ctx.fillStyle = colour(`--s${mark[1]}`);
        ctx.beginPath(); ctx.arc(x, y, dot, 0, 7); ctx.fill();
        if (!best[i]) return;
        const left = x > u.bbox.left + .65 * u.bbox.width;
        ctx.globalAlpha = 1; ctx.fillStyle = colour("--ink"); ctx.textAlign = left ? "right" : "left";
        ctx.fillText(data.names[mark[0]], x + (left ? -1.6 : 1.6) * dot, y - dot);
      });
      ctx.restore();
      return null;
    };
    const line = { stroke: colour("--soft"), grid: { stroke: colour("--line") }, ticks: { stroke: colour("--line") }, splits: ticks, filter: (u, splits) => splits, values: (u, splits) => splits.map(value => short(+value.toPrecision(2))), font: "12px system-ui", labelFont: "12px system-ui" };
    drawn = new uPlot({
      mode: 2, width: plot.clientWidth, height: Math.min(460, Math.max(300, plot.clientWidth * .6)), legend: { show: false },
      cursor: { show: false }, scales: { x: { time: false, distr: 3, range: () => range(xs) }, y: { distr: 3, range: () => range(ys) } },
      axes: [{ ...line, scale: "x", label: axis.selectedOptions[0].text }, { ...line, scale: "y", label: "queries a second", size: 60 }],
      series: [{}, { facets: [{ scale: "x", auto: true }, { scale: "y", auto: true }], paths }],
    }, [null, [xs, ys]], plot);
    const hint = plot.appendChild(Object.assign(document.createElement("div"), { className: "hint", hidden: true }));
    let at = -1;
    drawn.over.addEventListener("mousemove", event => {
      const far = marks.map((_, i) => Math.hypot(drawn.valToPos(xs[i], "x") - event.offsetX, drawn.valToPos(ys[i], "y") - event.offsetY));
      at = far.reduce((least, each, i) => each < far[least] ? i : least, 0);
      if (far[at] > 24) at = -1;
      hint.hidden = at < 0;
      drawn.over.style.cursor = at < 0 ? "" : "pointer";
      if (at < 0) return;
      const mark = marks[at], cost = mark[of] > 0 ? `, ${short(mark[of])} ${of === 3 ? "ms" : "bytes"}` : "";
      hint.textContent = `${data.names[mark[0]]}, ${data.places[mark[1]]}: ${short(mark[2])} queries a second${cost}${{ "†": ", unstable", "‡": ", of fewer than ten trials" }[mark[5]] ?? ""}`;
      hint.style.left = `${Math.min(event.offsetX + 70, plot.clientWidth * .45)}px`;
      hint.style.top = `${event.offsetY}px`;
    });
    drawn.over.addEventListener("mouseleave", () => { hint.hidden = true; });
    drawn.over.addEventListener("click", () => { if (at >= 0) location.href = marks[at][6]; });
  };

  if (data.groups.length) {
    data.groups.forEach((group, i) => groups.add(new Option(group.title, i)));
    groups.value = data.usual;
    const legend = home.querySelector(".legend");
    data.places.forEach((name, i) => {
      const item = legend.appendChild(document.createElement("li"));
      item.appendChild(document.createElement("span")).className = `k${i}`;
      item.append(name);
    });
    home.hidden = false;
    for (const pick of [groups, axis]) pick.addEventListener("change", draw);
    new MutationObserver(draw).observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
    let wide = 0;
    new ResizeObserver(() => { if (plot.clientWidth !== wide) { wide = plot.clientWidth; draw(); } }).observe(plot);
  }
}
