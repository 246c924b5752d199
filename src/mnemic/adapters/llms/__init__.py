"""Language models: any OpenAI-compatible server, llama.cpp in this process, and scripted replies for tests."""
