"""Work-arounds for Streamlit: parts of a page that was left, and files offered for download."""
