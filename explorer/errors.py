"""Errors that are meant for a person: bad input, a machine that is too small, and an installation that is not there."""

from __future__ import annotations

from typing import Any

from explorer.messages import Message


class UserError(ValueError):
    """Says in one sentence what is wrong and how to put it right. Front ends show the message, never a traceback."""

    def __init__(self, code: str, **values: Any):
        """code: of the catalogues in explorer/messages, with the values of its gaps."""
        self.message = Message(code, values)
        super().__init__(str(self.message))

    def __reduce__(self) -> tuple[Any, ...]:  # errors cross to and from the process that has a GPU
        return _again, (type(self), self.message.code, dict(self.message.values))


def _again(kind: type[UserError], code: str, values: dict[str, Any]) -> UserError:
    return kind(code, **values)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether Python, a GPU or torch's allocator on a CPU (which raises a plain RuntimeError) found no room."""
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return True
    return isinstance(error, RuntimeError) and (
        "can't allocate memory" in str(error) or "not enough memory" in str(error)
    )


def not_installed(error: ModuleNotFoundError) -> Message:
    """One line for a package of the requirements that this Python lacks; raises the error again where a module of ours is missing."""
    package = (error.name or "").partition(".")[0]
    if package in ("", "explorer"):
        raise error
    return Message("install.missing", {"package": package})
