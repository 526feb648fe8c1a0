"""The intermediate representation: dtypes, symbolic integers, scalar expressions, graphs, and their verifier."""
