"""What is typed wrongly is said in words, and as every other error under `--json`; the exit code is the same."""

from __future__ import annotations

import json

import pytest

from tests.cli.doors import Door

WRONG = {
    ("lst",): "No such command 'lst'. Did you mean 'list'?",
    ("list", "--nope"): "No such option: --nope",
    ("savepoint",): "Missing argument 'JOB'.",
    ("schedule", "engagement", "--every", "1h", "--cron", "0 * * * *"): "--every",
    ("state", "sp-1", "--limit", "many"): "Invalid value for '--limit'",
    ("savepoints", "--trust", "sure"): "Invalid value for '--trust': 'sure' is not one of 'complete', 'intact', 'proved'.",
    ("restart-strategy", "engagement", "--backoff-multiplier", "nan"): "Invalid value for --backoff-multiplier: 'nan' is no number",
    ("alert", "nope"): "No such command 'nope'",
}


@pytest.mark.parametrize("words", WRONG, ids=" ".join)
def test_what_is_typed_wrongly_is_json_where_that_is_asked_for(tidemark: Door, words: tuple[str, ...]) -> None:
    plain, as_json = tidemark(*words), tidemark(*words, "--json")
    assert (plain.exit_code, as_json.exit_code) == (2, 2) and as_json.stdout == ""
    (line,) = as_json.stderr.splitlines()
    error = json.loads(line)["error"]
    assert (error["group"], error["code"]) == ("invalid", "command.usage")
    assert WRONG[words] in error["message"] and error["hint"].endswith(" --help.")
    assert "Usage:" in plain.stderr and WRONG[words].split("'")[0] in plain.stderr


def test_what_a_job_is_given_asks_for_nothing(tidemark: Door) -> None:
    refused = tidemark("run", "gone.py", "--", "--json")
    assert refused.exit_code == 2 and "Usage:" in refused.stderr
