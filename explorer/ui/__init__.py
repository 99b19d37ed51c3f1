"""The page: layout, the run view and its encoding, callbacks. No decoding logic; nothing below imports gradio."""
