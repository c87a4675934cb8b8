  // ---- legends: a click, Enter or Space hides the marks of a series; with Shift, those of all others
  for (const drawing of document.querySelectorAll(".drawing")) {
    const keys = (at) => drawing.querySelectorAll(`[data-key${at === undefined ? "" : `="${at}"`}]`);
    const set = (at, shown) => {
      for (const mark of drawing.querySelectorAll(`[data-series="${at}"]`)) mark.classList.toggle("hidden", !shown);
      for (const key of keys(at)) key.setAttribute("aria-checked", shown);
    };
    const turn = (key, alone) => {
      const at = key.dataset.key;
      if (!alone) { set(at, key.getAttribute("aria-checked") === "false"); return; }
      const others = [...new Set([...keys()].map((each) => each.dataset.key))].filter((each) => each !== at);
      const all = others.every((each) => keys(each)[0].getAttribute("aria-checked") === "false");
      for (const other of others) set(other, all);
      set(at, true);
    };
    for (const key of keys()) {
      key.setAttribute("role", "checkbox");
      key.setAttribute("aria-checked", "true");
      if (key.tagName === "text" || key.querySelector("text")) {
        key.setAttribute("tabindex", "0");
        key.setAttribute("aria-label", key.textContent);
      }
      key.addEventListener("click", (event) => turn(key, event.shiftKey));
      key.addEventListener("keydown", (event) => {
        if (event.key === "Enter" || event.key === " ") { event.preventDefault(); turn(key, event.shiftKey); }
      });
    }
  }

  // ---- hints: what a browser shows of a mark after a while, at once and on touch
  const hint = document.createElement("div");
  hint.className = "hint";
  hint.hidden = true;
  document.body.append(hint);
  for (const event of ["pointerover", "click", "focusin"]) {
    document.addEventListener(event, (at) => {
      const mark = at.target.closest?.(".drawing [data-series] :is(use, path)")
        ?? at.target.closest?.(".drawing [data-series] a")?.querySelector("use, path");
      const title = mark?.querySelector("title");
      if (title) { mark.dataset.hint = title.textContent; title.remove(); }
      hint.hidden = !mark?.dataset.hint;
      if (hint.hidden) return;
      hint.textContent = mark.dataset.hint;
      const place = mark.getBoundingClientRect();  // of a mark that has the focus there is no pointer
      const [x, y] = event === "focusin" ? [place.right + scrollX, place.bottom + scrollY] : [at.pageX, at.pageY];
      hint.style.left = `${Math.max(4, Math.min(x + 12, scrollX + innerWidth - hint.offsetWidth - 12))}px`;
      hint.style.top = `${y + 14}px`;
    });
  }

  // ---- links of marks: a drawing is one stop of the keyboard, and arrows go from mark to mark in it
  for (const svg of document.querySelectorAll(".drawing svg")) {
    const links = [...svg.querySelectorAll("a[href]")];
    for (const [at, link] of links.entries()) link.setAttribute("tabindex", at === 0 ? "0" : "-1");
    svg.addEventListener("keydown", (event) => {
      const at = links.indexOf(document.activeElement);
      const shown = links.filter((link) => !link.closest(".hidden"));
      const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
      const place = shown.indexOf(links[at]);
      const next = event.key === "Home" ? shown[0] : event.key === "End" ? shown.at(-1)
        : event.key in steps ? shown[Math.max(0, Math.min(shown.length - 1, place + steps[event.key]))] : undefined;
      if (at < 0 || !next) return;
      event.preventDefault();
      links[at].setAttribute("tabindex", "-1");
      next.setAttribute("tabindex", "0");
      next.focus();
    });
  }
