"""The door for MCP clients: tools, resources and prompts, over stdio and HTTP."""
