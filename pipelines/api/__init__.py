"""REST: a thin face of the workspace. `create_api` in `app.py` is what the server mounts at `/api`."""
