// What a reader trips over on a page: text that is cut, lies over other text, or is broken inside a word. One sentence each.
() => {
  const wrong = new Set();
  const LONGEST_WORD = 18; // longer ones, such as addresses and ids, may be broken
  const shown = (node) => node.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true });
  const short = (text) => text.trim().replace(/\s+/g, " ").slice(0, 60);
  const lines = (range) => {
    const tops = [...range.getClientRects()].filter((box) => box.width > 0).map((box) => Math.round(box.top));
    return new Set(tops).size;
  };
  const isClipped = ({ overflowX, textOverflow }) => ["auto", "scroll"].includes(overflowX) || textOverflow === "ellipsis";
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const text = texts.currentNode;
    const node = text.parentElement;
    if (!text.textContent.trim() || !shown(node) || node.closest("option, noscript, .skip, .hidden-character") || node.clientWidth === 1) continue;
    for (const found of text.textContent.matchAll(/[\p{L}\p{N}]+/gu)) {
      if (found[0].length > LONGEST_WORD || /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/u.test(found[0])) continue;
      const range = document.createRange();
      range.setStart(text, found.index);
      range.setEnd(text, found.index + found[0].length);
      if (lines(range) > 1) wrong.add(`breaks inside a word: ${found[0]} in ${short(text.textContent)}`);
    }
    if (node.closest("svg")) continue;
    const all = document.createRange();
    all.selectNodeContents(text);
    const { left, right } = all.getBoundingClientRect();
    let outer = node;
    while (outer && !isClipped(getComputedStyle(outer))) outer = outer.parentElement;
    if (!outer && (left < -1 || right > innerWidth + 1)) wrong.add(`outside the window: ${short(text.textContent)}`);
    for (let box = node; box && box !== document.body; box = box.parentElement) {
      const style = getComputedStyle(box);
      if (!["hidden", "clip"].includes(style.overflowX) || style.textOverflow === "ellipsis") continue;
      if (box.scrollWidth > box.clientWidth + 1) wrong.add(`cut: ${short(text.textContent)}`);
    }
  }
  for (const field of document.querySelectorAll("button, select, th, .tag"))
    if (shown(field) && field.scrollWidth > field.clientWidth + 1 && field.clientWidth > 0)
      wrong.add(`cut: ${short(field.textContent)}`);
  for (const drawing of document.querySelectorAll("svg[role], .lane-field")) {
    const frame = drawing.getBoundingClientRect();
    const boxes = [...drawing.querySelectorAll("text, .value, .tick")].filter(shown).map((node) => [node, node.getBoundingClientRect()]);
    for (const [at, [node, box]] of boxes.entries()) {
      if (box.left < frame.left - 1 || box.right > frame.right + 1 || box.top < frame.top - 1 || box.bottom > frame.bottom + 1)
        wrong.add(`outside its drawing: ${short(node.textContent)}`);
      for (const [other, rest] of boxes.slice(at + 1)) {
        const wide = Math.min(box.right, rest.right) - Math.max(box.left, rest.left);
        const high = Math.min(box.bottom, rest.bottom) - Math.max(box.top, rest.top);
        if (wide > 2 && high > 3) wrong.add(`overlap: ${short(node.textContent)} and ${short(other.textContent)}`);
      }
    }
  }
  return [...wrong];
}
