"""Golden prompts: what a model version must answer well, and the test that holds a candidate to the stable version."""
