"""Colours, type and launch options: what the page looks like wherever it is served. Offline: no web fonts, no CDN."""

from __future__ import annotations

from typing import Any

import gradio as gr
from starlette.middleware import Middleware

from explorer.ui import knob_styles
from explorer.ui.languages import I18N
from explorer.ui.limits import UPLOAD_LIMIT, BodyLimit
from explorer.ui.recordings import RUNS
from explorer.ui.scripts import STYLES

PAGES = 1000  # whose state is held at once; each takes the server about a third of a megabyte, and Gradio never drops one by itself


def theme() -> gr.themes.Base:
    """Gradio's default theme with contrast raised to WCAG AA in both modes and quieter surfaces."""
    return gr.themes.Default(
        primary_hue="blue",
        neutral_hue="slate",
        radius_size="md",
        font=[gr.themes.LocalFont("IBM Plex Sans", weights=(400, 700)), "system-ui", "sans-serif"],
        font_mono=[gr.themes.LocalFont("IBM Plex Mono", weights=(400, 600)), "ui-monospace", "monospace"],
    ).set(
        body_background_fill="#fbfbfa",
        body_background_fill_dark="#12151a",
        block_background_fill="transparent",
        block_background_fill_dark="transparent",
        block_border_width="0px",
        block_border_width_dark="0px",
        block_shadow="none",
        block_label_background_fill="transparent",
        block_title_text_weight="600",
        block_title_text_color="*body_text_color",
        block_title_text_color_dark="*body_text_color",
        input_placeholder_color="*neutral_500",
        input_placeholder_color_dark="*neutral_400",
        input_background_fill="white",
        input_background_fill_dark="#1a1f27",
        button_primary_background_fill="*primary_700",
        button_primary_background_fill_hover="*primary_800",
        button_primary_background_fill_dark="*primary_700",
        button_primary_background_fill_hover_dark="*primary_600",
        button_primary_text_color="white",
        body_text_color_subdued="*neutral_600",
        body_text_color_subdued_dark="*neutral_400",
        block_info_text_color="*neutral_600",
        block_info_text_color_dark="*neutral_400",
    )


def launch_options() -> dict[str, Any]:
    """Arguments of launch() that belong to the page, not to the place it runs."""
    return {
        "theme": theme(),
        "i18n": I18N,
        "css": knob_styles.styles(),
        "css_paths": list(STYLES),
        "allowed_paths": [str(RUNS)],  # the recorded runs, to be downloaded; wherever the server was started
        "footer_links": ["api"],
        "run_history": False,
        "enable_monitoring": False,
        "ssr_mode": False,
        "show_error": True,
        "max_file_size": UPLOAD_LIMIT,
        "app_kwargs": {"middleware": [Middleware(BodyLimit)]},
        "state_session_capacity": PAGES,
    }
