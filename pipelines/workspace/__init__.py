"""Use cases: who answers each question, and who plans and does each change. The parts below meet here."""
