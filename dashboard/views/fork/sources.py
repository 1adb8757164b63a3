"""Where each source of a variant goes on: where the savepoint stands, or elsewhere, with the state as it is."""

from __future__ import annotations

import streamlit as st

from dashboard.views.fork.drafts import Variant
from pipelines.domain.savepoints import Manifest
from pipelines.words import offsets

HELP = (
    "latest, earliest, or a time (2027-01-15T08:00, -10m): files by their last change. Of all but files also the "
    "offset as JSON. The state stays as it is: what is skipped it never gets, what is read again it has already."
)


def inputs(key: str, variant: Variant, manifest: Manifest) -> dict[str, str]:
    """Where each source goes on; folded away, for it seldom is elsewhere."""
    places = {f"{image.query}.{offset.source}": offset.offset for image in manifest.begun for offset in image.offsets}
    typed = {name: str(st.session_state.get(f"fork_offsets_{key}_{name}", variant.offsets.get(name, ""))) for name in places}
    moved = [name for name, position in typed.items() if position.strip()]
    title = f":blue[{', '.join(moved)} moved]" if moved else "where the savepoint stands"
    with st.expander(f"Sources go on: {title}", key=f"fork_sources_{key}"):
        for name, offset in places.items():
            query, _, source = name.rpartition(".")
            label = f"{query}, source {source}"
            typed[name] = st.text_input(
                label, variant.offsets.get(name, ""), key=f"fork_offsets_{key}_{name}", placeholder=offsets.words(offset), help=HELP
            )
    return {name: position for name, position in typed.items() if position.strip()}
