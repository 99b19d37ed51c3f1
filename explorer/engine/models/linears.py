"""Linear layers laid out for a CPU: weights packed once, in 32, 8 or 4 bits.

A row of the result of `Int8Linear` and of `Int4Linear` has the same bits whatever the number of rows and of threads: sums of 8-bit
products are whole numbers, and the 4-bit kernel sums each row alike. That of `Float32Linear` changes in its last digits.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

import torch
from torch import Tensor

from explorer.engine.models.four_bit import GROUP, Grid, fits

# Of the weights: as stored; in 8 bits; each in the bits of its file, 4 or 8; all in 4.
Form = Literal["float32", "int8", "int4", "int4 rounded"]
ROWS = 8192  # of a weight that are in float32 at once while it is packed


class Float32Linear:
    """x @ weight.T + bias on weights that oneDNN has reordered once; time is flat up to about eight rows."""

    dtype_name = "float32"

    def __init__(self, weight: Tensor, bias: Tensor | None):
        """weight [out, in], bias [out]."""
        self.weight = torch.ops.mkldnn._reorder_linear_weight(weight.float().contiguous(), None)
        self.bias = bias
        self.weight_bytes = 4 * weight.numel()

    def __call__(self, x: Tensor) -> Tensor:
        """x [n, in] -> [n, out]."""
        return torch.ops.mkldnn._linear_pointwise(x, self.weight, self.bias, "none", [], "")


class Int8Linear:
    """x @ weight.T + bias with int8 weights (one scale per output) and int8 activations (one scale per row).

    The kernel has one activation scale per call. So each row is first brought to a largest entry of 1, and that scale is always
    the same: rows are not coupled, and one path serves one row and many.
    """

    dtype_name = "int8"

    def __init__(self, weight: Tensor, bias: Tensor | None):
        """weight [out, in], bias [out]."""
        scales = weight.abs().amax(dim=1).float().clamp_(min=1e-12).div_(127)
        zeros = torch.zeros(len(weight), dtype=torch.long)
        levels = torch.empty(weight.shape, dtype=torch.int8)
        for rows in range(0, len(weight), ROWS):  # a head has 150,000 rows: all of them in float32 would be a gigabyte
            part = slice(rows, rows + ROWS)
            levels[part] = (weight[part].float() / scales[part, None]).round_()
        with warnings.catch_warnings():  # deprecation of the constructor; the kernel has no successor yet
            warnings.simplefilter("ignore", UserWarning)
            quantized = torch._make_per_channel_quantized_tensor(levels, scales.double(), zeros, 0)
        self.weight = torch.ops.quantized.linear_prepack(quantized, None)
        self.bias = bias
        self.weight_bytes = weight.numel() + scales.nbytes

    def __call__(self, x: Tensor) -> Tensor:
        """x [n, in] -> [n, out]."""
        scale = torch.linalg.vector_norm(x, ord=torch.inf, dim=1, keepdim=True).clamp_(min=1e-12)
        kernel = torch.ops.quantized.linear_with_input_q_dq_qweight_dq_output_fp32
        out = kernel(x / scale, 1 / 127, 128, self.weight).mul_(scale)
        return out if self.bias is None else out.add_(self.bias)


class Int4Linear:
    """x @ weight.T + bias with 4-bit weights, one scale and offset per group of 32; activations, scales and offsets in bfloat16."""

    dtype_name = "int4"

    def __init__(self, weight: Tensor, grid: Grid, bias: Tensor | None):
        """weight [out, in], taken to the nearest levels of its grid; bias [out]."""
        to_pack = torch.ops.aten._convert_weight_to_int4pack_for_cpu
        parts = (slice(first, first + ROWS) for first in range(0, len(weight), ROWS))  # each packs alone
        self.weight = torch.cat([to_pack(grid[part].levels(weight[part]), 1) for part in parts])
        # The kernel computes (level - 8) * scale + offset.
        scales = torch.stack([grid.scale, grid.low + 8 * grid.scale], dim=-1)
        self.scales = scales.transpose(0, 1).contiguous().bfloat16()  # [in / 32, out, 2]
        self.bias = bias
        self.weight_bytes = self.weight.nbytes + self.scales.nbytes

    def __call__(self, x: Tensor) -> Tensor:
        """x [n, in] -> [n, out]."""
        out = torch.ops.aten._weight_int4pack_mm_for_cpu(x.bfloat16(), self.weight, GROUP, self.scales).float()
        return out if self.bias is None else out.add_(self.bias)


class SplitLinear:
    """Projections of one input that are kept in different forms; their outputs stand side by side."""

    def __init__(self, parts: Sequence[Float32Linear | Int8Linear | Int4Linear]):
        self.parts = parts
        self.weight_bytes = sum(part.weight_bytes for part in parts)
        self.dtype_name = "int4"  # in part

    def __call__(self, x: Tensor) -> Tensor:
        """x [n, in] -> [n, out of all parts]."""
        return torch.cat([part(x) for part in self.parts], dim=1)


Linear = Float32Linear | Int8Linear | Int4Linear | SplitLinear


@dataclass(frozen=True, slots=True)
class Weight:
    """One projection as it was read: what is to be packed."""

    value: Tensor  # [out, in]
    bias: Tensor | None = None  # [out]
    grid: Grid | None = None  # of a weight that form int4 keeps in 4 bits


def pack(weights: Sequence[Weight], form: Form) -> Linear:
    """The projections of one input as one: x [n, in] -> [n, out of all].

    In form int4 those with a grid are kept in 4 bits, where the kernel is there and takes their shape, the others in 8.
    """
    runs: list[tuple[bool, list[Weight]]] = []
    for weight in weights:
        in_four = (
            form in ("int4", "int4 rounded") and weight.grid is not None and fits(weight.value) and has_fast_int4()
        )
        if runs and runs[-1][0] == in_four:
            runs[-1][1].append(weight)
        else:
            runs.append((in_four, [weight]))
    parts = [
        _pack_alike(run, "int4" if in_four else "float32" if form == "float32" else "int8") for in_four, run in runs
    ]
    return parts[0] if len(parts) == 1 else SplitLinear(parts)


def _pack_alike(weights: list[Weight], form: Form) -> Float32Linear | Int8Linear | Int4Linear:
    biases = [weight.bias for weight in weights if weight.bias is not None]
    bias = torch.cat(biases).float() if biases else None
    value = weights[0].value if len(weights) == 1 else torch.cat([weight.value for weight in weights])
    if form == "int4":
        return Int4Linear(value, Grid.joined(weight.grid for weight in weights), bias)
    return (Float32Linear if form == "float32" else Int8Linear)(value, bias)


def kernel_works(form: Form) -> bool:
    """Whether this torch has the kernels of a form."""
    try:
        pack([Weight(torch.eye(GROUP), grid=Grid.spanning(torch.eye(GROUP)))], form)(torch.ones(1, GROUP))
    except (RuntimeError, AttributeError, NotImplementedError):
        return False
    return True


@cache
def has_fast_int4() -> bool:
    """Whether the 4-bit kernel is there, on a kind of processor where it was measured to be of use."""
    if "AVX512" not in torch.backends.cpu.get_cpu_capability():
        return False
    try:
        grid = Grid.spanning(torch.eye(GROUP))
        Int4Linear(torch.eye(GROUP), grid, None)(torch.ones(1, GROUP))
    except (RuntimeError, AttributeError, NotImplementedError):
        return False
    return True
