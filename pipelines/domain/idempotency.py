"""Changes that are sent with a key, so that a retry is no second change: what is kept of each, and what a retry is answered with."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, replace

from pipelines.domain.bounds import Count, Moment
from pipelines.domain.errors import Conflict, Invalid
from pipelines.domain.moments import DAY_MS

KEPT_MS = DAY_MS
"""For how long the answer to a key is kept: a day."""
MOST_CALLS = 1_000
"""Of one caller at most this many are kept, the newest."""
MOST_BYTES = 64 * 1024 * 1024
"""All together take at most this much, the newest."""
MOST_ANSWER = 256 * 1024
"""An answer that is longer is not kept; that it was given is."""
LONGEST_KEY = 255
KEY = re.compile(rf"[!-~]{{1,{LONGEST_KEY}}}")
"""Visible ASCII, as it stands or in quotes (a string of RFC 9651)."""
NEW_KEY = "Send it with a new key to have it done again."


@dataclass(frozen=True)
class KeptCall:
    """A change that was begun with a key: `fingerprint` is the SHA-256 of the call; `status` is 0 before it is answered."""

    fingerprint: str
    begun_ms: Moment
    status: Count = 0
    media_type: str = ""
    body: str = ""
    withheld: str = ""
    """Why the body of the answer is not kept; empty where it is."""
    warnings: str = ""
    """What the answer's header of warnings said; empty where it had none."""

    def answered(self, status: int, media_type: str, body: bytes, *, shown_once: bool, warnings: str = "") -> KeptCall:
        """The same with its answer. What is shown once, and what is too long, is not kept."""
        withheld = "it holds what is shown once" if shown_once else "it is too long" if len(body) > MOST_ANSWER else ""
        kept = "" if withheld else body.decode()
        return replace(self, status=status, media_type=media_type, body=kept, withheld=withheld, warnings=warnings)

    def is_past(self, now_ms: int) -> bool:
        """Whether it need not be kept any longer."""
        return now_ms - self.begun_ms > KEPT_MS

    def repeated(self, fingerprint: str) -> KeptCall:
        """Itself, to answer a retry with. Invalid (`idempotency.other_call`) where the retry is another call, Conflict where nobody knows
        what came of it (`idempotency.unknown`) or the answer is not kept (`idempotency.answer_withheld`)."""
        if self.fingerprint != fingerprint:
            raise other_call()
        if not self.status:
            message = "The server ended while it worked on this call, and whether it was done is not known"
            raise Conflict("idempotency.unknown", message, f"Look at the events, and at what it was to make. {NEW_KEY}")
        if self.withheld:
            message = f"This call was done and answered with status {self.status}; the answer is not kept, for {self.withheld}"
            raise Conflict("idempotency.answer_withheld", message, f"Look at what it made. {NEW_KEY}")
        return self


def fingerprint(method: str, target: str, body: bytes) -> str:
    """The SHA-256 of a call: method, path with query, body."""
    digest = hashlib.sha256(f"{method} {target}\n".encode())
    digest.update(body)
    return digest.hexdigest()


def name(caller: str, key: str) -> str:
    """What the call of a caller with a key is kept as. Nobody is answered with another's."""
    return f"{prefix(caller)}{hashlib.sha256(key.encode()).hexdigest()[:32]}.json"


def prefix(caller: str) -> str:
    """How the names of a caller's calls begin."""
    return f"{hashlib.sha256(caller.encode()).hexdigest()[:16]}-"


def key_of(header: str) -> str:
    """The key that a header has, without its quotes; empty where it has none, or no key."""
    given = header.strip()
    quoted = len(given) > 2 and given.startswith('"') and given.endswith('"')
    return (given[1:-1] if quoted else given) if KEY.fullmatch(given) else ""


def other_call() -> Invalid:
    """The error of a key that came with another call before."""
    return Invalid("idempotency.other_call", "This key was sent with another call before", "Send each change with a key of its own.")


def under_way() -> Conflict:
    """The error of a retry whose first call goes on."""
    return Conflict("idempotency.under_way", "The call with this key is still under way", "Send it again with the same key in a moment.")
