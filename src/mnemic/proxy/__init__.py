"""The door for any client of the OpenAI protocol: its chats go to another server, with memory in front of them."""
