"""Measures the time from the server's yield to the DOM, with 1,000 tokens on the page and 20 updates a second.

Not a test: wall time belongs to the machine. Run `python tests/tools/measure_stream.py`; prints p50, p95 and payload.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parents[1]), str(HERE.parent / "support")]

from scripted import Script, ScriptedBackend, Step  # noqa: E402
from serving import launch  # noqa: E402

from explorer.ui.page import build_page  # noqa: E402

ON_PAGE, UPDATES, RATE = 1000, 100, 20

WORDS = [
    "",
    "the",
    "of",
    "and",
    "to",
    "in",
    "a",
    "is",
    "that",
    "it",
    "for",
    "was",
    "on",
    "as",
    "with",
    "be",
    "by",
    "at",
    "from",
    "they",
    "this",
    "have",
    "or",
    "had",
    "not",
]


class TimedBackend(ScriptedBackend):
    """Fills the page at once, then one round of five tokens every 50 ms; notes when each round left."""

    def __init__(self):
        rounds = [([Step(" " + word) for word in WORDS[n : n + 4]], " more") for n in range(0, 20)]
        super().__init__(Script([*rounds, ([Step(" and"), Step("."), Step("\n"), Step("\n")], "So")]))
        self.left: dict[int, float] = {}

    def decode(self, pair, prompt, config):
        tokens, due = 0, time.monotonic()
        for round_ in super().decode(pair, prompt, config):
            if tokens >= ON_PAGE:
                due = max(due + 1 / RATE, time.monotonic())
                time.sleep(max(0.0, due - time.monotonic()))
            tokens += len(round_.emitted)
            self.left[tokens] = time.time() * 1000
            yield round_


def main() -> None:
    from playwright.sync_api import sync_playwright

    backend = TimedBackend()
    page_ = build_page(backend, recorded=())
    url = launch(page_)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1366, "height": 900})
        page.goto(url)
        page.wait_for_selector("#run-view .legend")
        page.evaluate(
            """() => { window.seen = {}; const strip = document.querySelector('.strip');
            new MutationObserver(() => { const n = strip.querySelectorAll('.tok').length; const now = Date.now();
              window.seen[n] ??= now; requestAnimationFrame(() => setTimeout(() => { (window.painted ??= {})[n] ??= Date.now(); })); })
              .observe(strip, {childList: true, subtree: true}); }"""
        )
        page.fill("#prompt textarea", "go")
        page.fill("#knob-max_new_tokens input[type=number]", str(ON_PAGE + UPDATES * 5))
        page.press("#knob-max_new_tokens input[type=number]", "Tab")
        cdp = page.context.new_cdp_session(page)
        cdp.send("Performance.enable")
        page.click("#run")
        page.wait_for_selector("#run-view .run-view[data-phase=done]", timeout=120_000)
        seen, painted = page.evaluate("[window.seen, window.painted]")
        size = page.evaluate("document.querySelectorAll('.strip .tok').length")
        metrics = {m["name"]: m["value"] for m in cdp.send("Performance.getMetrics")["metrics"]}
        browser.close()
    for name, times in (("DOM", seen), ("paint", painted)):
        lags = sorted(times[str(n)] - left for n, left in backend.left.items() if n > ON_PAGE + 10 and str(n) in times)
        print(
            f"{name}: {len(lags)} updates, p50 {lags[len(lags) // 2]:.0f} ms, p95 {lags[int(len(lags) * 0.95)]:.0f} ms, max {lags[-1]:.0f} ms; {size} tokens at the end"
        )
    names = (
        "ScriptDuration",
        "LayoutDuration",
        "LayoutCount",
        "RecalcStyleDuration",
        "RecalcStyleCount",
        "TaskDuration",
        "ProcessTime",
        "ThreadTime",
        "Nodes",
    )
    print(", ".join(f"{name} {metrics.get(name, 0):.2f}" for name in names))
    page_.close()


if __name__ == "__main__":
    main()
