"""One command of the command line, from its arguments to the exit code: 0, 2 for bad arguments or input, 1 for a failure."""

from __future__ import annotations

import io
import os
import sys

from explorer.cli.commands import command_line
from explorer.cli.options import as_options
from explorer.config import ConfigError
from explorer.errors import UserError, is_out_of_memory, not_installed
from explorer.messages import Message


def main(arguments: list[str] | None = None) -> int:
    """Run one command; user errors become one line on stderr."""
    for name in ("stdout", "stderr"):  # closed by who started the program: nothing is shown, the work is done
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 (open as long as the program is)
    args = command_line().parse_args(arguments)
    if isinstance(sys.stdout, io.TextIOWrapper):  # a narrow terminal shows what it can instead of failing
        sys.stdout.reconfigure(errors="replace")
    try:
        code = args.main(args)
        sys.stdout.flush()  # a full disk is told here, not while the program ends
        return code
    except BrokenPipeError:  # the reader of a pipe has had enough
        _write_no_more()
        return 0
    except ConfigError as error:
        return _refuse(as_options(str(error)))
    except UserError as error:
        return _refuse(str(error))
    except ModuleNotFoundError as error:
        return _refuse(str(not_installed(error)))
    except OSError as error:
        if error.filename is None:
            _write_no_more()
        return _refuse(f"{error.filename or 'standard input or output'}: {error.strerror or error}")
    except KeyboardInterrupt:
        return 130
    except (MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error):
            raise
        _refuse(str(Message("run.not_enough_memory")))
        return 1


def _refuse(message: str) -> int:
    print(f"explorer: {message}", file=sys.stderr)
    return 2


def _write_no_more() -> None:
    """Nothing more may go to stdout, not even what is held back until the program ends."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
