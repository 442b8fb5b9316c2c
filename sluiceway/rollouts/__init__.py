"""Rollouts as people see and steer them: what the stage says of them, what served when, a report of it."""
