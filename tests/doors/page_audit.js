// What is wrong with a page for whoever does not see it, or has no mouse: one sentence each.
() => {
  const wrong = [];
  const shown = (node) => node.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true });
  const all = (selector) => [...document.querySelectorAll(selector)].filter(shown);
  const short = (node) => node.outerHTML.slice(0, 120);
  const name = (node) => {
    const named = (node.getAttribute("aria-labelledby") ?? "")
      .split(" ")
      .map((id) => id && document.getElementById(id)?.textContent)
      .join("");
    return (
      named ||
      node.getAttribute("aria-label") ||
      [...(node.labels ?? [])].map((label) => label.textContent).join("") ||
      node.textContent ||
      node.querySelector("img")?.alt ||
      ""
    ).trim();
  };
  if (!document.documentElement.lang) wrong.push("the page has no language");
  if (all("main h1").length !== 1) wrong.push(`the page has ${all("main h1").length} main headings`);
  for (const node of all("a[href], button, input, select, textarea, summary, dialog, nav, [role=region]"))
    if (!name(node)) wrong.push(`no name: ${short(node)}`);
  for (const node of all("input, select, textarea"))
    if (!node.labels?.length && !node.getAttribute("aria-label")) wrong.push(`no label: ${short(node)}`);
  for (const node of all("img")) if (!node.hasAttribute("alt")) wrong.push(`no alternative text: ${short(node)}`);
  for (const node of all("table"))
    if (!node.caption || !node.querySelector("th[scope]"))
      wrong.push(`a table without caption or headings: ${short(node)}`);
  for (const node of all("[tabindex]")) if (node.tabIndex > 0) wrong.push(`changes the order of Tab: ${short(node)}`);
  for (const node of all("a:not([href]), [onclick]")) wrong.push(`cannot be reached by key: ${short(node)}`);
  const ids = [...document.querySelectorAll("[id]")].map((node) => node.id);
  for (const id of new Set(ids.filter((each, at) => ids.indexOf(each) !== at))) wrong.push(`two have the id ${id}`);
  const levels = all("main h1, main h2, main h3, main h4").map((node) => Number(node.localName[1]));
  levels.forEach((level, at) => {
    if (at && level > levels[at - 1] + 1)
      wrong.push(`a heading of level ${level} follows one of level ${levels[at - 1]}`);
  });

  const numbers = (colour) => {
    const [r, g, b, a = 1] = colour.match(/[\d.]+/g).map(Number);
    return { r, g, b, a };
  };
  const ground = (node) => {
    for (let each = node; each; each = each.parentElement) {
      const colour = numbers(getComputedStyle(each).backgroundColor);
      if (colour.a > 0.99) return colour;
    }
    return { r: 255, g: 255, b: 255 };
  };
  const light = ({ r, g, b }) => {
    const [x, y, z] = [r, g, b].map((part) => {
      const share = part / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const node = texts.currentNode.parentElement;
    if (!texts.currentNode.textContent.trim() || !shown(node) || node.closest("svg, :disabled, .skip, noscript"))
      continue;
    const [a, b] = [light(numbers(getComputedStyle(node).color)), light(ground(node))];
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (contrast < 4.5) wrong.push(`contrast ${contrast.toFixed(2)}: ${short(node)}`);
  }
  if (document.documentElement.scrollWidth > document.documentElement.clientWidth)
    wrong.push(`wider than the window: ${document.documentElement.scrollWidth}`);
  return wrong;
}
