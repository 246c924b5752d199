// Where the names of a graph are drawn, by d3-force, and which of their labels have room. The same graph looks the same again.

const TICKS = 300;
const GAP = 4;
const LETTER = 7.2; // width of a letter of a label, in pixels
const LINE = 16;
const LEAST = 6;
const MOST = 22;

let loading;

/** The library, loaded when the first graph is drawn: other pages do not wait for it. */
export function load() {
  loading ??= (async () => {
    for (const name of ["dispatch", "quadtree", "timer", "force"]) await import(`./vendor/d3-${name}.min.js`);
    return globalThis.d3;
  })().catch((error) => {
    loading = undefined;
    throw error;
  });
  return loading;
}

/** Gives each node `x`, `y` and `r` within the frame. Nodes that already have a place keep near it, and all keep it if none is new. */
export function place(d3, nodes, pairs, { width, height, fixed }) {
  const most = Math.log1p(Math.max(...nodes.map((node) => node.mentions), 1));
  const roomy = Math.sqrt((width * height) / Math.max(nodes.length, 1));
  const known = new Set(nodes.filter((node) => node.x !== undefined).map((node) => node.id));
  for (const node of nodes) node.r = LEAST + (MOST - LEAST) * (Math.log1p(node.mentions) / most) ** 2;
  if (known.size === nodes.length) return;
  const links = pairs.map(([source, target]) => ({ source, target }));
  const middle = nodes.find((node) => node.id === fixed);
  if (middle) Object.assign(middle, { fx: width / 2, fy: height / 2 });
  const run = d3
    .forceSimulation(nodes)
    .alpha(known.size ? 0.4 : 1)
    .force("link", d3.forceLink(links).id((node) => node.id).distance(Math.min(roomy * 0.9, 130)).strength(0.25))
    .force("charge", d3.forceManyBody().strength(-Math.min(roomy * 7, 900)).distanceMax(width / 2))
    .force("room", d3.forceCollide((node) => node.r + Math.min(roomy * 0.24, 26)).iterations(2))
    .force("x", d3.forceX(width / 2).strength(0.05))
    .force("y", d3.forceY(height / 2).strength(0.05 * Math.max(width / height, 0.6)))
    .stop();
  run.tick(TICKS);
  stretch(nodes, width, height);
  for (const node of nodes) Object.assign(node, { fx: null, fy: null });
}

/** Shrinks what does not fit in the frame, and moves the rest into it. */
function stretch(nodes, width, height) {
  for (const [axis, size, edge] of [["x", width, 56], ["y", height, 34]]) {
    const [low, high] = [Math.min(...nodes.map((n) => n[axis])), Math.max(...nodes.map((n) => n[axis]))];
    const share = Math.min((size - 2 * edge) / Math.max(high - low, 1), 1.25);
    for (const node of nodes) node[axis] = size / 2 + (node[axis] - (low + high) / 2) * share;
  }
}

/** A place for each label that has room, by id: `{x, y, anchor}`. The largest nodes choose first. */
export function label(nodes, frame) {
  const taken = nodes.map((node) => box(node.x - node.r, node.y - node.r, 2 * node.r, 2 * node.r));
  const places = new Map();
  for (const node of [...nodes].sort((a, b) => b.isFirst - a.isFirst || b.r - a.r)) {
    const wide = widthOf(node.label);
    const choices = [
      [node.x, node.y + node.r + LINE - 3, "middle"],
      [node.x + node.r + GAP, node.y + 4, "start"],
      [node.x - node.r - GAP, node.y + 4, "end"],
      [node.x, node.y - node.r - GAP, "middle"],
    ];
    for (const [x, y, anchor] of choices) {
      const left = x - { start: 0, middle: wide / 2, end: wide }[anchor];
      const own = box(left, y - LINE + 3, wide, LINE);
      if (!isInside(own, frame) || taken.some((other) => isOver(own, other))) continue;
      taken.push(own);
      places.set(node.id, { x, y, anchor });
      break;
    }
  }
  return { places, taken };
}

/** True and taken when a text around this point has room. */
export function take(taken, x, y, text, frame) {
  const wide = widthOf(text) * 0.85;
  const own = box(x - wide / 2, y - LINE + 4, wide, LINE - 2);
  if (!isInside(own, frame) || taken.some((other) => isOver(own, other))) return false;
  taken.push(own);
  return true;
}

function widthOf(text) {
  return [...text].reduce((sum, letter) => sum + (letter.codePointAt(0) > 0x2e80 ? 2 : 1), 0) * LETTER + GAP;
}

const box = (x, y, w, h) => ({ x, y, w, h });
const isOver = (a, b) => a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;
const isInside = (a, { width, height }) => a.x >= 0 && a.y >= 0 && a.x + a.w <= width && a.y + a.h <= height;
