"""Weights in 4 bits: their grids as a GGUF holds them, and the kernel on them."""

import gguf
import numpy as np
import pytest
import torch
from gguf import GGMLQuantizationType as Kind

from explorer.engine.models.checkpoint import Checkpoint, FolderTensors
from explorer.engine.models.four_bit import Grid, fits, read_grids, write_grids
from explorer.engine.models.gguf_file import grids_of
from explorer.engine.models.linears import Int4Linear, Int8Linear, SplitLinear, Weight, has_fast_int4, pack

needs_kernel = pytest.mark.skipif(not has_fast_int4(), reason="no fast 4-bit kernel on this processor")


def random_weight(rows: int, columns: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(rows, columns, generator=torch.Generator().manual_seed(seed))


def values(grid: Grid, levels: torch.Tensor) -> torch.Tensor:
    return (levels.unflatten(1, (-1, 32)) * grid.scale[..., None] + grid.low[..., None]).flatten(1)


def blocks(kind: Kind, rows: int, columns: int) -> np.ndarray:
    """A tensor in one of the formats, as bytes [rows, ..]; the package cannot write Q4_K, so that is any bytes with sane scales."""
    if kind != Kind.Q4_K:
        return gguf.quants.quantize(random_weight(rows, columns).numpy(), kind)
    data = np.random.default_rng(0).integers(0, 256, (rows, columns // 256, 144), dtype=np.uint8)
    data[..., :4] = np.array([0.01, 0.02], dtype=np.float16).view(np.uint8)
    return data.reshape(rows, -1)


@pytest.fixture(params=[Kind.Q4_0, Kind.Q4_1, Kind.Q4_K], ids=lambda kind: kind.name)
def four_bit_file(request, tmp_path):
    """A file with one projection in a 4-bit format and one in 8 bits; the path and what the projection holds in floats."""
    path, data = tmp_path / "weights.gguf", blocks(request.param, 32, 512)
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_tensor("blk.3.attn_q.weight", data, raw_dtype=request.param)
    writer.add_tensor("blk.3.ffn_up.weight", data, raw_dtype=request.param)
    writer.add_tensor("blk.3.ffn_down.weight", blocks(Kind.Q8_0, 32, 512), raw_dtype=Kind.Q8_0)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path, torch.from_numpy(gguf.quants.dequantize(data, request.param))


def test_the_grids_of_a_file_give_its_values_back(four_bit_file):
    """Also from the bfloat16 values that are stored, whose rounding lies far below a step."""
    path, expected = four_bit_file
    grids = grids_of(gguf.GGUFReader(path), {})
    assert grids.keys() == {f"model.layers.3.{name}.weight" for name in ("self_attn.q_proj", "mlp.up_proj")}
    grid = grids["model.layers.3.mlp.up_proj.weight"]
    torch.testing.assert_close(values(grid, grid.levels(expected.bfloat16())), expected, atol=1e-6, rtol=1e-6)


def test_the_rows_of_a_turned_projection_are_turned_back(four_bit_file):
    """llama.cpp interleaves the halves of each head of queries and keys."""
    path, stored = four_bit_file
    grid = grids_of(gguf.GGUFReader(path), {"attn_q": 2})["model.layers.3.self_attn.q_proj.weight"]
    expected = stored.reshape(2, 8, 2, 512).swapaxes(1, 2).reshape(32, 512)
    torch.testing.assert_close(values(grid, grid.levels(expected)), expected, atol=1e-6, rtol=1e-6)


def test_grids_are_read_as_they_were_written(tmp_path):
    assert read_grids(tmp_path) is None, "weights that never were in 4 bits"
    grid = Grid.spanning(random_weight(16, 64))
    write_grids({"model.a.weight": grid}, tmp_path)
    (read,) = read_grids(tmp_path).values()
    assert torch.equal(read.low, grid.low)
    assert torch.equal(read.scale, grid.scale)
    assert not FolderTensors(tmp_path).files, "no loader takes the file for weights"


def test_a_spanning_grid_holds_both_ends():
    weight = random_weight(16, 64)
    grid = Grid.spanning(weight)
    error = (values(grid, grid.levels(weight)) - weight).abs().unflatten(1, (-1, 32))
    assert (error <= grid.scale[..., None] * 0.501).all()


@torch.inference_mode()
@needs_kernel
def test_the_kernel_computes_with_the_levels():
    """Only the digits that bfloat16 drops are lost, and a row does not depend on what is fed with it."""
    weight, bias, x = random_weight(64, 96), random_weight(1, 64, 1)[0], random_weight(9, 96, 2)
    grid = Grid.spanning(weight)
    linear = pack([Weight(weight, bias, grid)], "int4")
    assert isinstance(linear, Int4Linear)
    out, expected = linear(x), x @ values(grid, grid.levels(weight)).T + bias
    assert (out - expected).norm() < 0.01 * expected.norm()
    assert torch.equal(out, torch.cat([linear(row[None]) for row in x]))


@torch.inference_mode()
@needs_kernel
def test_each_projection_keeps_its_best_form():
    """As in the files called Q4_K_M: of the projections of one input some are in 4 bits, some in 6."""
    weights = [Weight(random_weight(32, 64, seed)) for seed in range(3)]
    four = [Weight(weight.value, grid=Grid.spanning(weight.value)) for weight in weights]
    mixed = pack([four[0], four[1], weights[2]], "int4")
    assert isinstance(mixed, SplitLinear)
    assert [part.dtype_name for part in mixed.parts] == ["int4", "int8"]
    x = random_weight(3, 64, 9)
    expected = torch.cat([pack([four[0], four[1]], "int4")(x), pack([weights[2]], "int4")(x)], dim=1)
    assert torch.equal(mixed(x), expected)
    assert isinstance(pack(four, "int8"), Int8Linear)


@pytest.mark.parametrize(("rows", "columns"), [(32, 48), (20, 64)])
def test_odd_shapes_are_kept_in_eight_bits(rows, columns):
    weight = random_weight(rows, columns)
    assert not fits(weight)
    assert isinstance(pack([Weight(weight, grid=Grid(weight, weight))], "int4"), Int8Linear)


@pytest.mark.parametrize("change", ["a missing tensor", "another shape", "one too many"])
def test_a_folder_unlike_its_configuration_is_left_to_transformers(change, make_model, tmp_path):
    from safetensors.torch import load_file, save_file

    make_model("llama", 0).save_pretrained(tmp_path)
    assert not Checkpoint.open(tmp_path).unlike_its_config()
    tensors = load_file(tmp_path / "model.safetensors")
    name = "model.layers.0.mlp.up_proj.weight"
    match change:
        case "a missing tensor":
            del tensors[name]
        case "another shape":
            tensors[name] = tensors[name][:8].clone()
        case _:
            name = "model.extra.weight"
            tensors[name] = torch.ones(3)
    save_file(tensors, tmp_path / "model.safetensors")
    assert Checkpoint.open(tmp_path).unlike_its_config() == {name}
