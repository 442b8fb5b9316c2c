"""Signatures of packages: by an elliptic key, in the format of the OpenSSF's model signing.

The library is in an environment and a process of its own (`environment`, `run`), so `run` imports of this package the
standard library's part alone. `call` is what others ask, and `bundle` reads what a signature is of.
"""
