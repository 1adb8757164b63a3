"""The code editor: type, or see the difference to an original beside or inside the text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Literal

import streamlit as st

from dashboard.served import module_loader
from pipelines.domain import sql_jobs, syntax

_STYLE = """
.tm-code-split { overflow: auto; border: 1px solid var(--st-border-color); border-radius: 8px; }
.tm-code-split .cm-editor { border: none !important; border-radius: 0 !important; }
.tm-code-split .cm-mergeViewEditor + .cm-mergeViewEditor { border-left: 1px solid var(--st-border-color); }
"""
_mount = st.components.v2.component("tidemark_code_editor", js=module_loader("code_editor.js"), css=_STYLE, isolate_styles=False)


@dataclass(frozen=True)
class Diagnostic:
    """Something to underline: `line` from 1, `column` from 0."""

    line: int
    column: int
    message: str
    severity: Literal["error", "warning", "info"] = "error"


def code_editor(
    value: str,
    *,
    key: str,
    original: str = "",
    mode: Literal["edit", "unified", "split"] = "edit",
    readonly: bool = False,
    collapse: bool = False,
    diagnostics: Sequence[Diagnostic] = (),
    height: int = 480,
    revision: int = 0,
    label: str = "Code",
    script: str = "job.py",
) -> str:
    """The text as it stands now; `value` is only where it begins.

    `script` is the file's name: of a SQL file SQL is coloured.

    A rerun does not touch what was typed; another `revision` begins anew from `value`. `unified` and `split` show the difference
    to `original`, in `unified` with a button per change to take or undo it; `collapse` folds what did not change.
    """
    text = _typed(key, value, revision)
    data = {
        "name": f"{key}.{revision}",
        "value": text,
        "original": original,
        "mode": mode,
        "readonly": readonly,
        "collapse": collapse,
        "diagnostics": [asdict(diagnostic) for diagnostic in diagnostics],
        "height": height,
        "label": label,
        "language": "sql" if sql_jobs.is_sql(script) else "python",
        "pauseMs": 400,
    }
    result = _mount(data=data, key=f"{key}.{revision}", default={"value": text}, on_value_change=_ignore)
    now = getattr(result, "value", None)
    return text if now is None else str(now)


def _typed(key: str, value: str, revision: int) -> str:
    """The text typed so far, so that a change of mode does not lose it."""
    state = st.session_state.get(f"{key}.{revision}")
    typed = state.get("value") if state is not None else None
    return value if typed is None else str(typed)


def _ignore() -> None:
    """State needs a callback for its value to reach the page."""


def syntax_diagnostics(code: str, filename: str = "job.py") -> list[Diagnostic]:
    """What is wrong in `code`, as Python or, of a SQL file, a SQL job; empty if nothing is. Nothing is run."""
    try:
        syntax.check(code, filename)
    except SyntaxError as error:
        return [Diagnostic(error.lineno or 1, max((error.offset or 1) - 1, 0), error.msg)]
    return []
