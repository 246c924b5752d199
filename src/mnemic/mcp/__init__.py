"""The door for clients of the Model Context Protocol: tools, resources and prompts, over stdio and HTTP."""
