"""Chat templates of others: what is sent always holds the user's text, or the template is refused with the way around it."""

from __future__ import annotations

import copy

import pytest

from explorer.engine.models.chat import as_chat_turn
from explorer.prompts import PromptError

TEXT = 'Say "the <end> & é",\n then stop.'
LOOP = "{% for m in messages %}<|im_start|>{{ m.role }}\n{% for part in m.content %}{% if part.type == 'text' %}{{ part.text }}{% endif %}{% endfor %}<|im_end|>\n{% endfor %}"
STRICT = LOOP.replace("part.type == 'text'", "part['type'] == 'text'").replace("part.text", "part['text']")
PLAIN = "{% for m in messages %}<|im_start|>{{ m.content | trim }}<|im_end|>{% endfor %}"

WORKING = {
    "plain": (PLAIN, TEXT),
    "parts": (LOOP, TEXT),
    "parts, failing on a text": (STRICT, TEXT),
    "escaped": ("{% for m in messages %}{{ m.content | tojson }}{% endfor %}", '\\"the <end>'),
    "named": ({"tool_use": "{{ tools | length }}", "default": PLAIN}, TEXT),
    "the only one, named": ({"chat": PLAIN}, TEXT),
}
BROKEN = {
    "raises": (
        "{{ raise_exception('Only system messages are allowed\nhere') }}",
        "TemplateError: Only system messages",
    ),
    "has a mistake": ("{% for m in messages %}{{ m.content }}", "TemplateSyntaxError"),
    "needs tools": ("{{ tools | length }}{{ messages[0].content }}", "it fails"),
    "is named": ({"tool_use": PLAIN, "rag": PLAIN}, "there are rag, tool_use, and none is the default"),
    "drops the text": ("<|im_start|>user\n<|im_end|>", "it leaves out the text of the user"),
    "is empty": ("{% if false %}x{% endif %}", "it leaves out the text of the user"),
    "holds the same words anyway": (f"{TEXT} and no more", "it leaves out the text of the user"),
    "cuts the text": ("{{ messages[0].content[:4] }}", "it leaves out the text of the user"),
    "divides by zero": ("{{ messages[0].content }}{{ 1 / 0 }}", "ZeroDivisionError"),
}


def with_template(tokenizer, template):
    changed = copy.deepcopy(tokenizer)
    changed.chat_template = template
    return changed


@pytest.mark.parametrize("name", WORKING)
def test_a_template_that_takes_the_text_is_used(name, tokenizer):
    """One that loops over parts, given a text, gave a prompt without it, and nobody was told."""
    template, expected = WORKING[name]
    assert expected in as_chat_turn(with_template(tokenizer, template), TEXT, "m")


@pytest.mark.parametrize("name", BROKEN)
def test_any_other_is_refused_with_its_owner_and_the_way_around(name, tokenizer):
    template, reason = BROKEN[name]
    with pytest.raises(PromptError) as error:
        as_chat_turn(with_template(tokenizer, template), TEXT, "tiny/model")
    said = str(error.value)
    assert said.startswith("the chat template of tiny/model cannot be used: ")
    assert reason in said
    assert said.endswith("Choose the raw prompt (--raw-prompt) to send the text as it is")
    assert len(said.splitlines()) == 1


@pytest.mark.parametrize("name", ["raises", "is named", "drops the text"])
def test_on_the_command_line_it_is_one_line_and_the_raw_prompt_runs(name, pair, tmp_path, refused, command, capsys):
    template, reason = BROKEN[name]
    for side, model in (("target", pair.oracle), ("draft", pair.oracle_draft)):
        model.save_pretrained(tmp_path / side)
        with_template(pair.tokenizer, template).save_pretrained(tmp_path / side)
    capsys.readouterr()  # of saving
    run = ("run", "--prompt", "Hi", "--pair", f"{tmp_path / 'target'},{tmp_path / 'draft'}", "--max-new-tokens", 4)
    said = refused(*run, "--quiet")
    assert reason in said
    assert "the chat template of target " in said
    code, out, _ = command(*run, "--raw-prompt")
    assert code == 0
    assert out.strip()
