"""The files that browsers fetch from `/assets`: each by name, with its content's hash in the address so that it can be cached for ever."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse, Response

_HERE = Path(__file__).parent
_COMPONENTS = ("panel.js", "panel.css", "figure.js", "table.js", "table.css", "plan.js", "plan.css")
_FOLDERS = dict.fromkeys(_COMPONENTS, _HERE / "components")
_FOREVER = "public, max-age=31536000, immutable"


def asset_path(name: str) -> Path | None:
    """The file behind `/assets/<name>`, or None."""
    if name == "plotly.min.js":
        return _plotly()
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
    """The route of `/assets/{name}`."""
    path = asset_path(request.path_params["name"])
    if path is None:
        return PlainTextResponse("no such asset", status_code=404)
    cached = _FOREVER if "v" in request.query_params else "no-cache"
    return FileResponse(path, headers={"Cache-Control": cached, "X-Content-Type-Options": "nosniff"})


def module_loader(name: str) -> str:
    """A component's JavaScript that fetches the module `name` once and hands over to it, so that a rerun does not send the code again."""
    return f"""const loaded = import(new URL("{asset_url(name)}", document.baseURI));
export default async (component) => (await loaded).default(component);
"""


def _plotly() -> Path:
    import plotly

    return Path(plotly.__file__).parent / "package_data" / "plotly.min.js"
