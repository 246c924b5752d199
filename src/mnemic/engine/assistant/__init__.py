"""The assistant: turns of a chat with memory, and their rounds of tools."""
