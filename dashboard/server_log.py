"""The server's own log as JSON: a document a line on stderr, for what collects logs (journald, a container's runtime, Loki).

Each has `timestamp` (ISO 8601, UTC), `level`, `logger`, `message` and `job` (null where it is about none); an error its `exc_info`; what
happened in the workspace also its `event` (`run.failed`), `subject` and `actor`. Streamlit and uvicorn write through it too.
"""

from __future__ import annotations

import logging

NAMES = {"levelname": "level", "name": "logger"}


def structured() -> None:
    """Has this process log so from now on, from level INFO, to stderr."""
    from pythonjsonlogger.json import JsonFormatter
    from streamlit import logger

    handler = logging.StreamHandler()
    handler.setFormatter(JsonFormatter(["levelname", "name", "message"], rename_fields=NAMES, timestamp=True, defaults={"job": None}))
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    logger.setup_formatter = _leave_to_root
    logger.update_formatter()


def _leave_to_root(logger: logging.Logger) -> None:
    """Instead of Streamlit's own handler, which it gives to each of its loggers and to uvicorn's."""
    own = getattr(logger, "streamlit_console_handler", None)
    if own is not None:
        logger.removeHandler(own)
    logger.propagate = True
