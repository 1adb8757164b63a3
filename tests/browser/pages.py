"""Every page as an address, with what stands on it once it is drawn."""

from __future__ import annotations

from tests.browser.watching import Watched

PAGES: dict[str, tuple[str, str]] = {
    "overview": ("/", "[data-testid=table-jobs] tbody tr"),
    "job": ("/job?job=post_engagement", ".js-plotly-plot .main-svg"),
    "job_failed": ("/job?job=post_engagement_split", ".tm-box"),
    "job_state": ("/job?job=post_engagement&tab=State", "[data-testid=table-states] tbody tr"),
    "job_batches": ("/job?job=post_engagement&tab=Batches", "[data-testid=table-batches] tbody tr"),
    "job_operators": ("/job?job=post_engagement&tab=Operators", "[data-testid^=table-operators_] tbody tr"),
    "job_savepoints": ("/job?job=post_engagement&tab=Savepoints", "[data-testid=table-job_savepoints] tbody tr"),
    "job_versions": ("/job?job=post_engagement&tab=Versions", "[data-testid=table-runs] tbody tr"),
    "job_logs": ("/job?job=post_engagement&tab=Logs", ".tm-log"),
    "job_configuration": ("/job?job=post_engagement&tab=Configuration", ".tm-pairs"),
    "job_events": ("/job?job=post_engagement&tab=Events", "[data-testid=table-occurrences] tbody tr"),
    "savepoints": ("/savepoints", "[data-testid=table-savepoints] tbody tr"),
    "savepoint": ("/savepoints?savepoint=sp-000000000002", "[data-testid=savepoint-id]"),
    "state": ("/state?savepoint=sp-000000000007", ".js-plotly-plot .main-svg"),
    "state_unread": ("/state?savepoint=sp-000000000002", ".st-key-empty_unread"),
    "versions": ("/versions?savepoint=sp-000000000002", ".js-plotly-plot .main-svg"),
    "experiments": ("/experiments", "[data-testid=table-experiments] tbody tr"),
    "experiment": ("/experiments?experiment=ex-1", ".st-key-card_side_a"),
    "alerts": ("/alerts", "[data-testid=table-rules_] tbody tr"),
    "job_alerts": ("/job?job=post_engagement&tab=Alerts", "[data-testid=table-rules_post_engagement] tbody tr"),
    "events": ("/events", "[data-testid=table-events] tbody tr"),
    "settings": ("/settings", "[data-testid=table-runtimes] tbody tr"),
    "new": ("/new", ".cm-editor"),
    "fork": ("/fork?savepoint=sp-000000000002", ".cm-editor"),
    "upgrade": ("/upgrade?job=post_events", ".tm-head h1"),
}


def opened(watched: Watched, url: str, name: str) -> None:
    """The page by its address, as a pasted link opens it."""
    path, shown = PAGES[name]
    watched.open(url + path, shown)
