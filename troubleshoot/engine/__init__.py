"""From a report to a diagnosis: facts, candidates, causes, fixes, questions (:mod:`~troubleshoot.engine.diagnosis` goes through them)."""
