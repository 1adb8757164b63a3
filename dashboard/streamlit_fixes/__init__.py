"""Work-arounds for Streamlit: parts of a page that was left or has moved, refreshes beside clicks, files offered for download."""
