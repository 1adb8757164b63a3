"""The settings: what there is, and the index made anew after one question."""

from __future__ import annotations

from dataclasses import replace

from pipelines.verbs.system import RebuildCatalog, ShowAbout
from tests.dashboard.opening import Opener, agreed, clicked, said, tables
from tests.faces import FakeFace


def test_it_says_what_jobs_and_the_workspace_stand_on(opened: Opener) -> None:
    app = opened(FakeFace.sample(), "settings")
    words = said(app)
    for part in (
        "/srv/tidemark/data/workspace",
        "ext4",
        "120 GB",
        "works",
        "not here",
        "http://127.0.0.1:8501",
        "1a2b3c4d5e6f",
        "this machine alone",
    ):
        assert part in words
    assert tables(app) == {
        "runtimes": ["/srv/tidemark/.venv/bin/python", "/opt/python3.12/bin/python"],
        "catalog_rows": ["jobs", "savepoints"],
        "warm": ["4712", "4713"],
        "audit": ["1"],
    }


def test_of_credentials_it_says_only_whether_they_are_there(opened: Opener) -> None:
    words = said(opened(FakeFace.sample(), "settings"))
    assert 'tm-chip green square mono" title="Set' in words and "AWS_ENDPOINT_URL" in words


def test_the_index_is_made_anew_after_a_question(opened: Opener) -> None:
    face = FakeFace.sample()
    app = clicked(opened(face, "settings"), "rebuild")
    assert face.begun == []
    app = agreed(app, "rebuild")
    assert face.begun == [RebuildCatalog()]
    assert "The index was made anew: 5 rows." in [one.value for one in app.success]


def test_a_disk_that_is_nearly_full_is_said(opened: Opener) -> None:
    face = FakeFace.sample()
    found = face.ask(ShowAbout())
    disk = replace(found.storage.disk, free_bytes=10_000_000_000)
    face.answers(ShowAbout, lambda _: replace(found, storage=replace(found.storage, disk=disk)))
    assert "nearly full" in said(opened(face, "settings"))
