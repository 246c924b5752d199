// A table that is wider than the page scrolls sideways. With this, it does so by keys too.
const openTables = () => {
  for (const frame of document.querySelectorAll(".md-typeset__scrollwrap:not([tabindex])")) {
    frame.tabIndex = 0;
    frame.setAttribute("role", "region");
    frame.setAttribute("aria-label", `Table ${document.querySelectorAll("[aria-label^='Table ']").length + 1}`);
  }
};
new MutationObserver(openTables).observe(document.documentElement, { childList: true, subtree: true });
openTables();
