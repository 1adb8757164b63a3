"""The page for who comes without a token. It stands alone: nothing else of the server is read without one."""

from __future__ import annotations

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
@media (prefers-color-scheme: dark) {
    body { color: #e4e7ec; background: #0f1318; } code { background: #1d242d; } .wrong { color: #f8a0a5; }
    input { background: #171c23; color: inherit; }
}
"""
_AGAIN = '<meta http-equiv="refresh" content="0">'
"""A link on another site's page leads here without the cookie, which only own pages send; loaded from here, the same address has it."""


def page(*, again: bool, wrong: bool) -> str:
    """The whole document. `again`: a link of another site led here, and it is loaded once more; `wrong`: a token lets nobody in."""
    refused = '<p class="wrong" role="alert">This token lets nobody in: it is misspelt, expired or revoked.</p>' if wrong else ""
    return f"""<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width">{_AGAIN if again and not wrong else ""}
<title>Tidemark</title><style>{_STYLE}</style></head>
<body><main>
<h1>Tidemark lets you in with a token</h1>
{refused}
<p>The server printed an address with one when it started. In a shell on its machine this prints it again:</p>
<code>python3 -m pipelines address</code>
<form method="get"><label>Token <input name="token" type="password" autocomplete="off" required autofocus></label>
<button>Enter</button></form>
</main></body>
</html>
"""
