"""Artifacts on disk: the manifest, the constants file, digests. Nothing here runs native code of an artifact."""
