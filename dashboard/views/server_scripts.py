"""Scripts of the server's machine: read with the server's rights, so for those alone whose code may have them."""

from __future__ import annotations

from dashboard import gallery, session
from dashboard.gallery import Script
from pipelines.domain.access import Role
from pipelines.storage import users


def read(path: str) -> Script:
    """The script at `path`. Forbidden (`access.role`) for who may run no code, and, where jobs run as another user, for all but an admin;
    otherwise raises what `gallery.from_path` raises."""
    session.caller().permit(Role.ADMIN if users.other() else Role.AUTHOR)
    return gallery.from_path(path)
