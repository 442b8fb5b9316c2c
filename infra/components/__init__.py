"""The parts of a stage: each a component with one frozen args object and outputs as attributes."""
