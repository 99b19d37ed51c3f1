"""The one kind of error that is meant for the person who made the input."""


class UserError(ValueError):
    """Says in one sentence what is wrong and how to put it right. Front ends show the message, never a traceback."""
