"""The performance claims: each module runs both sides in turn, in one go, and prints a ratio."""
