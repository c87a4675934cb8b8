// ---- what an address names is unfolded, where the browser does not do so by itself
{
  const reveal = () => {
    const at = document.getElementById(location.hash.slice(1));
    if (!at) return;
    let folded = false;
    for (let each = at.closest("details:not([open])"); each; each = each.parentElement.closest("details:not([open])")) {
      each.open = folded = true;
    }
    if (folded) at.scrollIntoView();
  };
  addEventListener("hashchange", reveal);
  reveal();
}
