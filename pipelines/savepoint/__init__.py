"""Savepoints: take, verify, restore, dispose; the library that holds them. Each verb is a pure plan and its execution."""
