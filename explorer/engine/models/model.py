"""A causal language model and the contexts opened on it: token ids in, float32 logits out, the KV cache kept in step."""

from __future__ import annotations

import inspect
from time import perf_counter

import torch
from transformers import DynamicCache, PretrainedConfig, PreTrainedModel

from explorer.errors import UserError

# Layer types whose cache is one entry per position.
ROLLED_BACK = frozenset({"full_attention", "sliding_attention", "chunked_attention"})
WHOLE_TEXTS = ("cpmant", "xlm")  # families that take a cache but no text after what it holds
PLAIN = ("llama", "qwen2")  # families that apply their head to the final states as they are, and mask by position only


class UnsupportedModel(UserError):
    """A model this engine cannot run honestly, for example one whose cache cannot be rolled back."""


def rows_of(model: PreTrainedModel) -> int:
    """How many ids a model can read and give."""
    return min(len(table().weight) for table in (model.get_input_embeddings, model.get_output_embeddings))


def check_rows(model: PreTrainedModel, vocab_size: int) -> None:
    """Raise UnsupportedModel where the tokenizer has tokens that the model has no row for."""
    if (rows := rows_of(model)) < vocab_size:
        raise UnsupportedModel("model.rows", rows=rows, tokens=vocab_size)


def output_device(model: PreTrainedModel) -> torch.device:
    """Where the logits of a model are made, also of one that accelerate has spread over several devices, memory and disk."""
    head = model.get_output_embeddings()
    hook = getattr(head, "_hf_hook", None)  # of a spread model; the weight itself may lie elsewhere meanwhile
    places = [getattr(part, "execution_device", None) for part in getattr(hook, "hooks", (hook,))]
    return next((torch.device(place) for place in places if place is not None), head.weight.device)


def longest_text(config: PretrainedConfig) -> int | None:
    """The longest text a model was made for, in tokens; None where its configuration does not say."""
    config = config.get_text_config()
    # MPT has a name of its own for it.
    return getattr(config, "max_position_embeddings", None) or getattr(config, "max_seq_len", None)


def table_switch(config: PretrainedConfig) -> int | None:
    """The longest text, in tokens, under the rotary table of short texts where a model has another one for longer texts
    (LongRoPE); None for one table."""
    rope = getattr(config.get_text_config(), "rope_parameters", None) or {}
    tables = [
        rope,
        *(one for one in rope.values() if isinstance(one, dict)),
    ]  # some families have one for each type of layer
    limits = [one["original_max_position_embeddings"] for one in tables if one.get("rope_type") == "longrope"]
    return min(limits, default=None)


def head_dim_of(config: PretrainedConfig) -> int:
    """Size of one attention head; some configurations leave it to be divided."""
    return getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads


class LanguageModel:
    """Weights that many contexts may share. Knows ids and logits, never text."""

    def __init__(self, model: PreTrainedModel, vocab_size: int):
        """vocab_size: the tokenizer's; output rows beyond it are padding of the table and are cut off.

        Raises UnsupportedModel where a rejected draft could not be taken back out of the cache, or where the model has
        fewer output rows than the tokenizer has tokens.
        """
        if model.config.model_type in WHOLE_TEXTS or "cache" not in inspect.signature(model.forward).parameters:
            raise UnsupportedModel("model.no_cache", family=model.config.model_type)
        layers = getattr(model.config.get_text_config(), "layer_types", None) or ()
        if model._is_stateful:
            raise UnsupportedModel("model.recurrent", family=model.config.model_type)
        if others := sorted(set(layers) - ROLLED_BACK):
            raise UnsupportedModel("model.layers", family=model.config.model_type, kinds=", ".join(others))
        check_rows(model, vocab_size)
        self.model = model.eval()
        self.vocab_size = vocab_size
        self.device = output_device(model)  # ids come and go there; a spread model takes them to its layers itself
        # Keys of one rotary table mean nothing to queries of another, and the cache keeps them (rereading.py reads anew).
        # Other tables that grow with the text (dynamic NTK) do so only beyond the longest one.
        limits = (longest_text(model.config), table_switch(model.config))
        self.context_limit = min((limit for limit in limits if limit), default=None)

    @property
    def width(self) -> int:
        """Size of a hidden state."""
        return self.model.config.get_text_config().hidden_size

    @property
    def takes_branches(self) -> bool:
        """Whether several continuations can be fed at once (Context.branch): they need an attention mask of their own."""
        return self.model.config.model_type in PLAIN

    @property
    def dtype_name(self) -> str:
        """What a record calls the number format of the weights."""
        return str(self.model.dtype).removeprefix("torch.")

    @property
    def weight_bytes(self) -> int:
        """Memory of the weights; tables that are tied count once."""
        return sum(parameter.nbytes for parameter in self.model.parameters())

    def open(self, states: bool = False, taps: tuple[int, ...] = ()) -> Context:
        """Start an empty sequence on these weights; with `states` the final hidden states of each feed are kept.

        taps: layers whose inputs are kept as well, of any family.
        Raises UnsupportedModel for states of a family whose head reads something else.
        """
        if states and self.model.config.model_type not in PLAIN:
            raise UnsupportedModel("model.no_states", family=self.model.config.model_type, families=", ".join(PLAIN))
        return self._context(states, taps)

    def _context(self, states: bool, taps: tuple[int, ...]) -> Context:
        return Context(self, states, taps)


class Context:
    """One sequence in one model: which tokens the cache holds, and the verbs to add and take back."""

    def __init__(self, language_model: LanguageModel, states: bool = False, taps: tuple[int, ...] = ()):
        self.language_model = language_model
        self._wants_states = states
        self._taps = taps
        # [n, len(taps) * d] of the last feed: the inputs of those layers, side by side
        self.tapped: torch.Tensor | None = None
        self.states: torch.Tensor | None = (
            None  # [rows, d] of the last feed if wanted: after the final norm, the head's input
        )
        # Without a config every layer keeps all positions, so sliding-window models roll back too: their window is in
        # the attention mask.
        self._cache = DynamicCache()
        self.length = 0  # tokens in the cache
        self.forward_seconds = 0.0  # inside model forwards; on a GPU this is launch time

    def prefill(self, ids: torch.Tensor) -> None:
        """Feed ids [n] whose predictions nobody needs: the head is not computed."""
        if len(ids):
            self._forward(self.language_model.model.base_model, ids)

    def feed(self, ids: torch.Tensor, rows: int) -> torch.Tensor:
        """Feed ids [n] and return float32 logits [rows, V] of the last `rows` of them."""
        return self._logits(ids, rows)

    def branch(self, ids: torch.Tensor, positions: torch.Tensor, visible: torch.Tensor) -> torch.Tensor:
        """Feed ids [n] of several continuations at once: logits [n, V]. Only for families in PLAIN.

        positions [n]: where each stands in its text; visible [n, held + n], bool: which entries of the cache, itself among
        them, each may read (spec of PACER's packing: two continuations never see each other).
        """
        return self._logits(ids, len(ids), attention_mask=visible[None, None], position_ids=positions[None])

    def crop(self, length: int) -> None:
        """Take tokens back so that at most `length` are held."""
        if length < self.length:
            self._cache.crop(length - self.length)
            self.length = length

    def keep(self, held: int, columns: list[int]) -> None:
        """Of the last feed, whose entries begin at `held`, keep those of `columns` [m], in that order, and their states, tapped
        and final.

        Only for families in PLAIN.
        """
        start = next((place for place, column in enumerate(columns) if place != column), len(columns))
        moved = torch.tensor(columns[start:], dtype=torch.long)
        for layer in self._cache.layers if start < len(columns) else ():
            for entries in (layer.keys, layer.values):  # [1, heads, length, d]
                moved = moved.to(entries.device)  # once, but where the layers are spread over devices
                entries[:, :, held + start : held + len(columns)] = entries[:, :, held + moved]
        if self.tapped is not None:
            self.tapped = self.tapped[torch.tensor(columns, device=self.tapped.device)]
        if self.states is not None:
            self.states = self.states[torch.tensor(columns, device=self.states.device)]
        self.crop(held + len(columns))

    def close(self) -> None:
        """Free the cache."""
        self._cache, self.length = DynamicCache(), 0

    def _logits(self, ids: torch.Tensor, rows: int, **arguments: torch.Tensor) -> torch.Tensor:
        """Float32 logits [rows, V] of the last rows; keeps their states where wanted."""
        model = self.language_model.model
        if self._wants_states:
            self.states = self._forward(model.base_model, ids, **arguments).last_hidden_state[0, len(ids) - rows :]
            logits = model.get_output_embeddings()(self.states)
        else:
            logits = self._forward(model, ids, logits_to_keep=rows, **arguments).logits[0]
        return logits[:, : self.language_model.vocab_size].float()

    def _forward(self, module: torch.nn.Module, ids: torch.Tensor, **arguments):
        start = perf_counter()
        output = module(
            input_ids=ids[None], cache=self._cache, use_cache=True, output_hidden_states=bool(self._taps), **arguments
        )
        if self._taps:  # layers may lie on several devices
            inputs = [output.hidden_states[layer][0].to(self.language_model.device) for layer in self._taps]
            self.tapped = torch.cat(inputs, dim=-1)
        self.forward_seconds += perf_counter() - start
        self.length += len(ids)
        return output
