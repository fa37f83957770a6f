"""Diagnosis where exceptions end up: hooks, guards, loggers, notebooks, test runners, trainers. Never raises, never hides the original."""
