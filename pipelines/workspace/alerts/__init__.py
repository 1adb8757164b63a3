"""Alerts: their rules, their channels and silences, and what holds."""
