"""Where metrics are pushed to, from the environment: OpenTelemetry's own variables, Datadog's, and `TIDEMARK_STATSD`. Pure, but for a look
whether named files are there."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from pipelines.domain.errors import Invalid

Environment = Mapping[str, str]
OTLP = "OTEL_EXPORTER_OTLP_"
OTLP_OF_METRICS = f"{OTLP}METRICS_"
INTERVAL = "OTEL_METRIC_EXPORT_INTERVAL"
STATSD, STATSD_FORMAT, STATSD_INTERVAL, DATADOG = (
    "TIDEMARK_STATSD",
    "TIDEMARK_STATSD_FORMAT",
    "TIDEMARK_STATSD_INTERVAL",
    "DD_DOGSTATSD_URL",
)
PROTOCOL = "http/protobuf"
COMPRESSIONS = ("none", "gzip", "deflate")
OTLP_EVERY_MS, STATSD_EVERY_S = 60_000.0, 10.0
"""The defaults of OpenTelemetry, and of Datadog's agent."""
LEAST_S, MOST_S = 0.05, 86_400.0
STATSD_PORT = 8125
YES = ("1", "true", "yes", "on")
FILES = ("CERTIFICATE", "CLIENT_KEY", "CLIENT_CERTIFICATE")
_HEADER = re.compile(r"\s*[!#$%&'*+.^_`|~0-9A-Za-z-]+\s*=[^,]*")


@dataclass(frozen=True)
class Otlp:
    """A collector of OpenTelemetry; headers, timeout, compression and certificates its library reads from the environment itself."""

    url: str
    """With the path of metrics."""
    every_s: float

    @property
    def address(self) -> str:
        """Without credentials and query."""
        parts = urlsplit(self.url)
        return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()


@dataclass(frozen=True)
class Statsd:
    """A StatsD server: `host` and `port`, or the path of a socket. `tags`: labels go as Datadog's tags, else into the name."""

    host: str
    port: int
    path: str
    every_s: float
    tags: bool = True

    @property
    def address(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return self.path or f"udp://{host}:{self.port}"


@dataclass(frozen=True)
class Chosen:
    """All receivers."""

    otlp: Otlp | None = None
    statsd: Statsd | None = None


NOWHERE = Chosen()


def chosen(environ: Environment) -> Chosen:
    """The receivers that the environment names; Invalid (`push.setting`) for a variable that means nothing."""
    return Chosen(otlp(environ), statsd(environ))


def otlp(environ: Environment) -> Otlp | None:
    """The collector that the environment names; None where it names none, or OpenTelemetry is switched off."""
    given = _Given(environ)
    url = given.text(f"{OTLP_OF_METRICS}ENDPOINT") or _below(given.text(f"{OTLP}ENDPOINT"))
    exporters = given.text("OTEL_METRICS_EXPORTER") or "otlp"
    if not url or given.text("OTEL_SDK_DISABLED").lower() == "true" or "otlp" not in [part.strip() for part in exporters.split(",")]:
        return None
    parts = _parts(url, f"{OTLP}ENDPOINT")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise _refused(f"{OTLP}ENDPOINT", "is no address over HTTP", "Give one such as http://127.0.0.1:4318.")
    for name, check in _CHECKS.items():
        given.check(name, check)
    return Otlp(url, given.number(INTERVAL, OTLP_EVERY_MS, 1_000, "milliseconds: 60000"))


def statsd(environ: Environment) -> Statsd | None:
    """The StatsD server that the environment names; `TIDEMARK_STATSD` goes before Datadog's variable."""
    given = _Given(environ)
    name = STATSD if given.text(STATSD) else DATADOG
    value = given.text(name)
    if not value or given.text("DD_DOGSTATSD_DISABLE").lower() in YES:
        return None
    every_s = given.number(STATSD_INTERVAL, STATSD_EVERY_S, 1, "seconds: 10")
    form = given.text(STATSD_FORMAT) or "dogstatsd"
    if form not in ("dogstatsd", "plain"):
        raise _refused(STATSD_FORMAT, f"is {form!r}", "Give dogstatsd (labels as tags) or plain (labels in the name).")
    hint = "Give host:port, such as 127.0.0.1:8125, or unix:///path/of/socket."
    parts = _parts(value if "://" in value else f"udp://{value}", name)
    if parts.scheme in ("unix", "unixgram", "unixstream") and parts.path.startswith("/"):
        return Statsd("", 0, value, every_s, form == "dogstatsd")
    if parts.scheme != "udp" or not parts.hostname or parts.path.strip("/") or parts.username is not None:
        raise _refused(name, "names no StatsD server", hint)
    return Statsd(parts.hostname, parts.port or STATSD_PORT, "", every_s, form == "dogstatsd")


class _Given:
    """Reads variables; an empty one is as good as none, as OpenTelemetry has it."""

    def __init__(self, environ: Environment) -> None:
        self._environ = environ

    def text(self, name: str) -> str:
        return self._environ.get(name, "").strip()

    def number(self, name: str, default: float, per_second: float, example: str) -> float:
        """Seconds; Invalid (`push.setting`) for what is no number or out of bounds."""
        text = self.text(name) or f"{default}"
        try:
            seconds = float(text) / per_second
        except ValueError:
            seconds = math.nan
        if not LEAST_S <= seconds <= MOST_S:
            raise _refused(name, f"is {text!r}", f"Give a number of {example}, from {LEAST_S:g} s to a day.")
        return seconds

    def check(self, name: str, check: Callable[[str], str]) -> None:
        """`check` of what counts, the variable of metrics before that of all signals, says what is wrong; empty for nothing."""
        variable = OTLP_OF_METRICS + name if self.text(OTLP_OF_METRICS + name) else OTLP + name
        value = self.text(variable)
        wrong = check(value) if value else ""
        if wrong:
            raise _refused(variable, *wrong.split("\n"))


def _protocol(value: str) -> str:
    return "" if value == PROTOCOL else f"is {value!r}, which is not spoken here\nSet it to {PROTOCOL}; collectors take that at port 4318."


def _headers(value: str) -> str:
    pairs = [pair for pair in value.split(",") if pair.strip()]
    return "" if all(_HEADER.fullmatch(pair) for pair in pairs) else "is no list of headers\nGive name=value,name=value."


def _timeout(value: str) -> str:
    try:
        seconds = float(value)
    except ValueError:
        seconds = math.nan
    return "" if 0 < seconds <= MOST_S else f"is {value!r}\nGive a number of seconds: 10."


def _compression(value: str) -> str:
    return "" if value.lower() in COMPRESSIONS else f"is {value!r}\nGive one of {', '.join(COMPRESSIONS)}."


def _file(value: str) -> str:
    return "" if Path(value).is_file() else f"names {value}, which is not there\nGive the path of a file in PEM format."


_CHECKS: Mapping[str, Callable[[str], str]] = {
    "PROTOCOL": _protocol,
    "HEADERS": _headers,
    "TIMEOUT": _timeout,
    "COMPRESSION": _compression,
    **dict.fromkeys(FILES, _file),
}


def _below(base: str) -> str:
    return f"{base.removesuffix('/')}/v1/metrics" if base else ""


def _parts(url: str, name: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018  which raises for one that is no number
    except ValueError as error:
        raise _refused(name, f"is no address: {error}", "Give host and port, such as 127.0.0.1:4318.") from error
    return parts


def _refused(name: str, why: str, hint: str) -> Invalid:
    return Invalid("push.setting", f"{name} {why}", f"{hint} Or unset it.")
