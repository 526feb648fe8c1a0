"""Benchmarks on the CPU: DinoML, its peers and the machine's ceilings in one run, as ratios."""
