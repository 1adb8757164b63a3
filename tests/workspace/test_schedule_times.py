"""The times of schedules: cron and intervals, clock changes, blackout windows, and what is refused."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.domain.blackouts import window
from pipelines.domain.errors import Invalid
from pipelines.domain.schedules import Given, Schedule, Times, changed
from pipelines.workspace.schedules import times as schedule_times

NOW_MS = 1_800_000_000_000
BERLIN = "Europe/Berlin"


def at(text: str) -> int:
    return round(datetime.fromisoformat(f"{text}:00+00:00").timestamp() * 1_000)


def shown(times: tuple[int, ...]) -> list[str]:
    return [datetime.fromtimestamp(ms / 1_000, UTC).strftime("%d %H:%M") for ms in times]


def cron(expression: str, zone: str = BERLIN, blackouts: tuple[str, ...] = ()) -> Schedule:
    return Schedule(Times(cron=expression), zone, blackouts)


TIMES = {
    "an hour that the clock skips: at once after it": (cron("30 2 * * *"), "2027-03-27T12:00", ["28 01:00", "29 00:30", "30 00:30"]),
    "an hour that comes twice: once": (cron("30 2 * * *"), "2026-10-24T12:00", ["25 00:30", "26 01:30", "27 01:30"]),
    "in its second pass it is over": (cron("30 2 * * *"), "2026-10-25T01:05", ["26 01:30", "27 01:30", "28 01:30"]),
    "every so many minutes of an hour that the clock skips": (
        cron("*/30 2 * * *"), "2027-03-27T12:00", ["28 01:00", "29 00:00", "29 00:30"],
    ),
    "every so many minutes of an hour that comes twice": (cron("*/30 2 * * *"), "2026-10-24T12:00", ["25 00:00", "25 00:30", "26 01:00"]),
    "every hour has that hour twice": (cron("0 * * * *"), "2026-10-24T23:30", ["25 00:00", "25 01:00", "25 02:00"]),
    "every hour has no hour that is skipped": (cron("0 * * * *"), "2027-03-28T00:30", ["28 01:00", "28 02:00", "28 03:00"]),
    "an interval knows no clock change": (
        Schedule(Times(every_ms=3_600_000), BERLIN), "2026-10-25T00:30", ["25 01:00", "25 02:00", "25 03:00"],
    ),
    "a window over midnight": (cron("0 */6 * * *", "UTC", ("22:00-06:00",)), "2027-01-01T13:00", ["01 18:00", "02 06:00", "02 12:00"]),
    "a window of weekdays": (cron("0 9 * * *", "UTC", ("mon-fri 08:00-10:00",)), "2027-01-01T00:00", ["02 09:00", "03 09:00", "09 09:00"]),
    "the night after Saturday is Saturday's": (
        cron("0 1 * * *", "UTC", ("Sat 22:00-02:00",)), "2027-01-01T12:00", ["02 01:00", "04 01:00", "05 01:00"],
    ),
    "windows are in the schedule's zone": (
        Schedule(Times(every_ms=3_600_000), BERLIN, ("00:00-12:00",)), "2027-01-01T00:00", ["01 11:00", "01 12:00", "01 13:00"],
    ),
    "a window that the clock change makes longer": (
        Schedule(Times(every_ms=3_600_000), BERLIN, ("01:00-04:00",)), "2026-10-24T22:30", ["25 03:00", "25 04:00", "25 05:00"],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("schedule", "after", "times"), TIMES.values(), ids=TIMES)
def test_times(schedule: Schedule, after: str, times: list[str]) -> None:
    assert shown(schedule_times.coming(schedule, at(after))) == times


def test_times_that_passed_are_counted() -> None:
    hourly = cron("0 * * * *", "UTC")
    passed = schedule_times.passed(hourly, at("2027-01-01T10:00"), at("2027-01-01T13:10"))
    assert passed == schedule_times.Passed(at("2027-01-01T11:00"), at("2027-01-01T13:00"), 3), "that of 10:00 was attended to"
    assert schedule_times.passed(hourly, at("2027-01-01T13:00"), at("2027-01-01T13:59")) is None
    often, now_ms = Schedule(Times(every_ms=10_000)), at("2027-03-01T00:00")
    long = schedule_times.passed(often, at("2027-01-01T00:00"), now_ms)
    assert long is not None and (long.count, long.last_ms) == (schedule_times.MOST_COUNTED, now_ms), "nobody counts for minutes"
    assert schedule_times.passed(Schedule(Times()), 0, now_ms) is None, "never"


@settings(deadline=None)
@given(
    st.integers(0, 4 * 366 * 1_440), st.sampled_from(["UTC", BERLIN, "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe"]),
    st.sampled_from([(), ("22:00-06:00",), ("Mon-Fri 08:00-10:00", "Sat,Sun 00:00-24:00")]),
    st.sampled_from(
        [*(Times(cron=text) for text in ("*/17 * * * *", "30 2 * * *", "* 1-3 * * *")), Times(every_ms=600_000), Times(every_ms=86_400_000)]
    ),
)  # fmt: skip
def test_they_go_on_and_are_in_no_window(minute: int, zone: str, blackouts: tuple[str, ...], times: Times) -> None:
    from zoneinfo import ZoneInfo

    schedule, after_ms = Schedule(times, zone, blackouts), at("2026-01-01T00:00") + minute * 60_000
    for at_ms in schedule_times.coming(schedule, after_ms):
        local = datetime.fromtimestamp(at_ms / 1_000, ZoneInfo(zone))
        assert at_ms > after_ms
        assert not any(window(text).minutes_left(local.weekday(), local.hour * 60 + local.minute) for text in blackouts)
        after_ms = at_ms


def test_what_cannot_wait_is_done_before_the_windows_that_it_lies_in() -> None:
    nights = cron("0 12 * * *", "UTC", ("22:00-02:00", "Sat 02:00-06:00", "05:00-07:00"))
    for due, latest in (
        ("2027-01-01T21:59", "2027-01-01T21:59"),
        ("2027-01-01T22:00", "2027-01-01T21:55"),
        ("2027-01-01T06:59", "2027-01-01T04:55"),
        ("2027-01-02T06:59", "2027-01-01T21:55"),
        ("2027-01-02T07:00", "2027-01-02T07:00"),
    ):
        assert schedule_times.at_latest(nights, at(due)) == at(latest), due
    always = cron("0 12 * * *", "UTC", ("00:00-24:00",))
    assert schedule_times.at_latest(always, at("2027-01-02T07:00")) < at("2026-12-27T00:00"), "it has no begin"


def test_a_window_is_as_long_as_it_says() -> None:
    night = window("Fri 22:00-06:00")
    begun = datetime(2027, 1, 1, 21, 59)
    lasts = [night.minutes_left((begun + timedelta(minutes=m)).weekday(), (1_319 + m) % 1_440) for m in range(483)]
    assert lasts == [0, *range(480, 0, -1), 0, 0]


REFUSED = {
    "schedule.cron": [
        Given(cron="60 * * * *"),
        Given(cron="* * * *"),
        Given(cron="* * * * * *"),
        Given(cron="0 0 30 2 *"),
        Given(cron="x"),
        Given(prove_at="sometimes"),
    ],
    "schedule.zone": [Given(zone="Mars/Base"), Given(zone="../../etc/passwd"), Given(zone="Europe")],
    "schedule.interval": [Given(every_ms=9_999), Given(every_ms=1), Given(every_ms=367 * 86_400_000)],
    "schedule.blackout": [
        Given(blackouts=(text,)) for text in ("22-06", "25:00-26:00", "08:00-08:00", "foo 08:00-09:00", "08:61-09:00", "")
    ],
    "schedule.several": [Given(cron="0 * * * *", off=True), Given(every_ms=60_000, usual=True), Given(keep_all=True, keep=5)],
    "schedule.keep": [Given(keep_ms=10**13), Given(keep=-1)],
    "schedule.proof": [Given(proof_limit_ms=10**13), Given(proof_cpus=4_097), Given(proof_cpus=-1)],
    "schedule.never": [
        Given(cron="0 3 * * *", blackouts=("02:00-04:00",)),
        Given(prove_at="0 3 * * *", blackouts=("22:00-06:00",)),
        Given(every_ms=60_000, blackouts=("00:00-24:00",)),
    ],
}


@pytest.mark.parametrize(("code", "given"), [(code, change) for code, several in REFUSED.items() for change in several])
def test_refusals(code: str, given: Given) -> None:
    with pytest.raises(Invalid) as refused:
        schedule_times.check(changed(Schedule(), given, NOW_MS), NOW_MS)
    assert (refused.value.code, bool(refused.value.hint)) == (code, True)
