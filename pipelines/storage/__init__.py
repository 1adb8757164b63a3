"""Where bytes live: one small protocol over fsspec, and the only place that builds paths."""
