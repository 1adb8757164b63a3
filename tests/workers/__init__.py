"""Workers: processes of our own, and what ends them."""
