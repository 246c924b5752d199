"""Language models by name: `ollama:qwen3:4b`, `openai:MODEL`, `llama-cpp`, or one that a package brings.

A package makes its model known by an entry point of the group `mnemic.llms`: a callable `(model, options)`, model None
when the name says none, that returns an `Llm`. A name of Mnemic's own stays Mnemic's.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, TypeVar, cast

from mnemic.errors import ConfigError
from mnemic.ports.llm import Llm

GROUP = "mnemic.llms"
Options = Mapping[str, object]
Built = TypeVar("Built")
Build = Callable[[str | None, Options], Llm]


def open_llm(name: str, options: Options | None = None) -> Llm:
    """The language model of a name, `technology` or `technology:model`; `options` are the keyword arguments of its
    class (for servers, of `ChatEndpoint` too).

    Raises `ConfigError` for a name or an option nobody knows, and when the package of an extra is missing.
    """
    technology, _, model = name.partition(":")
    build = _OWN.get(technology) or _third_party(technology)
    return build(model or None, dict(options or {}))


def llm_names() -> list[str]:
    """Every name that `open_llm` knows, in order; those of other packages too."""
    return sorted({*_OWN, *(point.name for point in importlib.metadata.entry_points(group=GROUP))})


def _third_party(technology: str) -> Build:
    for point in importlib.metadata.entry_points(group=GROUP, name=technology):
        try:
            return cast("Build", point.load())
        except (ImportError, AttributeError) as error:
            raise ConfigError(f"llm {technology!r} of {point.value} cannot be loaded: {error}") from error
    raise ConfigError(f"llm {technology!r} is not known; there are {', '.join(llm_names())} and none")


def _openai(model: str | None, options: Options) -> Llm:
    if "base_url" not in options:
        raise ConfigError("llm 'openai' needs the option base_url (texts leave this machine only when you say so)")
    return _served("openai", model, options)


def _ollama(model: str | None, options: Options) -> Llm:
    return _served("ollama", model, options)


def _served(name: str, model: str | None, options: Options) -> Llm:
    from mnemic.adapters.llms.chat_client import ChatEndpoint
    from mnemic.adapters.llms.openai import OpenAILlm

    model = model or cast("str | None", options.get("model"))
    if not model:
        raise ConfigError(f"llm {name!r} needs a model: say {name}:MODEL, or the option model")
    names = {field.name for field in fields(ChatEndpoint)}
    endpoint = _construct(name, ChatEndpoint, {key: value for key, value in options.items() if key in names})
    rest = {key: value for key, value in options.items() if key not in names and key != "model"}
    return _construct(name, OpenAILlm, {**rest, "model": model, "endpoint": endpoint})


def _llama_cpp(model: str | None, options: Options) -> Llm:
    from mnemic.adapters.llms.llama_cpp import LlamaCppLlm

    return _construct("llama-cpp", LlamaCppLlm, {**options, **({"model": model} if model else {})})


def _construct(name: str, build: Callable[..., Built], options: Mapping[str, Any]) -> Built:
    try:
        return build(**options)
    except TypeError as error:
        raise ConfigError(f"llm {name!r} does not take these options ({', '.join(options)}): {error}") from error


_OWN: dict[str, Build] = {"llama-cpp": _llama_cpp, "ollama": _ollama, "openai": _openai}
