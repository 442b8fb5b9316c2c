"""Values and arithmetic of Sluiceway. Standard library only: nothing here reads a file, a clock or a network."""
