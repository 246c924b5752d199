"""The proxy door: OpenAI-compatible chats are sent to another server, with memory added."""
