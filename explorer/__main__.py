"""The command line: `python -m explorer COMMAND`. Ctrl-C ends it without a word until a command stands ready to answer it."""

from __future__ import annotations

import signal
import sys


def main(arguments: list[str] | None = None) -> int:
    """Run one command (explorer/cli/commands.py); returns its exit code."""
    from explorer.cli.main import main as run_command

    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    return run_command(arguments)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(main())
