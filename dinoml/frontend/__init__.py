"""Tracing: from a Python model to a Graph."""
