"""Export without torch: a folder of safetensors, config.json and tokenizer files becomes an ONNX model.

``export.py`` is the way in. It loads numpy and onnx_ir, so import it where it is used.
"""
