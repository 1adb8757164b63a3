"""A page whose address names something that is not there: it says so under its title, and leads to the list of what is."""

from __future__ import annotations

from typing import TypeVar

from dashboard import navigation, session
from dashboard.widgets import error_box, page_header
from pipelines.domain.errors import NotFound
from pipelines.verbs.verb import Question

A = TypeVar("A")


def found(question: Question[A], title: str, lists: str, label: str) -> A | None:
    """The answer to what a page asks first; None where there is no such thing, which is then the page `title`, with the link `label` to the
    page `lists`."""
    try:
        return session.workspace().ask(question)
    except NotFound as error:
        with page_header(title):
            navigation.link(lists, label, icon=":material/arrow_back:")
        error_box(error)
        return None
