"""Diagnose precision, dtype and device failures of PyTorch models."""
