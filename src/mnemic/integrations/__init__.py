"""Mnemic in other frameworks: one module each, the only one that imports its framework.

| module | framework | extra |
|---|---|---|
| `langgraph` | LangGraph: a long-term store | `langgraph` |
| `llama_index` | LlamaIndex: a memory block, and a memory | `llama-index` |
| `pydantic_ai` | Pydantic AI: a toolset, and a capability that recalls and captures | `pydantic-ai` |
| `openai_agents` | OpenAI Agents SDK: sessions and tools | `openai-agents` |
| `autogen` | AutoGen: a memory | `autogen` |
| `google_adk` | Google ADK: a memory service | `google-adk` |
| `strands` | Strands Agents: a store for its `MemoryManager` | `strands` |
| `crewai` | CrewAI: a memory | `crewai` |
| `hooks` | Claude Code and OpenClaw: the commands behind their hooks | none |

Each takes an open `Mnemic`, or the result of `mnemic.connect`, and a scope that the developer binds. Neither the model
nor a stranger's name can leave that scope.
"""
