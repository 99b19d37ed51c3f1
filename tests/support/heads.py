"""EAGLE-3 heads for tiny targets: the public layout's settings, and a head that guesses well enough to be right now and then."""

import torch
from transformers import LlamaConfig

from explorer.engine.drafters.eagle import Eagle3Head

PROMPT = [39, 68, 75, 75, 78, 258, 82, 66, 66, 77, 260, 84, 11, 12]
ROWS = 97  # of the head's vocabulary: every second id of the target's and some more
CONFIG = {
    "architectures": ["LlamaForCausalLMEagle3"], "model_type": "llama", "hidden_size": 32, "intermediate_size": 48,
    "num_attention_heads": 4, "num_key_value_heads": 2, "num_hidden_layers": 1, "rms_norm_eps": 1e-5, "vocab_size": 267,
    "draft_vocab_size": ROWS, "max_position_embeddings": 512, "rope_theta": 10000.0, "bos_token_id": None,
    "eos_token_id": None, "hidden_act": "silu",
}  # fmt: skip


def guessing_head(target) -> Eagle3Head:
    """A head over the target's whole vocabulary whose guess is the late tap under the target's own output rows."""
    settings = CONFIG | {"vocab_size": 267, "draft_vocab_size": 267}
    torch.manual_seed(0)
    head = Eagle3Head(LlamaConfig.from_dict(settings)).eval()
    with torch.no_grad():
        for parameter in head.midlayer.self_attn.parameters():
            parameter.mul_(0.5)
        head.fc.weight.zero_()
        head.fc.weight[:, -32:] = torch.eye(32)
        head.lm_head.weight.copy_(target.get_output_embeddings().weight[: len(head.d2t)])
        head.norm.weight.copy_(target.model.norm.weight)
    return head
