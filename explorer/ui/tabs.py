"""How the browser and the page tell each other which tab is chosen."""

from __future__ import annotations

# The view hears that another tab was chosen, and chooses one itself: as Gradio takes it from a script.
TELL = "() => { document.dispatchEvent(new CustomEvent('explorer-tab')); }"
CHOSEN = "() => ({ __type__: 'update', selected: document.querySelector('#run-view .run-view').tab })"
