"""From optimised graphs to kernels and a run plan: forms, fusion, coordinate fitting, selection."""
