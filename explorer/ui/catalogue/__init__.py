"""What the page says, by language: en and ko side by side, with the same modules, names, keys and gaps (tests/ui/test_languages.py)."""

from collections.abc import Mapping
from types import ModuleType

from explorer.ui.catalogue import en, ko

TEXTS: Mapping[str, ModuleType] = {"en": en, "ko": ko}
