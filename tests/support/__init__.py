"""What several suites share: samples (a function with inputs and the answer) and ways to run them."""
