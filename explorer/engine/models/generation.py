"""What a model's generation settings say: the ids that end a text, and what this engine leaves out.

A generation_config.json may ask for more than the likeliest token: penalties for repetition, tokens that are never or always given.
They change the rows that a rule judges, so a run says which there were. Settings of sampling alone (temperature, top_p, ...) are no part
of this: a run names its own temperature.
"""

from __future__ import annotations

import reprlib

from transformers import PreTrainedModel, PreTrainedTokenizerFast

from explorer.engine.models.checkpoint import Checkpoint

# Settings that change what greedy decoding gives, with the value that changes nothing; None and empty lists never do.
NEUTRAL = {
    "repetition_penalty": 1.0, "no_repeat_ngram_size": 0, "suppress_tokens": None, "begin_suppress_tokens": None, "bad_words_ids": None,
    "sequence_bias": None, "forced_bos_token_id": None, "forced_eos_token_id": None, "stop_strings": None, "min_new_tokens": 0,
    "min_length": 0, "exponential_decay_length_penalty": None, "guidance_scale": 1.0, "num_beams": 1, "penalty_alpha": 0.0,
    "dola_layers": None, "token_healing": False, "remove_invalid_values": False, "watermarking_config": None,
}  # fmt: skip


def ignored_settings(model: PreTrainedModel | Checkpoint) -> tuple[str, ...]:
    """The generation settings of a model that this engine leaves out, each with its value, like `repetition_penalty 1.1`."""
    found = ((name, getattr(model.generation_config, name, None), neutral) for name, neutral in NEUTRAL.items())
    return tuple(
        f"{name} {reprlib.repr(value)}" for name, value, neutral in found if value not in (None, neutral, [], (), {})
    )


def stop_ids_of(model: PreTrainedModel | Checkpoint, tokenizer: PreTrainedTokenizerFast, size: int) -> frozenset[int]:
    """Every id below `size` that ends a text: the model's generation settings, its config and the tokenizer may each name some."""
    named = [
        getattr(model.generation_config, "eos_token_id", None),
        getattr(model.config.get_text_config(), "eos_token_id", None),
        tokenizer.eos_token_id,
    ]
    ids = [i for value in named for i in (value if isinstance(value, (list, tuple)) else [value])]
    return frozenset(i for i in ids if i is not None and 0 <= i < size)  # some configurations say -1 for none
