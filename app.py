"""Builds the page and serves it: `python app.py [--host H] [--port N] [--root-path P]`. The only file that knows about Spaces."""

from __future__ import annotations

import argparse
import os
import sys

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")  # before gradio is imported: no version check, no telemetry

ON_SPACE = "SPACE_ID" in os.environ
LOOPBACK = ("127.0.0.1", "localhost", "::1")
ON_ZERO_GPU = os.environ.get("SPACES_ZERO_GPU", "").lower() in ("1", "t", "true")
if ON_ZERO_GPU:
    import spaces  # before torch, whose CUDA calls it answers until a GPU is lent; the platform installs it

from explorer.errors import not_installed  # noqa: E402

try:
    from explorer.ui.page import build_page
    from explorer.ui.theme import launch_options
except ModuleNotFoundError as error:
    print(f"app.py: {not_installed(error)}", file=sys.stderr)
    sys.exit(2)


def _zerogpu_backend():
    """Weights are loaded while the Space starts: those of the variable EXPLORER_PAIRS (names, spaces between), else the default."""
    from explorer.engine.models.registry import default_pair
    from explorer.ui.zerogpu import ZeroGpuBackend

    names = os.environ.get("EXPLORER_PAIRS", default_pair()).split()
    return ZeroGpuBackend(lambda task, seconds: spaces.GPU(duration=seconds)(task), names)


demo = build_page(_zerogpu_backend() if ON_ZERO_GPU else None, warm=True, local_folders=not ON_SPACE)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> None:
        self.exit(2, f"app.py: {message} (see python app.py --help)\n")


def _root_path(text: str) -> str:
    """A path or an address as gradio takes it: without a slash at its end."""
    if not text.startswith(("/", "http://", "https://")):
        raise argparse.ArgumentTypeError(f"must begin with / or http:// or https://, got {text[:60]!r}")
    return text.rstrip("/")


def main() -> int:
    """Serve until interrupted; a port that cannot be had is one line and exit code 2."""
    parser = _Parser(description="Serve the speculative decoding explorer.", allow_abbrev=False)
    parser.add_argument(
        "--host", default="0.0.0.0" if ON_SPACE else "127.0.0.1", metavar="H", help="default: %(default)s"
    )
    parser.add_argument("--port", type=int, metavar="N", help="default: the first free one from 7860")
    parser.add_argument(
        "--root-path", metavar="P", type=_root_path,
        help="where a reverse proxy puts the page, if not at the root of its address: /explorer, or https://example.org/explorer",
    )  # fmt: skip
    args = parser.parse_args()
    if args.port is not None and not 1 <= args.port <= 65535:
        parser.error(f"argument --port: must be from 1 to 65535, got {args.port}")
    page = demo
    if (
        not ON_SPACE and args.host not in LOOPBACK
    ):  # others than this machine's users may come: its folders are not theirs to try
        page = build_page(warm=True, local_folders=False)
    try:
        page.launch(server_name=args.host, server_port=args.port, root_path=args.root_path, **launch_options())
    except OSError as error:
        where = f"{args.host}:{args.port}" if args.port else args.host
        print(f"app.py: cannot serve on {where}: {error.strerror or error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
