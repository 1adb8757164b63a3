"""The files that browsers fetch from `/assets`: each by name, with its content's hash in the address so that it can be cached for ever."""

from __future__ import annotations

import gzip
import hashlib
from functools import cache
from mimetypes import guess_type
from pathlib import Path

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse, Response

_HERE = Path(__file__).parent
_COMPONENTS = (
    *("panel.js", "panel.css", "figure.js", "labels.js", "saving.js", "saving.css", "zones.js"),
    *("table.js", "table.css", "film.js", "film.css", "heat.js", "heat.css", "plan.js", "plan.css"),
    *("keys.js", "switcher.js", "drawer.js", "history.js", "elements.js"),
)
_FOLDERS = dict.fromkeys(_COMPONENTS, _HERE / "components")
_FOREVER = "public, max-age=31536000, immutable"
_TEXT = frozenset({".js", ".css", ".svg"})
PLOTLY = "plotly-basic.min.js"
"""Plotly's own build of lines, bars and pies: all that is drawn here, in a quarter of the bytes."""


def asset_path(name: str) -> Path | None:
    """The file behind `/assets/<name>`, or None."""
    if "/" in name or "\\" in name or name.startswith("."):
        return None
    path = _FOLDERS.get(name, _HERE / "assets") / name
    return path if path.is_file() else None


@cache
def asset_url(name: str) -> str:
    """The address of an asset on this server; KeyError for one that does not exist."""
    path = asset_path(name)
    if path is None:
        raise KeyError(name)
    return f"/assets/{name}?v={hashlib.sha256(path.read_bytes()).hexdigest()[:12]}"


async def serve_asset(request: Request) -> Response:
    """The route of `/assets/{name}`; text goes out compressed, which is done once and not for every browser."""
    path = asset_path(request.path_params["name"])
    if path is None:
        return PlainTextResponse("no such asset", status_code=404)
    headers = {"Cache-Control": _FOREVER if "v" in request.query_params else "no-cache", "X-Content-Type-Options": "nosniff"}
    if path.suffix not in _TEXT or "gzip" not in request.headers.get("Accept-Encoding", ""):
        return FileResponse(path, headers=headers)
    packed = await run_in_threadpool(_compressed, path, path.stat().st_mtime_ns)
    return Response(packed, media_type=guess_type(path.name)[0], headers={**headers, "Content-Encoding": "gzip", "Vary": "Accept-Encoding"})


@cache
def _compressed(path: Path, _changed_ns: int) -> bytes:
    return gzip.compress(path.read_bytes(), mtime=0)


def module_loader(name: str) -> str:
    """A component's JavaScript that fetches the module `name` once and hands over to it, so that a rerun does not send the code again."""
    return f"""const loaded = import(new URL("{asset_url(name)}", document.baseURI));
export default async (component) => (await loaded).default(component);
"""
