"""The scripted pair of this folder is imported by name, also by the browser tests."""

import os
import sys
from pathlib import Path

os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
sys.path.insert(0, str(Path(__file__).parent))
