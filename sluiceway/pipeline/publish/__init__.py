"""A package's way into a stage's bucket and out of it: published once, pulled by digest, cleared away when unnamed."""
