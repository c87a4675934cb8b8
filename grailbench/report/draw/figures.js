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
  for (const event of ["pointerover", "click"]) {
    document.addEventListener(event, (at) => {
      const mark = at.target.closest?.(".drawing [data-series] > *");
      const title = mark?.querySelector("title");
      if (title) { mark.dataset.hint = title.textContent; title.remove(); }
      hint.hidden = !mark?.dataset.hint;
      if (hint.hidden) return;
      hint.textContent = mark.dataset.hint;
      hint.style.left = `${Math.max(4, Math.min(at.pageX + 12, scrollX + innerWidth - hint.offsetWidth - 12))}px`;
      hint.style.top = `${at.pageY + 14}px`;
    });
  }
