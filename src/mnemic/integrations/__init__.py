"""Mnemic inside other people's frameworks: one module for each, which alone imports it.

| module | framework | extra |
|---|---|---|
| `langgraph` | LangGraph: a long-term store | `langgraph` |
| `llama_index` | LlamaIndex: a memory block, and a memory | `llama-index` |
| `pydantic_ai` | Pydantic AI: a toolset, and a capability that recalls and captures | `pydantic-ai` |
| `openai_agents` | OpenAI Agents SDK: sessions and tools | `openai-agents` |
| `hooks` | Claude Code and OpenClaw: what their hooks call | none |

Each takes an open `Mnemic`, or what `mnemic.connect` gives, and a scope that the developer binds. No model and no
name that a stranger chose can leave that scope.
"""
