"""One model's weights, read tensor by tensor: from a folder of safetensors, or from a model in memory.

What packs a model asks for one tensor after another and keeps its own form of it, so that a model is never in memory as a whole in
the precision of its file.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, Protocol

import torch
from safetensors import safe_open
from torch import Tensor, nn
from transformers import AutoConfig, AutoModelForCausalLM, GenerationConfig, PretrainedConfig, PreTrainedModel

from explorer.engine.models.four_bit import Grid, fits, read_grids
from explorer.engine.models.linears import Form, Weight
from explorer.engine.models.weights import reading

EMBEDDING, HEAD = "model.embed_tokens.weight", "lm_head.weight"
INDEX = "model.safetensors.index.json"


class Tensors(Protocol):
    """Tensors by the names that transformers gives them."""

    grids: Mapping[str, Grid] | None  # of those that a file held in 4 bits; None where the weights never were in 4 bits

    def get(self, name: str) -> Tensor | None:
        """As stored; None where there is no such tensor."""


class ModuleTensors:
    """Those of a module in memory."""

    grids = None

    def __init__(self, module: nn.Module):
        self._module = module

    def get(self, name: str) -> Tensor | None:
        owner, _, last = name.rpartition(".")
        try:
            value = getattr(self._module.get_submodule(owner), last)
        except AttributeError:
            return None
        return None if value is None else value.detach()


class FolderTensors:
    """Those of a folder of safetensors; each is read when it is asked for."""

    def __init__(self, folder: Path):
        self._folder = folder
        if (folder / INDEX).is_file():
            self.files: dict[str, str] = json.loads((folder / INDEX).read_text(encoding="utf-8"))["weight_map"]
        else:
            self.files = {}
            for path in sorted(folder.glob("*.safetensors")):
                with safe_open(path, "pt") as file:
                    self.files |= dict.fromkeys(file.keys(), path.name)

    @cached_property
    def grids(self) -> Mapping[str, Grid] | None:
        return read_grids(self._folder)

    def get(self, name: str) -> Tensor | None:
        if name not in self.files:
            return None
        # Mapped, not copied, and by a mapping of its own: what was read of a tensor leaves memory with it, and of embeddings only
        # the rows that a text used ever come in.
        with reading(self._folder), safe_open(self._folder / self.files[name], "pt") as file:
            return file.get_tensor(name)

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Of all tensors, without reading them."""
        found = {}
        for path in {*self.files.values()}:
            with safe_open(self._folder / path, "pt") as file:
                names = file.keys()
                found |= {name: tuple(file.get_slice(name).get_shape()) for name in names}
        return found


def read_weight(tensors: Tensors, name: str, form: Form) -> Weight:
    """The projection of that name. In form int4 with the grid of its file, if that held it in 4 bits; or rounded to one where no file
    ever held the weights in 4 bits, or form `int4 rounded` asks for it."""
    value = tensors.get(f"{name}.weight")
    grid = (tensors.grids or {}).get(f"{name}.weight") if form.startswith("int4") else None
    if grid is None and (form == "int4 rounded" or (form == "int4" and tensors.grids is None)):
        grid = Grid.spanning(value) if fits(value) else None
    return Weight(value, tensors.get(f"{name}.bias"), grid)


class Table(NamedTuple):
    """As transformers' embedding modules have it."""

    weight: Tensor  # [V, d]


class Checkpoint:
    """A model's configuration and tensors. Its embeddings are read once, and shared by all that is made of it."""

    device, dtype = torch.device("cpu"), torch.float32  # of what runs beside a packed model

    def __init__(
        self,
        config: PretrainedConfig,
        tensors: Tensors,
        generation_config: GenerationConfig,
        tables: Checkpoint | None = None,
    ):
        """tables: whose embeddings and head it uses in place of its own."""
        self.config, self.tensors, self.generation_config, self.tables = config, tensors, generation_config, tables

    @classmethod
    def of(cls, model: PreTrainedModel) -> Checkpoint:
        """Of a model in memory."""
        return cls(model.config, ModuleTensors(model), model.generation_config)

    @classmethod
    def open(cls, folder: Path, tables: Checkpoint | None = None) -> Checkpoint:
        """Of a folder that transformers could load, but for tables that it takes from another model."""
        config = AutoConfig.from_pretrained(folder, trust_remote_code=False)
        try:
            generation = GenerationConfig.from_pretrained(folder)
        except OSError:  # not every folder has one
            generation = GenerationConfig.from_model_config(config)
        return cls(config, FolderTensors(folder), generation, tables)

    def unlike_its_config(self) -> set[str]:
        """Names of the tensors of a folder that the configuration does not name, names but the folder lacks, or shapes otherwise."""
        with torch.device("meta"):
            model = AutoModelForCausalLM.from_config(self.config, trust_remote_code=False)
        wanted = {name: tuple(value.shape) for name, value in model.named_parameters()}  # tied ones once
        found = self.tensors.shapes()
        if HEAD not in wanted:
            found.pop(HEAD, None)
        return {name for name in wanted.keys() | found.keys() if wanted.get(name) != found.get(name)}

    @property
    def parameters(self) -> int:
        """How many there are in its folder."""
        return sum(math.prod(shape) for shape in self.tensors.shapes().values())

    @cached_property
    def embedding(self) -> Tensor:
        """[V, d], as stored."""
        return self.tables.embedding if self.tables else self.tensors.get(EMBEDDING)

    @property
    def head(self) -> Tensor:
        """[V, d], as stored; the embeddings themselves where one table is both."""
        tables = self.tables or self
        own = tables.tensors.get(HEAD)
        if (
            own is not None
            and getattr(tables.config, "tie_word_embeddings", False)
            and torch.equal(own, self.embedding)
        ):
            own = None  # a copy; where it is another table, transformers takes it for the head as well
        return self.embedding if own is None else own

    def get_input_embeddings(self) -> Table:
        return Table(self.embedding)

    def get_output_embeddings(self) -> Table:
        return Table(self.head)
