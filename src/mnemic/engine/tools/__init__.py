"""Tools that a model may call: made of typed functions, found automatically, called within limits."""

from mnemic.engine.tools.function import FunctionTool, tool
from mnemic.engine.tools.toolbox import Toolbox

__all__ = ["FunctionTool", "Toolbox", "tool"]
