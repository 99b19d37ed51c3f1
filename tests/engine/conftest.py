import pytest
import torch
from heads import guessing_head
from pairs import OraclePair

from explorer.engine.pair import Pair


@pytest.fixture(scope="session")
def headed(make_model, tokenizer):
    """A pair by shape with a head made from its own weights, so that a share of what it drafts is right."""
    found = {}

    def build(shape: str) -> Pair:
        if shape not in found:
            layout, _, family = shape.rpartition("-")
            target = make_model(family, 0, num_hidden_layers=6)
            with torch.no_grad():  # a target that often says a token again, which is what the head guesses
                for layer in target.model.layers:
                    layer.self_attn.o_proj.weight *= 0.03
                    layer.mlp.down_proj.weight *= 0.03
            head = guessing_head(target)
            found[shape] = OraclePair.of(
                f"headed-{shape}", target, target, tokenizer, head=head, target_form="float32" if layout else None
            )
        return found[shape]

    return build
