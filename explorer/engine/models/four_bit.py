"""Weights in 4 bits: groups of 32 whose values lie on a grid of 16 steps, as in the GGUF formats Q4_0, Q4_1 and Q4_K."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

GROUP = 32  # weights of one grid
GRIDS = "four_bit.grids"  # beside a converted GGUF's weights; not .safetensors, so that no loader takes it for weights


@dataclass(frozen=True, slots=True)
class Grid:
    """The values low + scale * level, level 0 to 15, that the weights of each group can take."""

    low: Tensor  # [out, in / 32]
    scale: Tensor  # [out, in / 32]

    @classmethod
    def spanning(cls, weight: Tensor) -> Grid:
        """Of a weight [out, in]: from the smallest to the largest value of each group."""
        groups = weight.unflatten(1, (-1, GROUP))
        low = groups.amin(dim=-1).float()
        return cls(low, ((groups.amax(dim=-1).float() - low) / 15).clamp_(min=1e-12))

    def __getitem__(self, rows: slice | Tensor) -> Grid:
        """Of some rows of the weight."""
        return Grid(self.low[rows], self.scale[rows])

    def levels(self, weight: Tensor) -> Tensor:
        """The nearest level of each weight, int32 [out, in]."""
        groups = weight.float().unflatten(1, (-1, GROUP))
        steps = torch.where(self.scale == 0, 1.0, self.scale)  # of a group of zeros; Q4_0 has negative ones too
        levels = (groups - self.low[..., None]).div_(steps[..., None])
        return levels.round_().clamp_(0, 15).int().flatten(1)

    def reordered(self, rows: Tensor, factor: float) -> Grid:
        """Of the weight times `factor`, its rows in the order `rows` [out]."""
        own = self[rows]
        return Grid(own.low * factor, own.scale * factor)

    @classmethod
    def joined(cls, grids: Iterable[Grid]) -> Grid:
        """Of weights one below the other."""
        grids = list(grids)
        return cls(torch.cat([grid.low for grid in grids]), torch.cat([grid.scale for grid in grids]))


def fits(weight: Tensor) -> bool:
    """Whether the 4-bit kernel takes a weight [out, in] of this shape."""
    rows, columns = weight.shape
    return rows % 16 == 0 and columns % GROUP == 0


def write_grids(grids: Mapping[str, Grid], folder: Path) -> None:
    """Store grids by the names of their weights."""
    tensors = {f"{name} {part}": getattr(grid, part) for name, grid in grids.items() for part in ("low", "scale")}
    save_file(tensors, folder / GRIDS)


def read_grids(folder: Path) -> dict[str, Grid] | None:
    """What write_grids stored; None where the weights of a folder never were in 4 bits."""
    if not (folder / GRIDS).is_file():
        return None
    tensors = load_file(folder / GRIDS)
    names = {key.rpartition(" ")[0] for key in tensors}
    return {name: Grid(tensors[f"{name} low"].float(), tensors[f"{name} scale"].float()) for name in names}
