"""Pictures of what the jobs of the collection do: rows as dots along event time, what is kept as boxes, what comes out in green. Pure.

A picture is 320 by 92 units; colours are the page's, so that it fits light and dark.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from html import escape
from urllib.parse import quote

WIDTH, HEIGHT = 320, 92
ROW, KEPT, OUT, ALARM, QUIET = "var(--tm-accent)", "var(--tm-blue-tint)", "var(--tm-green)", "var(--tm-red)", "var(--tm-muted)"
COLORS = (KEPT, QUIET, ROW, OUT, ALARM)
"""From the bottom to the top."""
EVEN = tuple(range(20, 310, 22))
UNEVEN = (20, 30, 44, 52, 96, 104, 118, 190, 200, 206, 214, 226, 290, 300)


def html(name: str, says: str) -> str:
    """The picture of the job; `says` is what a screen reader says. Streamlit lets no SVG into a page, so each colour is a layer that is
    seen through a mask."""
    layers = "".join(
        f'<div style="background:{color};mask-image:url(&quot;data:image/svg+xml,{quote(svg(name, color))}&quot;)"></div>'
        for color in COLORS
    )
    return f'<div class="tm-picture" role="img" aria-label="{escape(says, quote=True)}">{layers}</div>'


def svg(name: str, color: str) -> str:
    """What the picture has in one colour, as SVG."""
    drawn = "".join(PICTURES[name]()).replace(color, "black")
    for other in COLORS:
        drawn = drawn.replace(other, "none")
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif">{drawn}</svg>'


def dots(places: Iterable[float], y: float = 46, radius: float = 3.5, color: str = ROW) -> list[str]:
    return [f'<circle cx="{x}" cy="{y}" r="{radius}" fill="{color}"/>' for x in places]


def rings(places: Iterable[float], y: float) -> list[str]:
    """Rows that are not taken."""
    return [f'<circle cx="{x}" cy="{y}" r="3.5" fill="none" stroke="{QUIET}" stroke-dasharray="2 2"/>' for x in places]


def box(x: float, y: float, width: float, height: float, fill: str = KEPT, edge: str = ROW) -> str:
    return f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="5" fill="{fill}" stroke="{edge}" stroke-width="1"/>'


def line(x1: float, y1: float, x2: float, y2: float, color: str = QUIET, dashes: str = "") -> str:
    return f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="{color}" stroke-width="1.5" stroke-dasharray="{dashes}"/>'


def text(x: float, y: float, words: str, color: str = QUIET) -> str:
    return f'<text x="{x}" y="{y}" font-size="10" fill="{color}" text-anchor="middle">{escape(words)}</text>'


def axis(y: float = 82) -> list[str]:
    return [line(10, y, 306, y), f'<path d="M306 {y - 3} l6 3 l-6 3 z" fill="{QUIET}"/>']


def tumbling() -> list[str]:
    boxes = [box(12 + 74 * at, 28, 70, 36) for at in range(4)]
    return [*boxes, *dots(UNEVEN), *(text(47 + 74 * at, 20, str(n), OUT) for at, n in enumerate((4, 3, 5, 2))), *axis()]


def sliding() -> list[str]:
    boxes = [box(14 + 40 * at, 12 + 12 * (at % 3), 116, 34) for at in range(5)]
    return [*boxes, *dots(UNEVEN, 66), *axis()]


def sessions() -> list[str]:
    boxes = [box(12, 28, 50, 36), box(88, 28, 40, 36), box(182, 28, 60, 36), box(282, 28, 28, 36)]
    return [*boxes, *dots(UNEVEN), text(155, 50, "gap"), text(262, 50, "gap"), *axis()]


def counted() -> list[str]:
    boxes = [box(12, 28, 88, 36), box(100, 28, 110, 36), box(210, 28, 100, 36, "none")]
    return [*boxes, *dots(UNEVEN), text(56, 20, "5 rows", OUT), text(155, 20, "5 rows", OUT), text(260, 20, "not yet five"), *axis()]


def silent() -> list[str]:
    return [
        *dots((20, 42, 64, 86, 108), 30), *dots(EVEN, 60), line(112, 30, 200, 30, ALARM, "3 3"), *dots((204,), 30, 6, ALARM),
        text(158, 22, "nothing for five seconds", ALARM), *axis(),
    ]  # fmt: skip


def fraud() -> list[str]:
    within = [box(88, 22, 130, 44), *dots((40, 60, 120, 160, 240, 270), 46, 3.5, QUIET), *dots((100,), 46, 3), *dots((204,), 46, 9, ALARM)]
    return [*within, text(100, 36, "0.80"), text(204, 34, "700", ALARM), text(153, 78, "within a minute"), *axis(86)]


def joined() -> list[str]:
    pairs = [line(x, 28, y, 60, OUT) for x, y in ((30, 62), (110, 128), (190, 250))]
    return [
        text(28, 18, "shown"),
        text(30, 76, "clicked"),
        *pairs,
        *dots((30, 70, 110, 150, 190, 230, 280), 28),
        *dots((62, 128, 250), 60),
        *axis(84),
    ]


def looked_up() -> list[str]:
    table = [box(130, 56, 60, 26), text(160, 73, "table")]
    return [
        *table,
        *(line(x, 28, 160, 56) for x in (60, 110, 160, 210, 260)),
        *dots((60, 110, 160, 210, 260), 28),
        text(160, 14, "each row looks up its author"),
    ]


def once() -> list[str]:
    return [*dots((30, 80, 150, 220, 280), 30), *rings((44, 166, 240), 30), *dots((30, 80, 150, 220, 280), 64, 3.5, OUT), *axis()]


def ranking() -> list[str]:
    bars = [box(70, 10 + 15 * at, width, 10, OUT if at == 0 else KEPT) for at, width in enumerate((210, 160, 130, 80, 60))]
    return [*(text(45, 19 + 15 * at, f"page {at + 1}") for at in range(5)), *bars]


def learned() -> list[str]:
    wave = [(x, 46 + 7 * ((x // 22) % 3 - 1)) for x in EVEN]
    normal = [dot for x, y in wave for dot in dots((x,), y)]
    return [box(12, 32, 296, 28), line(12, 46, 308, 46, ROW, "4 3"), *normal, *dots((196,), 14, 6, ALARM), *axis()]


def cleaned() -> list[str]:
    good = (20, 64, 86, 130, 152, 196, 240, 284)
    return [*dots(good, 28), *rings((42, 108, 174, 218, 262), 28), *(line(x, 34, x, 58) for x in good), *dots(good, 64, 3.5, OUT)]


def parted() -> list[str]:
    return [
        *dots((24, 46, 68, 90), 46), line(104, 46, 150, 24), line(104, 46, 150, 68), box(150, 10, 90, 28), box(150, 54, 90, 28),
        text(195, 28, "by page"), text(195, 72, "by reader"), *dots((262, 284), 24, 3.5, OUT), *dots((262, 284), 68, 3.5, OUT),
    ]  # fmt: skip


def stored() -> list[str]:
    return [
        *(box(14 + 52 * at, 30, 46, 32) for at in range(4)), *(text(37 + 52 * at, 50, f"batch {at + 4}", ROW) for at in range(4)),
        line(222, 46, 252, 46), f'<path d="M256 32 v30 a24 8 0 0 0 48 0 v-30" fill="{KEPT}" stroke="{OUT}"/>',
        f'<ellipse cx="280" cy="32" rx="24" ry="8" fill="{KEPT}" stroke="{OUT}"/>', text(280, 54, "once", OUT),
    ]  # fmt: skip


def fetched() -> list[str]:
    asked = [(64, 22, ROW, ""), (64, 46, ALARM, "3 3"), (64, 70, ROW, "")]
    return [
        box(12, 10, 50, 72), text(37, 50, "server", ROW), *(line(x, y, 150, y, color, dashes) for x, y, color, dashes in asked),
        text(108, 18, "0 to 2"), text(108, 42, "too busy", ALARM), text(108, 66, "3, 3, 4"), *dots((170, 192, 214), 22),
        *rings((170,), 70), *dots((192, 214), 70), line(226, 46, 250, 46), *dots((262, 274, 286, 298, 310), 46, 3.5, OUT),
    ]  # fmt: skip


def asked() -> list[str]:
    places = (40, 90, 140, 190, 240)
    return [
        box(120, 6, 90, 22, KEPT, QUIET), text(165, 21, "store"), *(line(x, 58, 150 + x / 11, 28, QUIET, "3 3") for x in places),
        *dots(places, 62), *dots(places, 80, 3.5, OUT), text(286, 50, "all at once"), text(286, 84, "in order", OUT),
    ]  # fmt: skip


def sharded() -> list[str]:
    return [
        line(14, 46, 150, 46, KEPT), *(part for y in (24, 70) for part in (line(150, 46, 176, y), line(176, y, 306, y, KEPT))),
        *dots((30, 56, 84, 112, 138), 46), *dots((190, 222, 262), 24), *dots((204, 240, 290), 70), line(150, 8, 150, 84, OUT, "4 3"),
        text(84, 30, "shard 0"), text(258, 14, "shard 1"), text(258, 60, "shard 2"), text(122, 80, "read first", OUT),
    ]  # fmt: skip


PICTURES: Mapping[str, Callable[[], list[str]]] = {
    "post_engagement": tumbling,
    "sliding_windows": sliding,
    "session_windows": sessions,
    "count_windows": counted,
    "silent_sensors": silent,
    "card_fraud": fraud,
    "impressions_and_clicks": joined,
    "views_by_author": looked_up,
    "views_by_author_sql": looked_up,
    "deduplication": once,
    "top_pages": ranking,
    "online_model": learned,
    "clean_views": cleaned,
    "several_queries": parted,
    "engagement_to_database": stored,
    "views_over_http": fetched,
    "author_lookups": asked,
    "views_from_kinesis": sharded,
}
"""By the job's name: each of the collection has one."""
