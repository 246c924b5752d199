"""Example tools. `build` gives them to the tool registry as modules, just as `tools.modules` names those of others."""
