"""The English catalogue: one sentence for each code. ko.py has the same codes."""

MESSAGES = {
    "config.form_needs_cpu": "target form {form} is for a CPU without a named dtype: leave --dtype out and take --device cpu",
    "prompt.empty": "the prompt is empty: type at least one word",
}
