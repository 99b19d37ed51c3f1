"""The page: a folder for each tab, its texts in catalogue/, its scripts and styles in web/. Nothing else imports gradio."""
