"""Drafting trees: how one grows, what its nodes read, which path becomes the draft, and rounds that are the target's own text."""

import dataclasses

import pytest
import torch
from heads import PROMPT
from rounds import grid_rounds, stripped

from explorer.config import ConfigError, DecodeConfig
from explorer.engine.decode import decode
from explorer.engine.drafters.draft import Draft
from explorer.engine.drafters.features import FeatureDrafter
from explorer.engine.drafters.trees import Node, grow
from explorer.engine.make_length_policy import make_length_policy
from explorer.engine.models.branched import branched
from explorer.engine.open_pair import OpenPair
from explorer.engine.sampling import Sampler
from explorer.trace import Trace, Tree

COUNT = 24
TREE = DecodeConfig(rule="exact", drafter="features", draft_length=4, tree=12, tree_width=3, max_new_tokens=COUNT)
CHAIN = dataclasses.replace(TREE, tree=0)
SHAPES = ["llama", "qwen2", "packed-llama", "packed-qwen2"]


def ids_of(rounds) -> list[int]:
    return [token for round_ in rounds for token in round_.emitted]


# Growth --------------------------------------------------------------------------------------------------------------

# What a stub drafter over four rows says behind a path of rows; the token of row r is 10 + r.
STUB = {
    (): [0.5, 0.4, 0.1, 0.0],
    (0,): [0.6, 0.2, 0.1, 0.1],  # paths 0.3, 0.1
    (1,): [0.05, 0.9, 0.05, 0.0],  # paths 0.02, 0.36
    (1, 1): [0.7, 0.1, 0.1, 0.1],  # 0.252
}
FLAT = [0.25, 0.25, 0.25, 0.25]  # behind all other paths: 0.075 behind (0, 0)


def grown(depth: int, width: int, count: int, ends=()) -> tuple[list[Node], list[list[tuple[int, ...]]]]:
    """The tree of the stub, and the paths whose children were asked for, level by level."""
    level, asked = [()], []

    def expand(rows, parents):
        nonlocal level
        level = [(*level[parent], row) for row, parent in zip(rows.tolist(), parents.tolist(), strict=True)]
        asked.append(level)
        return torch.tensor([STUB.get(path, FLAT) for path in level]).log()

    first = torch.tensor([STUB[()]]).log()
    stops = torch.tensor([row in ends for row in range(4)])
    nodes = grow(first, expand, torch.arange(10, 14), stops, depth=depth, width=width, count=count)
    return nodes, asked


def rounded(nodes):
    return [(parent, token, round(prob, 4)) for parent, token, prob in nodes]


def test_a_tree_of_two_levels_by_hand():
    """Of 0.5, 0.4 | 0.3, 0.1 behind the first, 0.36, 0.02 behind the second the four best are taken, each with its parent."""
    nodes, asked = grown(depth=2, width=2, count=4)
    assert rounded(nodes) == [(-1, 10, 0.5), (-1, 11, 0.4), (0, 10, 0.6), (1, 11, 0.9)]
    assert asked == [[(0,), (1,)]]
    nodes, _ = grown(depth=2, width=2, count=3)
    assert rounded(nodes) == [(-1, 10, 0.5), (-1, 11, 0.4), (1, 11, 0.9)]


def test_the_best_nodes_of_a_level_go_on():
    """Level 2 is led by 0.36 and 0.3; level 3 brings 0.252, which beats 0.1 of level 2."""
    nodes, asked = grown(depth=3, width=2, count=5)
    assert asked == [[(0,), (1,)], [(1, 1), (0, 0)]]
    assert rounded(nodes)[2:] == [(0, 10, 0.6), (1, 11, 0.9), (3, 10, 0.7)]


def test_nothing_is_asked_that_cannot_change_the_tree():
    """Of two nodes 0.5 and 0.4 only a child of the first could be one; of three, 0.36 is the third: nothing behind it can be better."""
    assert grown(depth=5, width=2, count=2)[1] == [[(0,)]]
    assert grown(depth=5, width=2, count=3)[1] == [[(0,), (1,)]]


def test_nothing_follows_a_stop_id_and_impossible_tokens_never_stand():
    nodes, asked = grown(depth=2, width=4, count=64, ends=(0,))
    assert asked == [[(1,), (2,)]]
    assert rounded(nodes)[:3] == [(-1, 10, 0.5), (-1, 11, 0.4), (-1, 12, 0.1)], "13 has probability 0"
    assert len(nodes) == 3 + 3 + 4
    assert {parent for parent, *_ in nodes} == {-1, 1, 2}


def test_a_chain_is_a_tree_of_width_1():
    nodes, asked = grown(depth=3, width=1, count=64)
    assert rounded(nodes) == [(-1, 10, 0.5), (0, 10, 0.6), (1, 10, 0.25)]
    assert asked == [[(0,)], [(0, 0)]]


# The mask ------------------------------------------------------------------------------------------------------------


def test_a_node_reads_its_ancestors_and_itself():
    """a behind the seed; b and c behind a; d behind the seed; e behind c."""
    ids = torch.tensor([5, 6, 7, 8, 9])
    packed = branched(torch.tensor([4]), [(at, ids[i : i + 1]) for i, at in enumerate([0, 1, 1, 0, 3])])
    assert packed.ids.tolist() == [4, 5, 6, 7, 8, 9]
    assert packed.positions.tolist() == [0, 1, 2, 2, 1, 3]
    assert packed.visible.int().tolist() == [
        [1, 0, 0, 0, 0, 0],
        [1, 1, 0, 0, 0, 0],
        [1, 1, 1, 0, 0, 0],
        [1, 1, 0, 1, 0, 0],
        [1, 0, 0, 0, 1, 0],
        [1, 1, 0, 1, 0, 1],
    ]


# The path ------------------------------------------------------------------------------------------------------------


def tree_of(*nodes) -> Tree:
    return Tree(*(tuple(column) for column in zip(*nodes)))


#           parent, id, prob, the target's choice after it
FORK = tree_of(
    (-1, 1, 0.6, 9), (-1, 2, 0.3, 4), (0, 3, 0.5, 9), (0, 9, 0.2, 6), (1, 4, 0.5, 7), (1, 5, 0.5, 7), (3, 6, 0.9, 8)
)


@pytest.mark.parametrize(
    ("first", "path"),
    [
        (1, (0, 3, 6)),  # 1, then 9 although 3 is likelier, then 6
        (2, (1, 4)),  # of 4 and 5, equally likely, the target's own
        (
            8,
            (0, 2),
        ),  # no agreement: the likeliest of each level, as a chain; 9 behind 1 would agree, but only behind a miss
    ],
)
def test_the_path_agrees_furthest(first, path):
    assert FORK.path(first) == path
    assert FORK.depths == (1, 1, 2, 2, 2, 2, 3)


def test_of_equally_likely_children_the_first_is_taken():
    assert tree_of((-1, 1, 0.4, 0), (-1, 2, 0.4, 0)).path(9) == (0,)


# Rounds --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES)
def test_exact_is_plain_greedy(shape, headed, plain_greedy_ids):
    """Also with a tree far wider than the text, one level deep, and deeper than the room that is left."""
    pair, expected = headed(shape), plain_greedy_ids(headed(shape), PROMPT, COUNT)
    for change in (
        {},
        {"tree": 60, "tree_width": 10},
        {"draft_length": 1, "tree": 4},
        {"draft_length": 40, "tree": 40},
    ):
        rounds = list(decode(pair, list(PROMPT), dataclasses.replace(TREE, **change)))
        assert ids_of(rounds) == expected, change
        assert all(len(round_.drafted) <= COUNT for round_ in rounds)


def test_a_tree_keeps_more_than_a_chain(headed):
    """And some paths leave the likeliest child, and some are kept whole: else the tests above say little."""
    pair = headed("packed-llama")
    wide = dataclasses.replace(TREE, tree=40, tree_width=8)
    rounds, chain = (list(decode(pair, list(PROMPT), config)) for config in (wide, CHAIN))
    assert len(rounds) < len(chain)
    assert any(round_.accepted and round_.tree.path(round_.rows[0].argmax)[0] > 0 for round_ in rounds)
    assert {0, 4} < {round_.accepted for round_ in rounds}


@pytest.mark.parametrize("shape", ["llama", "packed-llama"])
def test_width_1_is_the_chain(shape, headed):
    """Id for id and probability for probability."""
    pair = headed(shape)
    tree = list(decode(pair, list(PROMPT), dataclasses.replace(TREE, tree_width=1)))
    chain = list(decode(pair, list(PROMPT), CHAIN))
    assert [(round_.drafted, round_.draft_probs) for round_ in tree] == [
        (round_.drafted, round_.draft_probs) for round_ in chain
    ]


@pytest.mark.parametrize("shape", ["llama", "packed-qwen2"])
def test_every_node_is_what_a_pass_of_its_own_says(shape, headed):
    """Also of the nodes that are thrown away: neighbours stay unseen, positions count by depth."""
    pair, text, seen = headed(shape), list(PROMPT), 0
    for round_ in list(decode(pair, list(PROMPT), TREE))[:4]:
        for node, own in enumerate(round_.tree.argmax):
            path, place = [], node
            while place >= 0:
                path.append(round_.tree.ids[place])
                place = round_.tree.parents[place]
            with torch.inference_mode():
                logits = pair.oracle(input_ids=torch.tensor([[*text, *reversed(path)]])).logits[0, -1]
            assert own == int(logits[: pair.vocab_size].argmax())
            seen += 1
        text += round_.emitted
    assert seen > 20


@torch.inference_mode()
def test_probabilities_are_the_heads_after_that_path(headed):
    """A node that read its neighbour, or stood at another position, would be given another probability."""
    pair = headed("llama")
    round_ = next(decode(pair, list(PROMPT), TREE))
    target = pair.target.open(taps=pair.head.taps)
    target.prefill(torch.tensor(PROMPT[:-1]))
    drafter = FeatureDrafter(pair.head, Sampler(0.0, 0, torch.device("cpu")), frozenset())
    drafter.observe(target)
    deepest = max(range(len(round_.tree.ids)), key=lambda node: round_.tree.depths[node])
    path = [deepest]
    while round_.tree.parents[path[0]] >= 0:
        path.insert(0, round_.tree.parents[path[0]])
    assert len(path) > 2
    for size, node in enumerate(path):
        drafter.roll_back(0)
        draft = Draft()
        drafter.extend(draft, PROMPT, 1)
        context = drafter.context
        states = drafter._last
        for before in path[:size]:
            states = context.feed(torch.tensor([round_.tree.ids[before]]), states)
        (row,) = (pair.head.vocabulary == round_.tree.ids[node]).nonzero()[:, 0]
        assert float(context.logits(states).softmax(-1)[0, row]) == pytest.approx(round_.tree.probs[node], rel=1e-4)


@torch.inference_mode()
@pytest.mark.parametrize("shape", ["llama", "packed-llama"])
def test_what_both_sides_hold_after_a_round_is_that_of_a_prefill(shape, headed):
    """Entries of the target in every layer, and the states that the head is fed: those of the committed tokens alone."""
    pair = headed(shape)
    policy, opened, text, moved = make_length_policy(pair, TREE), OpenPair(pair, TREE), list(PROMPT), 0
    opened.prefill(text[:-1])
    for _ in range(5):
        verified = opened.verify(text, opened.draft(text, 20, policy))
        judgement = verified.judge(TREE)
        text += verified.committed(judgement)
        path = verified.tree.path(verified.readings.rows[0].argmax)
        moved += judgement.accepted > 0 and path[judgement.accepted - 1] != judgement.accepted - 1
        opened.roll_back(len(text) - 1)
        again = pair.target.open(taps=pair.head.taps)
        again.prefill(torch.tensor(text[:-1]))
        for ours, theirs in zip(entries(opened.target), entries(again), strict=True):
            torch.testing.assert_close(ours, theirs, atol=2e-4, rtol=1e-3)
        fused = opened.drafter._fused[: len(text) - 1]
        torch.testing.assert_close(fused, opened.drafter.context.fuse(again.tapped), atol=2e-4, rtol=1e-3)
    assert moved, "some path must have been moved"


def entries(context) -> list[torch.Tensor]:
    if hasattr(context, "cache"):
        return [context.cache.entries[:, : context.length]]
    return [held for layer in context._cache.layers for held in (layer.keys, layer.values)]


def test_a_stop_id_inside_the_tree_ends_the_text(headed, with_stop_ids):
    pair = headed("packed-llama")
    output = ids_of(decode(pair, list(PROMPT), TREE))
    stop = next(token for token in output[6:] if token not in output[:6])
    stopping = with_stop_ids(pair, stop)
    rounds = list(decode(stopping, list(PROMPT), dataclasses.replace(TREE, tree=40, tree_width=8)))
    assert ids_of(rounds) == output[: output.index(stop) + 1]
    trees = [round_.tree for round_ in rounds if round_.tree]
    assert any(stop in tree.ids for tree in trees)
    assert not any(parent >= 0 and tree.ids[parent] == stop for tree in trees for parent in tree.parents)


def test_a_tree_is_never_deeper_than_the_room(headed, record):
    """Two tokens of budget leave room for one drafted; one leaves none."""
    pair = headed("llama")
    for budget, depths in ((2, 1), (1, 0)):
        trace = record(pair, PROMPT, dataclasses.replace(TREE, max_new_tokens=budget))
        assert max((max(round_.tree.depths) for round_ in trace.rounds if round_.tree), default=0) == depths
        assert len(trace.output_ids) == budget


def test_a_prompt_of_one_token_has_no_tree_at_first(headed, record):
    trace = record(headed("packed-llama"), PROMPT[:1], TREE)
    assert trace.rounds[0].tree is None
    assert trace.rounds[1].tree


@pytest.mark.parametrize("rule", ["fly", "topk"])
def test_loose_rules_judge_the_path_and_share_the_rounds_of_a_grid(rule, headed, record):
    pair = headed("packed-llama")
    configs = [dataclasses.replace(TREE, rule=rule, theta=theta, window=1, max_new_tokens=16) for theta in (0.0, 1.2)]
    rounds, _ = grid_rounds(pair, PROMPT, configs)
    for config, mine in zip(configs, rounds):
        trace = record(pair, PROMPT, config)
        assert stripped(mine) == stripped(trace.rounds)
        assert Trace.from_json(trace.to_json()) == trace
        assert trace.config.drafts_trees


def test_what_trees_cannot_do_is_refused(make_model, headed):
    for change in ({"length": "confidence"}, {"length": "heuristic"}, {"temperature": 0.5}):
        with pytest.raises(ConfigError, match="Tree nodes N to 0"):
            dataclasses.replace(TREE, **change)
    for change in ({"phrases": 2}, {"schedule": "pearl"}):
        with pytest.raises(ConfigError, match="feature-fed head"):
            dataclasses.replace(TREE, **change)
    with pytest.raises(ConfigError, match="attention mask .* set Tree nodes N to 0"):
        next(decode(headed("mistral"), list(PROMPT), TREE))


def test_other_drafters_and_the_target_alone_draft_none(pair):
    for change in ({"drafter": "model"}, {"rule": "autoregressive"}):
        config = dataclasses.replace(TREE, **change, temperature=0.5, length="heuristic")
        assert not any(round_.tree for round_ in decode(pair, list(PROMPT), config))
    assert "not used" in str(dataclasses.replace(TREE, drafter="model").notes[0])
