"""Linear layers laid out for a CPU: weights packed once, in 32, 8 or 4 bits.

A row of the result of `Int8Linear` and of `Int4Linear` has the same bits whatever the number of rows and of threads: sums of 8-bit
products are whole numbers, and the 4-bit kernel sums each row alike. That of `Float32Linear` changes in its last digits.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cache
from typing import Literal

import torch
from torch import Tensor

Form = Literal["float32", "int8", "int4"]
GROUP = 32  # weights that share a scale and an offset in 4 bits, as in the GGUF formats


class Float32Linear:
    """x @ weight.T + bias on weights that oneDNN has reordered once; time is flat up to about eight rows."""

    dtype_name = "float32"

    def __init__(self, weight: Tensor, bias: Tensor | None):
        """weight [out, in], bias [out]."""
        self.weight = torch.ops.mkldnn._reorder_linear_weight(weight.contiguous(), None)
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
        weight = weight.float()
        scales = weight.abs().amax(dim=1).clamp(min=1e-12).double() / 127
        zeros = torch.zeros(len(weight), dtype=torch.long)
        with warnings.catch_warnings():  # deprecation of the constructor; the kernel has no successor yet
            warnings.simplefilter("ignore", UserWarning)
            quantized = torch.quantize_per_channel(weight, scales, zeros, 0, torch.qint8)
        self.weight = torch.ops.quantized.linear_prepack(quantized, None)
        self.bias = bias
        self.weight_bytes = weight.numel() + scales.nbytes + zeros.nbytes

    def __call__(self, x: Tensor) -> Tensor:
        """x [n, in] -> [n, out]."""
        scale = torch.linalg.vector_norm(x, ord=torch.inf, dim=1, keepdim=True).clamp_(min=1e-12)
        kernel = torch.ops.quantized.linear_with_input_q_dq_qweight_dq_output_fp32
        out = kernel(x / scale, 1 / 127, 128, self.weight).mul_(scale)
        return out if self.bias is None else out.add_(self.bias)


class Int4Linear:
    """x @ weight.T + bias with the 4-bit weights of a file, one scale and offset per group of 32; activations in bfloat16."""

    dtype_name = "int4"

    def __init__(self, groups: FourBit, bias: Tensor | None):
        """bias [out]."""
        self.weight = torch.ops.aten._convert_weight_to_int4pack_for_cpu(groups.levels, 1)
        # The kernel computes (level - 8) * scale + offset.
        scales = torch.stack([groups.scale, groups.low + 8 * groups.scale], dim=-1)
        self.scales = scales.transpose(0, 1).contiguous().bfloat16()  # [in / 32, out, 2]
        self.bias = bias
        self.weight_bytes = groups.levels.numel() // 2 + self.scales.nbytes

    def __call__(self, x: Tensor) -> Tensor:
        """x [n, in] -> [n, out]."""
        out = torch.ops.aten._weight_int4pack_mm_for_cpu(x.bfloat16(), self.weight, GROUP, self.scales).float()
        return out if self.bias is None else out.add_(self.bias)


Linear = Float32Linear | Int8Linear | Int4Linear


@dataclass(frozen=True, slots=True)
class FourBit:
    """A weight [out, in] whose groups of 32 each take 16 evenly spaced values: low + scale * level."""

    levels: Tensor  # int32 [out, in], 0 to 15
    low: Tensor  # [out, in / 32]
    scale: Tensor  # [out, in / 32]

    @classmethod
    def of(cls, weight: Tensor) -> FourBit | None:
        """The 4-bit form of a weight that lies on such a grid, as one read from a 4-bit file does; None for any other."""
        rows, columns = weight.shape
        if rows % 16 or columns % GROUP:
            return None
        groups = weight.float().view(rows, -1, GROUP)
        low = groups.amin(dim=-1)
        scale = ((groups.amax(dim=-1) - low) / 15).clamp_(min=1e-12)
        levels = ((groups - low[..., None]) / scale[..., None]).round_()
        error = torch.dist(levels * scale[..., None] + low[..., None], groups)
        if error > 0.002 * groups.norm():
            return None
        return cls(levels.int().view(rows, columns), low, scale)


def pack(weight: Tensor, bias: Tensor | None, form: Form) -> Linear:
    """A projection x [n, in] -> [n, out] with weight [out, in] laid out for a CPU.

    In form int4 a weight that does not lie on a 4-bit grid is kept in 8 bits, as is every weight where the 4-bit kernel is missing.
    """
    if form == "float32":
        return Float32Linear(weight, bias)
    groups = FourBit.of(weight) if form == "int4" and has_fast_int4() else None
    return Int4Linear(groups, bias) if groups else Int8Linear(weight, bias)


def kernel_works(form: Form) -> bool:
    """Whether this torch has the kernels of a form."""
    try:
        pack(torch.eye(16), None, form)(torch.ones(1, 16))
    except (RuntimeError, AttributeError, NotImplementedError):
        return False
    return True


@cache
def has_fast_int4() -> bool:
    """Whether the 4-bit kernel is there, on a kind of processor where it was measured to be of use."""
    if "AVX512" not in torch.backends.cpu.get_cpu_capability():
        return False
    try:
        Int4Linear(FourBit.of(torch.eye(GROUP)), None)(torch.ones(1, GROUP))
    except (RuntimeError, AttributeError, NotImplementedError):
        return False
    return True


def draft_form() -> Form:
    """The form of a draft on this processor."""
    return "int4" if has_fast_int4() else "int8"
