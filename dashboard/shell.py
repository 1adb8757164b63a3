"""The HTML that a page begins with: Streamlit's own, told where its server is and what the page will need, before any script runs.

Without the first, Streamlit looks for its server below the page's own path, and a deep link begins with two failed requests;
without the second, the browser learns of each script only from the one before it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from html import escape
from pathlib import Path

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from dashboard.navigation import FIRST, PAGES, path_of
from dashboard.served import PLOTLY, asset_url

CHARTED = frozenset({"job", "versions"})
"""Pages that draw charts at once; elsewhere Plotly is fetched when nothing else is."""
WIDGETS = ("Html", "BidiComponent", "Button", "ButtonGroup", "Checkbox", "TextInput")
"""Streamlit's scripts of the elements that nearly every page shows; their file names go on with a hash."""
_SERVER = "<script>window.__streamlit = { BACKEND_BASE_URL: location.origin }</script>"
_SKIP = '<a id="tm-skip" href="#">Skip to the content</a>'
"""The first thing that a Tab reaches; `keys.js` leads it past the top bar."""
_OWN_FONT = re.compile(r'<link\s+rel="preload"\s+href="[^"]*SourceSans[^>]*>')
_IMPORTED = re.compile(r'(?:from|import)"\./([\w.-]+\.js)"')


def routes() -> list[Route]:
    """One for each page's address, before Streamlit's own."""
    return [Route(path, serve_shell, methods=["GET"]) for path in ("/", *(f"/{listed.path}" for listed in PAGES.values()))]


async def serve_shell(request: Request) -> Response:
    """The page's HTML; asked for anew each time, for it names the scripts. By its name Streamlit does not know the first page."""
    path = request.url.path.strip("/")
    if path == PAGES[FIRST].path:
        return RedirectResponse(request.url.replace(scheme="", netloc="", path=path_of(FIRST)))
    name = next((name for name, listed in PAGES.items() if listed.path == path), FIRST)
    return HTMLResponse(shell(name in CHARTED), headers={"Cache-Control": "no-cache"})


@cache
def shell(charted: bool) -> str:
    """The whole document, for a page that draws charts at once or for another."""
    static = _static()
    document = _OWN_FONT.sub("", (static / "index.html").read_text()).replace("<title>Streamlit</title>", "<title>Tidemark</title>", 1)
    hints = "\n    ".join([*_files(charted, static), *_scripts(static)])
    document = document.replace("<head>", f"<head>\n    {_SERVER}", 1).replace("</head>", f"  {hints}\n  </head>", 1)
    return document.replace("<body>", f"<body>\n    {_SKIP}", 1)


def _files(charted: bool, static: Path) -> Iterator[str]:
    icons = (f"/static/media/{path.name}" for path in static.glob("static/media/MaterialSymbols-Rounded.*.woff2"))
    for font in ("/assets/inter.woff2", *icons):
        yield f'<link rel="preload" href="{font}" as="font" type="font/woff2" crossorigin>'
    for module in ("table.js", *(("panel.js",) if charted else ())):
        yield f'<link rel="modulepreload" href="{asset_url(module)}">'
    yield f'<script type="module" id="tm-keys" src="{asset_url("keys.js")}" data-pages="{_lettered()}"></script>'
    for module in ("drawer.js", "history.js", "switcher.js"):
        yield f'<script type="module" src="{asset_url(module)}"></script>'
    yield f'<link rel="{"preload" if charted else "prefetch"}" href="{asset_url(PLOTLY)}" as="script">'


def _scripts(static: Path) -> Iterator[str]:
    """Streamlit's late scripts with all that they import, without those that its document names itself."""
    folder, known = static / "static" / "js", set(re.findall(r"/js/([\w.-]+\.js)", (static / "index.html").read_text()))
    ahead = [path.name for widget in WIDGETS for path in sorted(folder.glob(f"{widget}.*.js"))]
    while ahead:
        name = ahead.pop(0)
        if name not in known:
            known.add(name)
            ahead += _IMPORTED.findall((folder / name).read_text())
            yield f'<link rel="modulepreload" crossorigin href="./static/js/{name}">'


def _lettered() -> str:
    """Letter -> page, as the script of the keys reads it."""
    pages = {listed.letter: {"title": listed.title, "path": path_of(name)} for name, listed in PAGES.items() if listed.letter}
    return escape(json.dumps(pages))


def _static() -> Path:
    import streamlit

    return Path(streamlit.__file__).parent / "static"
