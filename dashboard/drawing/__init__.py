"""Rows as figures: charts, lineage, plans and tables of points, without Streamlit."""
