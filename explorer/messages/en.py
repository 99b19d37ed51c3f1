"""The English catalogue: one sentence for each code. ko.py has the same codes."""

MESSAGES = {
    "prompt.empty": "the prompt is empty: type at least one word",
}
