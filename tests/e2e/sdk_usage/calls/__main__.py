"""As `sdk/sdk_calls`, with the calls of this directory: `python calls openai_usage|anthropic_usage|genai_usage`."""

import runpy
from pathlib import Path

runpy.run_path(str(Path(__file__).resolve().parents[2] / "sdk" / "sdk_calls"), run_name="__main__")
