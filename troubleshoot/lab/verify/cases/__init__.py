"""The cases: small programs that reproduce known issues. Every module here is read by :mod:`troubleshoot.lab.verify.registry`."""
