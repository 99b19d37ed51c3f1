// Where the nodes of a drafted tree stand in a drawing. Pure; knows no page.

// nodes: as of readRound; accepted: how many of the path were accepted. The target's own token is one more node, the last, behind the last
// accepted one. Rows from above, one for each leaf: a node stands in the row of its first child, so that the first row is what the round
// committed; behind it come the rest of the path and the others, likeliest first. Returns {nodes: [{parent, depth, row}], order: their
// indices as they are read, depth first, rows: how many}.
export function treeLayout(nodes, accepted) {
  const end = accepted ? nodes.findIndex((node) => node.position === accepted - 1) : -1, own = nodes.length;
  const placed = [...nodes, { parent: end, depth: accepted + 1 }].map(({ parent, depth }) => ({ parent, depth, row: 0 }));
  const children = new Map(), order = [];
  const rank = (index) => (index === own ? 0 : nodes[index].position !== null ? 1 : 2);
  placed.forEach(({ parent }, index) => children.set(parent, [...(children.get(parent) ?? []), index]));
  for (const siblings of children.values()) siblings.sort((one, other) => rank(one) - rank(other));
  let rows = 0;
  const put = (index) => {
    placed[index].row = rows;
    order.push(index);
    const behind = children.get(index) ?? [];
    behind.forEach(put);
    if (!behind.length) rows += 1;
  };
  children.get(-1).forEach(put);
  return { nodes: placed, order, rows };
}
