"""The tools that MCP's conformance suite calls by name, where Mnemic can have them: texts and errors."""

from mnemic import tool


@tool(is_read_only=True)
def test_simple_text() -> str:
    """Returns a text."""
    return "This is a simple text response for testing."


@tool(is_read_only=True)
def test_error_handling() -> str:
    """Fails."""
    raise ValueError("This tool intentionally returns an error for testing")
