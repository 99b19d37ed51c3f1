"""A text as one turn of a chat, through the template that comes with a tokenizer.

Templates are programs of others: some raise, some want a turn as a list of parts, some leave the turn out. What they give is used
only where the text is in it.
"""

from __future__ import annotations

import json
from typing import Any

from transformers import PreTrainedTokenizerFast

from explorer.errors import is_out_of_memory
from explorer.messages import Message
from explorer.prompts import PromptError


def as_chat_turn(tokenizer: PreTrainedTokenizerFast, text: str, model: str | Message) -> str:
    """The user's text in the chat template, up to where the answer begins; model: what a message calls its owner.

    A template that does not take the turn as a text gets it as a list of parts. Raises PromptError where neither works.
    """
    name = _chosen(tokenizer, model)
    failure: Exception | Message = Message("template.drops_text")
    for as_content in (str, _parts):
        try:
            rendered, other = (_render(tokenizer, name, as_content(one)) for one in (text, f"{text}x"))
        except Exception as error:  # whatever the template does, and it may be broken in any way
            if is_out_of_memory(error):
                raise
            failure = error
            continue
        if rendered != other and _holds(rendered, text):
            return rendered
    if isinstance(failure, Exception):
        lines = (line.strip() for line in str(failure).splitlines())
        failure = Message("template.failed", {"error": type(failure).__name__, "reason": next(filter(None, lines), "")})
    raise PromptError("template.unusable", model=model, reason=failure)


def _chosen(tokenizer: PreTrainedTokenizerFast, model: str | Message) -> str | None:
    """The name of the template to use, of a tokenizer that has several; None where it has one without a name."""
    named = tokenizer.chat_template
    if not isinstance(named, dict):
        return None
    if "default" in named or len(named) == 1:
        return "default" if "default" in named else next(iter(named))
    reason = Message("template.no_default", {"names": ", ".join(sorted(named))})
    raise PromptError("template.unusable", model=model, reason=reason)


def _parts(text: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": text}]


def _render(tokenizer: PreTrainedTokenizerFast, name: str | None, content: Any) -> str:
    return tokenizer.apply_chat_template(
        [{"role": "user", "content": content}], chat_template=name, add_generation_prompt=True, tokenize=False
    )


def _holds(rendered: str, text: str) -> bool:
    """Whether the text is there, white space aside, as it is or as JSON."""
    forms = (text, json.dumps(text, ensure_ascii=False)[1:-1])
    return any(_squeezed(form) in _squeezed(rendered) for form in forms)


def _squeezed(text: str) -> str:
    return "".join(text.split())
