"""What a stage tells of itself while it serves: its requests and failures, live, from its log."""
