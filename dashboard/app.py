"""Navigation only: which pages there are, and what all of them share."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from dashboard.navigation import PAGES, page

ASSETS = Path(__file__).parent / "assets"

st.set_page_config(page_title="Tidemark", page_icon=str(ASSETS / "favicon.png"), layout="wide", initial_sidebar_state="collapsed")
st.html(ASSETS / "style.css")
st.logo(str(ASSETS / "mark.svg"), size="medium", link=None)

st.navigation([page(name) for name in PAGES], position="top").run()
