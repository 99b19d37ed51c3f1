"""A pair that a visitor types instead of choosing: TARGET,DRAFT or TARGET,DRAFT,cross-tokenizer, as on the command line."""

from __future__ import annotations

from explorer.engine.models.registry import USUAL_FORM, KnownPair, find_pair, is_here, public_reference
from explorer.engine.models.weights import local_path
from explorer.errors import UserError

TYPED_LIMIT = 400  # characters


def typed_pair(name: str, local_folders: bool) -> KnownPair:
    """The pair of a typed name, if its weights are on this machine; raises UserErrors.

    local_folders: where visitors are no users of this machine, only hub ids are taken: its folders are not theirs to try.
    """
    if len(name) > TYPED_LIMIT:
        raise UserError("pair.name_too_long", limit=TYPED_LIMIT)
    known = find_pair(name)
    missing = [str(side) for side in known.sides.values() if not is_here(side)]
    if not local_folders:
        missing += [str(side) for side in known.sides.values() if isinstance(side, str) and local_path(side)]
    if missing:
        raise UserError("pair.not_here", name=" / ".join(missing))
    return known


def title_of_typed(known: KnownPair) -> str:
    """What it is called on the page: of local folders only the last part, and no mode, which has a badge of its own."""
    form = "" if known.target_form == USUAL_FORM else f"@{known.target_form}"
    return " / ".join(map(public_reference, known.sides.values())) + form
