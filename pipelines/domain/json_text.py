"""JSON that somebody else wrote."""

from __future__ import annotations

import json
from typing import Any


def read_json(text: str | bytes) -> Any:
    """The value that `text` describes; ValueError for what is no JSON, and for JSON that is nested deeper than Python reads."""
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("JSON is nested too deeply") from error
