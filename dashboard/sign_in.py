"""The pages for who is not let in yet, or no longer. They stand alone: nothing else of the server is read without a token."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

KEPT_NOWHERE = {"Cache-Control": "no-store", "Referrer-Policy": "no-referrer"}
"""Headers of what is answered on the way in and out."""
_STYLE = """
:root { color-scheme: light dark; font: 15px/1.6 system-ui, sans-serif; }
body { max-width: 34rem; margin: 16vh auto 0; padding: 0 1.5rem; color: #1b2330; background: #fff; }
h1 { font-size: 1.35rem; margin: 0 0 .75rem; }
code { display: block; padding: .6rem .8rem; border-radius: 6px; background: #f0f2f5; font: 13px ui-monospace, monospace; }
form { display: flex; gap: .5rem; margin-top: 1.5rem; }
label { flex: 1; }
input { width: 100%; box-sizing: border-box; font: inherit; padding: .4rem .6rem; border: 1px solid #8a94a3; border-radius: 6px; }
button { font: inherit; align-self: end; padding: .4rem 1rem; border: 0; border-radius: 6px; background: #2563eb; color: #fff; }
.wrong { color: #b91c1c; }
.ways { display: flex; flex-wrap: wrap; gap: .6rem; margin: 1.25rem 0; }
.ways a { padding: .4rem 1rem; border: 1px solid #8a94a3; border-radius: 6px; color: inherit; text-decoration: none; }
.ways a:first-child { border-color: #2563eb; background: #2563eb; color: #fff; }
@media (prefers-color-scheme: dark) {
    body { color: #e4e7ec; background: #0f1318; } code { background: #1d242d; } .wrong { color: #f8a0a5; }
    input { background: #171c23; color: inherit; }
}
"""
_AGAIN = '<meta http-equiv="refresh" content="0">'
"""A link on another site's page leads here without the cookie, which only own pages send; loaded from here, the same address has it."""


@dataclass(frozen=True)
class Link:
    """A way to go on."""

    href: str
    label: str


def page(*, again: bool, wrong: bool, provider: Link | None = None) -> str:
    """The whole document. `again`: a link of another site led here, and it is loaded once more; `wrong`: a token lets nobody in;
    `provider`: where people sign in."""
    refused = '<p class="wrong" role="alert">This token lets nobody in: it is misspelt, expired or revoked.</p>' if wrong else ""
    title = "Sign in to Tidemark" if provider else "Tidemark lets you in with a token"
    first = f"{_ways([provider])}<p>Or come in with a token." if provider else "<p>"
    return _document(
        f"""<h1>{title}</h1>
{refused}
{first} The server printed an address with one when it started. In a shell on its machine this prints it again:</p>
<code>python3 -m pipelines address</code>
<form method="get"><label>Token <input name="token" type="password" autocomplete="off" required{"" if provider else " autofocus"}></label>
<button>Enter</button></form>""",
        _AGAIN if again and not wrong else "",
    )


def outcome(title: str, message: str, hint: str, links: Sequence[Link], *, is_wrong: bool = False, leads_on: str = "") -> str:
    """What came of a sign-in or a sign-out, and the ways on from there; `leads_on` is an address that it goes to by itself."""
    shown = f'<p class="wrong" role="alert">{escape(message)}</p>' if is_wrong else f"<p>{escape(message)}</p>"
    on = f'<meta http-equiv="refresh" content="0;url={escape(leads_on)}">' if leads_on else ""
    return _document(f"<h1>{escape(title)}</h1>\n{shown}\n{f'<p>{escape(hint)}</p>' if hint else ''}\n{_ways(links)}", on)


def _ways(links: Sequence[Link]) -> str:
    return f'<p class="ways">{"".join(f"""<a href="{escape(link.href)}">{escape(link.label)}</a>""" for link in links)}</p>'


def _document(body: str, head: str = "") -> str:
    return f"""<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width">{head}
<title>Tidemark</title><style>{_STYLE}</style></head>
<body><main>
{body}
</main></body>
</html>
"""
