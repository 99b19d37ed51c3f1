// A mark for each verdict in pictures: never by colour alone.

import { disc } from "../core/charts.js";

// A shape for each verdict, as a path around (x, y) of a size: never by colour alone.
export const SHAPES = {
  deferred: (x, y, d) => disc(x, y, d * 0.42),
  relaxed: (x, y, d) => `M${x} ${y - d * 0.46}l${d * 0.46} ${d * 0.46}l${-d * 0.46} ${d * 0.46}l${-d * 0.46} ${-d * 0.46}z`,
  "rejected:gate": (x, y, d) => disc(x, y, d * 0.35),
  "rejected:window": (x, y, d) => `M${x - d * 0.32} ${y - d * 0.32}l${d * 0.64} ${d * 0.64}m0 ${-d * 0.64}l${-d * 0.64} ${d * 0.64}`,
  "rejected:edge": (x, y, d) => `M${x - d * 0.34} ${y - d * 0.36}h${d * 0.68}m${-d * 0.34} 0v${d * 0.74}`,
  "rejected:limit": (x, y, d) => `M${x} ${y - d * 0.38}l${d * 0.38} ${d * 0.38}l${-d * 0.38} ${d * 0.38}l${-d * 0.38} ${-d * 0.38}z`,
  "rejected:stop": (x, y, d) => `M${x - d * 0.3} ${y - d * 0.3}h${d * 0.6}v${d * 0.6}h${-d * 0.6}z`,
  rejected: (x, y, d) => `M${x - d * 0.35} ${y}h${d * 0.7}`,
  discarded: (x, y, d) => disc(x, y, d * 0.17),
};

export const shapeClass = (verdict) => "shape-" + verdict.replace(":", "-");
