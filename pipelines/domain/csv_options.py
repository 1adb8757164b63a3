"""The options of a CSV sink that say how its files are to be read: what a driver notes of them, and what they mean."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pipelines.domain import java_times
from pipelines.domain.java_times import TimeForm

CSV = "csv"
ZONE = "timezone"
MOMENTS, LOCAL, DATES = "timestampformat", "timestampntzformat", "dateformat"
_WITHOUT = {MOMENTS: "", LOCAL: java_times.ZONE, DATES: java_times.ZONE + java_times.CLOCK}
"""The option of a pattern -> letters for which its values have nothing."""
NAMES = frozenset({
    "sep", "delimiter", "quote", "escape", "chartoescapequoteescaping", "header", "nullvalue", "locale", ZONE, *_WITHOUT,
})  # fmt: skip
_UTC = frozenset({"UTC", "Z", "GMT", "Etc/UTC", "Etc/GMT", "+00:00"})
_WRITTEN = {r"\t": "\t", r"\\": "\\", r"\0": "\0"}


@dataclass(frozen=True)
class Dialect:
    """How the files of a side are written: one character each, but for `delimiter`; `quote` is empty where nothing is quoted."""

    delimiter: str = ","
    quote: str = '"'
    escape: str = "\\"
    has_header: bool = False
    null: str = ""
    can_be_told: bool = True
    """Whether a backslash before a quotation mark says which of the two it belongs to."""
    times: tuple[tuple[str, TimeForm], ...] = ()
    """Option -> its form, for those that were given."""
    zone: str = ""

    @property
    def is_utc(self) -> bool:
        """Whether its times without a zone are those of UTC."""
        return self.zone in _UTC


def noted(options: Mapping[str, str], zone: str) -> dict[str, str]:
    """Of a sink's options (names in lower case) those that matter, with the session's time zone where they name none."""
    return {ZONE: zone, **{name: value for name, value in options.items() if name in NAMES}}


def dialect(options: Mapping[str, str]) -> Dialect:
    """What the noted options mean, as Spark's CSVOptions reads them."""
    delimiter = options.get("sep", options.get("delimiter", ","))
    quote, escape = (_WRITTEN.get(text, text) for text in (options.get("quote", '"'), options.get("escape", "\\")))
    twice = options.get("chartoescapequoteescaping", escape)
    forms = {
        name: java_times.form(options[name], letters) for name, letters in _WITHOUT.items() if name in options and "locale" not in options
    }
    return Dialect(
        _WRITTEN.get(delimiter, delimiter),
        quote.strip("\0"),
        escape.strip("\0"),
        options.get("header", "").lower() == "true",
        options.get("nullvalue", ""),
        escape == quote or _WRITTEN.get(twice, twice) == escape,
        tuple((name, form) for name, form in forms.items() if form is not None),
        options.get(ZONE, ""),
    )
