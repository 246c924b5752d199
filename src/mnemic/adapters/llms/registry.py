"""Language models by name: `ollama:qwen3:4b`, `openai:MODEL`, `llama-cpp`, or one from a package's entry point of the
group `mnemic.llms` (see `adapters.named_parts`).
"""

from __future__ import annotations

from typing import cast

from mnemic.adapters.named_parts import NamedParts, Options, with_model
from mnemic.errors import ConfigError
from mnemic.ports.models import Llm


def open_llm(name: str, options: Options | None = None) -> Llm:
    """Open a language model: `technology` or `technology:model`; `options`: arguments of its class (for servers, of
    `ChatEndpoint` too). Raises `ConfigError` for an unknown name or option, or a missing extra.
    """
    return _LLMS.open(name, options)


def _openai(model: str | None, options: Options) -> Llm:
    if "base_url" not in options:
        raise ConfigError("llm 'openai' needs the option base_url (texts leave this machine only when you say so)")
    return _open_on_server("openai", model, options)


def _ollama(model: str | None, options: Options) -> Llm:
    return _open_on_server("ollama", model, options)


def _open_on_server(name: str, model: str | None, options: Options) -> Llm:
    from mnemic.adapters.llms.openai import ChatEndpoint, OpenAILlm

    model = model or cast("str | None", options.get("model"))
    if not model:
        raise ConfigError(f"llm {name!r} needs a model: say {name}:MODEL, or the option model")
    return _LLMS.made_on_server(name, OpenAILlm, ChatEndpoint, with_model(options, model))


def _llama_cpp(model: str | None, options: Options) -> Llm:
    from mnemic.adapters.llms.llama_cpp import LlamaCppLlm

    return _LLMS.made("llama-cpp", LlamaCppLlm, with_model(options, model))


_LLMS = NamedParts[Llm]("llm", {"llama-cpp": _llama_cpp, "ollama": _ollama, "openai": _openai})
