"""Points in time as people type them: `2027-01-15T08:00`, `08:00:30` (today), `-10m`."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from pipelines.domain.errors import Invalid

_BACK = re.compile(r"-(?:(?P<days>\d+)d)?(?:(?P<hours>\d+)h)?(?:(?P<minutes>\d+)m)?(?:(?P<seconds>\d+)s)?")
_CLOCK = re.compile(r"\d{1,2}:\d{2}(:\d{2})?")


def moment_ms(text: str, now: datetime) -> int:
    """`text` as epoch ms; a time without a zone is in that of `now`. Invalid where it is none of the three forms."""
    back = _BACK.fullmatch(text)
    if back and any(back.groupdict().values()):
        return _epoch_ms(now - timedelta(**{unit: int(count) for unit, count in back.groupdict().items() if count}))
    try:
        at = _clock(text, now) if _CLOCK.fullmatch(text) else datetime.fromisoformat(text)
    except ValueError as error:
        raise Invalid("time.invalid", f"{text!r} is not a time: {error}", "Write 2027-01-15T08:00, 08:00:30 (today) or -10m.") from error
    return _epoch_ms(at if at.tzinfo else at.replace(tzinfo=now.tzinfo))


def _clock(text: str, now: datetime) -> datetime:
    hour, minute, *second = map(int, text.split(":"))
    return now.replace(hour=hour, minute=minute, second=second[0] if second else 0, microsecond=0)


def _epoch_ms(at: datetime) -> int:
    return round(at.timestamp() * 1000)
