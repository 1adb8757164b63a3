"""The server, which assembles the parts, and its Streamlit pages. Nothing else imports this package."""
