"""Measures the page on a recorded run of 200 rounds: opening, dragging theta, stepping rounds.

Not a test: wall time belongs to the machine. Run `python tests/tools/measure_explore.py`.
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parents[1]), str(HERE.parent / "support")]

from scripted import STORY, ScriptedBackend, Step, Words, make_round  # noqa: E402
from serving import launch  # noqa: E402

from explorer.config import DecodeConfig  # noqa: E402
from explorer.stops import Stop  # noqa: E402
from explorer.trace import Prompt, Provenance, Trace, mentioned_ids  # noqa: E402
from explorer.ui.page import build_page  # noqa: E402
from explorer.ui.recordings import recordings  # noqa: E402

ROUNDS, DRAFT = 200, 8
WORDS = ["the", "of", "and", "to", "in", "a", "is", "that", "it", "for", "was", "on", "as", "with", "be", "by", "at"]

# The time of each frame in which the strip or a picture changed, and what was asked of the server meanwhile.
WATCH = """() => {
  window.changed = []; let waiting = false;
  new MutationObserver(() => { if (!waiting) { waiting = true; requestAnimationFrame(() => { waiting = false; changed.push(performance.now()); }); } })
    .observe(document.querySelector('#run-view'), {subtree: true, childList: true, attributes: true, characterData: true});
}"""


def long_trace() -> Trace:
    """200 rounds of 8 drafted tokens, a third of them wrong somewhere, with about 1,000 tokens in all."""
    chance, words, rounds, length = random.Random(1), Words(), [], 1
    config = DecodeConfig(draft_length=DRAFT)
    prompt = Prompt((words.id("go"),), "go")

    def step() -> Step:
        entropy = round(chance.random() ** 3 * 0.6, 4)
        return Step(" " + chance.choice(WORDS), " other" if chance.random() < 0.12 else None, entropy)

    for number in range(ROUNDS):
        bonus = "\n" if number % 12 == 11 else " " + chance.choice(WORDS)
        rounds.append(make_round(words, [step() for _ in range(DRAFT)], bonus, length, config))
        length += len(rounds[-1].emitted)
    vocabulary = {token: words[token] for token in mentioned_ids(prompt, rounds, (), None)}
    provenance = Provenance("scripted", "t", "d", {}, {"target": "none"}, "none", 1, {}, "2026-01-01T00:00:00+00:00")
    config = replace(config, max_new_tokens=length - 1)
    return Trace(provenance, prompt, config, tuple(rounds), Stop("budget"), (), vocabulary)


def main() -> None:
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder:
        long_trace().save(Path(folder) / "b-long.json")
        short = long_trace()
        short = replace(
            short, rounds=short.rounds[:3], partial=True, stop=Stop("user")
        )  # opens first, so that opening the long one is measured alone
        short.save(Path(folder) / "a-short.json")
        recorded = recordings({}, folder=Path(folder))
    page_ = build_page(ScriptedBackend(STORY), recorded=recorded)
    url = launch(page_)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        for attempt in range(3):
            page = browser.new_page(viewport={"width": 1366, "height": 900})
            start = time.perf_counter()
            page.goto(url)
            page.wait_for_selector(".strip .tok")
            page.wait_for_selector("#run:not([disabled])")
            print(
                f"visit {attempt + 1}: recorded run on show and Run ready {time.perf_counter() - start:.2f} s after goto"
            )
            if attempt < 2:
                page.close()
        requests: list[str] = []
        page.on("request", lambda request: requests.append(request.url))
        cdp = page.context.new_cdp_session(page)
        cdp.send("Performance.enable")

        def metrics() -> dict[str, float]:
            return {m["name"]: m["value"] for m in cdp.send("Performance.getMetrics")["metrics"]}

        time.sleep(1)
        before = metrics()
        page.click("#recordings input")
        page.locator("[role=option]").nth(1).click()
        page.wait_for_function("document.querySelectorAll('.strip .tok').length > 900")
        page.wait_for_function("document.querySelector('.scrub-label').textContent.endsWith('of 200')")
        time.sleep(0.5)
        after = metrics()
        size = page.evaluate("document.querySelectorAll('.strip .tok').length")
        spent = {
            name: (after[name] - before[name]) * 1000 for name in ("ScriptDuration", "LayoutDuration", "ThreadTime")
        }
        print(f"opening {size} tokens: " + ", ".join(f"{name} {value:.0f} ms" for name, value in spent.items()))

        page.evaluate(WATCH)
        for name, selector in (("slider", "#knob-theta input[type=range]"), ("cut line", ".plot.used .cut")):
            page.locator(selector).scroll_into_view_if_needed()
            box = page.locator(selector).bounding_box()
            y = box["y"] + (box["height"] / 2 if name == "slider" else 12)
            x = box["x"] + (box["width"] * 0.05 if name == "slider" else box["width"] / 2)
            page.mouse.move(x, y)
            page.mouse.down()
            page.mouse.move(x + 2, y)
            time.sleep(0.3)
            requests.clear()
            page.evaluate("changed.length = 0")
            before = metrics()
            start = time.perf_counter()
            moves = 120
            for n in range(moves):
                page.mouse.move(x + 2 + 0.8 * n, y)
                time.sleep(max(0.0, start + (n + 1) / 60 - time.perf_counter()))
            wall = time.perf_counter() - start
            frames = page.evaluate("changed")
            after = metrics()
            asked = len(requests)
            page.mouse.up()
            gaps = sorted(b - a for a, b in zip(frames, frames[1:]))
            cpu = (after["ThreadTime"] - before["ThreadTime"]) * 1000 / max(1, len(frames))  # free of other programs
            print(
                f"dragging theta by the {name}: {moves} moves in {wall:.2f} s, {len(frames)} repaints = {len(frames) / wall:.0f}/s, "
                f"gap p50 {gaps[len(gaps) // 2]:.0f} ms, p95 {gaps[int(len(gaps) * 0.95)]:.0f} ms, {cpu:.1f} ms of processor on the main thread each, {asked} requests"
            )
            time.sleep(1)

        page.focus(".strip .tok[tabindex='0']")
        times = page.evaluate(
            """async () => { const times = []; for (let n = 0; n < 40; n++) { const start = performance.now();
            document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {key: n < 20 ? ']' : '[', bubbles: true}));
            await new Promise((done) => requestAnimationFrame(() => setTimeout(done))); times.push(performance.now() - start); } return times; }"""
        )
        times.sort()
        print(f"stepping rounds: p50 {times[20]:.0f} ms, p95 {times[38]:.0f} ms to the painted frame")
        browser.close()
    page_.close()


if __name__ == "__main__":
    main()
