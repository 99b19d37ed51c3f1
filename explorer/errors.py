"""Errors that are meant for a person: bad input, and a machine that is too small."""


class UserError(ValueError):
    """Says in one sentence what is wrong and how to put it right. Front ends show the message, never a traceback."""


def is_out_of_memory(error: BaseException) -> bool:
    """Whether Python, a GPU or torch's allocator on a CPU (which raises a plain RuntimeError) found no room."""
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return True
    return isinstance(error, RuntimeError) and (
        "can't allocate memory" in str(error) or "not enough memory" in str(error)
    )
