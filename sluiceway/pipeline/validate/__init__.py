"""Holds a model to its float original: how far its answers drifted, how fast, how large, and whether that is allowed.

``validate.py`` is the way in. It loads numpy and onnxruntime, so import it where it is used.
"""
