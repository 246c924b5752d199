"""ONNX models in a folder, as exporters write them: their tokens and their graphs."""
