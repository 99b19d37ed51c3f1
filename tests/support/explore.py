"""The Explore tab's handlers over one backend, put together as the page does it, without a page."""

from __future__ import annotations

from explorer.ui.explore import api
from explorer.ui.explore.handlers import RunHandlers
from explorer.ui.explore.opening import OpenHandlers
from explorer.ui.explore.request import RequestReader
from explorer.ui.explore.run_choices import RunChoices


class ExploreHandlers:
    """All of them under one name."""

    def __init__(self, backend, recorded=(), local_folders=False):
        self.backend = backend
        self.reader = RequestReader(backend, local_folders)
        self.offers = self.reader.offers
        choices = RunChoices(recorded)
        runs, opening = RunHandlers(backend, self.reader, choices), OpenHandlers(self.reader, choices)
        self.prepare, self.run, self.stop = runs.prepare, runs.run, runs.stop
        self.open_run, self.pick, self.open_linked = opening.open_run, opening.pick, opening.open_linked
        self.open_file, self.charts, self.prompt_and_pair = opening.open_file, opening.charts, opening.prompt_and_pair

    def api_run(self, *form):
        return api.run_once(self.backend, self.reader, *form)
