"""Export by torch, for architectures that aren't drawn here. torch has an environment and a process of its own.

What runs in there (`run` and what it calls) imports torch, transformers, numpy, onnx and onnxruntime, and of this
package the standard library's part alone; `environment` makes that environment.
"""
