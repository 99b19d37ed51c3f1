// Where the nodes of a drafted tree stand in a drawing. Pure; knows no page.

// nodes: as of readRound; kept: how many of the path were kept. Rows from above, one for each leaf: a node stands in the row of its
// first child, so the likeliest continuation of each goes straight on. The target's own token is one more node, the last: it stands
// behind the last kept one, below that node's children. Returns {nodes: [{parent, depth, row}], order: their indices as they are
// read, depth first, rows: how many}.
function treeLayout(nodes, kept) {
  const end = kept ? nodes.findIndex((node) => node.position === kept - 1) : -1;
  const placed = [...nodes, { parent: end, depth: kept + 1 }].map(({ parent, depth }) => ({ parent, depth, row: 0 }));
  const children = new Map(), order = [];
  placed.forEach(({ parent }, index) => children.set(parent, [...(children.get(parent) ?? []), index]));
  let rows = 0;
  const place = (index) => {
    placed[index].row = rows;
    order.push(index);
    const behind = children.get(index) ?? [];
    behind.forEach(place);
    if (!behind.length) rows += 1;
  };
  children.get(-1).forEach(place);
  return { nodes: placed, order, rows };
}
