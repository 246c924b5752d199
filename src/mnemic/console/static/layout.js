// Where the nodes of a graph are drawn: springs along relations, a push between all; the same graph looks the same again.

const ROUNDS = 220;
const MARGIN = 60;
const LONGEST = 190;

/** Places `{x, y}` by id, the first id in the middle; `pairs` are of ids. Meant for up to about 100. */
export function placed(ids, pairs, width, height) {
  const nodes = ids.map((id, at) => {
    const angle = at * 2.39996; // the golden angle spreads them evenly
    const away = at === 0 ? 0 : 60 + 24 * Math.sqrt(at);
    return { id, x: width / 2 + away * Math.cos(angle), y: height / 2 + away * Math.sin(angle), dx: 0, dy: 0 };
  });
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const near = Math.min(Math.sqrt((width * height) / Math.max(nodes.length, 1)) * 0.75, LONGEST);
  for (let round = 0; round < ROUNDS; round += 1)
    settle(nodes, byId, pairs, near, (1 - round / ROUNDS) * 24, { width, height });
  return byId;
}

function settle(nodes, byId, pairs, near, most, { width, height }) {
  for (const node of nodes) {
    node.dx = (width / 2 - node.x) * 0.02;
    node.dy = (height / 2 - node.y) * 0.03;
  }
  for (let i = 0; i < nodes.length; i += 1)
    for (let j = i + 1; j < nodes.length; j += 1) push(nodes[i], nodes[j], (distance) => (near * near) / distance / 2);
  for (const [from, to] of pairs)
    if (from !== to) push(byId.get(from), byId.get(to), (distance) => (-distance * distance) / near / 2);
  for (const node of nodes.slice(1)) {
    const long = Math.hypot(node.dx, node.dy) || 1;
    const step = Math.min(long, most);
    node.x = Math.min(Math.max(node.x + (node.dx / long) * step, MARGIN), width - MARGIN);
    node.y = Math.min(Math.max(node.y + (node.dy / long) * step, MARGIN / 2), height - MARGIN / 2);
  }
}

function push(a, b, strength) {
  const [x, y] = [a.x - b.x || 0.01, a.y - b.y || 0.01];
  const distance = Math.max(Math.hypot(x, y), 1);
  const force = strength(distance) / distance;
  a.dx += x * force;
  a.dy += y * force;
  b.dx -= x * force;
  b.dy -= y * force;
}
