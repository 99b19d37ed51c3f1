"""Growing a drafted tree, as EAGLE-2 does (arXiv 2406.16858).

Level by level the likeliest children of a level's best nodes are proposed; of all that were proposed the best make the tree, by
the probability of the whole path to each.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from explorer.engine import ranking
from explorer.engine.sampling import check_numbers


class Node(NamedTuple):
    """A proposed token and its parent: the index of an earlier node, -1 for the committed text."""

    parent: int
    id: int
    prob: float  # after that node


# Rows of a level's nodes [m] and where each one's parent stands in the level before [m] -> logits of what follows them [m, R].
Expand = Callable[[Tensor, Tensor], Tensor]


def grow(
    logits: Tensor, expand: Expand, ids: Tensor, ends: Tensor, *, depth: int, width: int, count: int
) -> list[Node]:
    """At most `count` nodes, parents before their children, level by level; children of one node from the likeliest on.

    logits [1, R]: of what follows the text, over the R rows of the drafter's vocabulary; ids [R]: the token of each row; ends [R], bool:
    rows that nothing follows. width: children of a node, and nodes of a level that have any; depth: levels, at most. A node
    whose children cannot be among the `count` best gets none, which asks the host once a level and changes no tree. Raises NotNumbers.
    """
    scores = logits.new_zeros(1, dtype=torch.double)  # [m] log-probability of the path to each node of the level
    places = torch.full((1,), -1, device=logits.device)  # [m] of those nodes among all proposed ones
    proposed: list[tuple[Tensor, ...]] = []  # a level each: places of the parents, rows, probabilities, scores
    size = 0
    for level in range(depth):
        best = ranking.top(logits, width)  # [m, k]
        probs = logits.softmax(dim=-1).gather(1, best).clamp_(max=1)
        paths = (scores[:, None] + probs.double().log()).flatten()  # [m * k]
        rows = best.flatten()
        proposed.append((places.repeat_interleave(best.shape[1]), rows, probs.flatten(), paths))
        open_paths = paths.masked_fill(ends[rows], -torch.inf)
        chosen = ranking.top(open_paths[None], width)[0]
        chosen = chosen[open_paths[chosen] > _least(proposed, count)]
        if level + 1 == depth or not len(chosen):
            break
        scores = open_paths[chosen]
        logits = expand(rows[chosen], chosen // best.shape[1])
        places, size = size + chosen, size + len(rows)
    parents, rows, probs, paths = (torch.cat(column) for column in zip(*proposed))
    return _best(parents.tolist(), ids[rows].tolist(), probs.tolist(), paths.tolist(), count)


def _least(proposed: list[tuple[Tensor, ...]], count: int) -> Tensor | float:
    """The path that a deeper node, and so its parent, has to beat: the `count`th best so far, or any that is possible at all."""
    paths = torch.cat([paths for *_, paths in proposed])
    return paths.topk(count).values[-1] if len(paths) >= count else -torch.inf


def _best(parents: list[int], ids: list[int], probs: list[float], paths: list[float], count: int) -> list[Node]:
    """The `count` best of all proposed nodes, in the order they were proposed in: a child is never likelier than its parent, and of
    equals the earlier one goes first, so no node comes without its parent."""
    check_numbers(probs, "head")
    possible = [place for place, path in enumerate(paths) if path > -torch.inf]
    chosen = sorted(sorted(possible, key=lambda place: -paths[place])[:count])
    numbers = {place: number for number, place in enumerate(chosen)} | {-1: -1}
    return [Node(numbers[parents[place]], ids[place], probs[place]) for place in chosen]
