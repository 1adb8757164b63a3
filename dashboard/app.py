"""Navigation only: which pages there are, and what all of them share: the look, and what stands around each."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from dashboard import address, dialogs, session, undo
from dashboard.navigation import PAGES, page
from dashboard.views import frame, standby, who, zones

ASSETS = Path(__file__).parent / "assets"

st.set_page_config(page_title="Tidemark", page_icon=str(ASSETS / "favicon.png"), layout="wide", initial_sidebar_state="collapsed")
st.html(ASSETS / "style.css")
st.logo(str(ASSETS / "mark.svg"), size="medium", link=None)

dialogs.page_begins()
session.page_begins()
address.page_begins()
chosen = st.navigation([page(name) for name in PAGES], position="top")
undo.page_begins(chosen.title)
zones.switch()
who.draw()
frame.draw()
standby.banner()
chosen.run()
