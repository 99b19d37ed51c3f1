"""What the page says in English, by subject. ko has the same modules, names and keys.

Placeholders in braces are filled by the code that shows a text; values are always set as text, never as markup.
"""

from explorer.ui.catalogue.en import compare, explore, knobs, lesson, page, tune

__all__ = ["compare", "explore", "knobs", "lesson", "page", "tune"]
