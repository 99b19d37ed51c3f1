"""`python -m explorer pairs`: the known pairs, whether their weights are here, sizes."""

from __future__ import annotations

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command has none."""


def main(args: argparse.Namespace) -> int:
    """Print the table of pairs."""
    from explorer.engine.models.registry import known_pairs

    width = max(len(pair.name) for pair in known_pairs())
    for pair in known_pairs():
        here = "here" if pair.is_here else "fetched on first use" if pair.is_embedded else "not here"
        print(f"{pair.name:{width}} {here:21} {pair.download_gb:6.1f} GB  {pair.suits:31} {pair.title}")
    print("Any other pair: --pair TARGET,DRAFT as hub ids or local folders (safetensors or GGUF).")
    return 0
