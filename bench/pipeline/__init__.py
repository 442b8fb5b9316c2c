"""Our model path beside onnxruntime-genai's builder, optimum and a published INT8 MiniLM: ``make bench-pipeline``."""
