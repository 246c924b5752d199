"""The line of an output that names its error, and texts about the same error."""

from __future__ import annotations

import pytest

from mnemic.text.failures import find_error, has_same_error


@pytest.mark.parametrize(
    "output, error",
    [
        ("Traceback:\nOSError: disk\nDuring this:\nboat.errors.SailError: torn", "boat.errors.SailError: torn"),
        ("npm ERR! code ERESOLVE\nnpm ERR! ERESOLVE unable to resolve", "npm ERR! ERESOLVE unable to resolve"),
        ("error[E0502]: cannot borrow `a`\nerror: could not compile", "error[E0502]: cannot borrow `a`"),
        ("src/a.ts(12,5): error TS2322: Type 'x'.", "error TS2322: Type 'x'"),
        ("bash: docker: command not found", "bash: docker: command not found"),
        ("3 passed, 0 errors", ""),
        ("assert 12 == 13", ""),
    ],
)
def test_the_telling_line_of_an_output_is_found(output: str, error: str):
    assert find_error(output) == error


@pytest.mark.parametrize(
    "prompt, is_same",
    [
        ("pytest says: E   ModuleNotFoundError: No module named 'rigging'", True),
        ("why do I get ModuleNotFoundError: No module named 'rigging' again?", True),
        ("Help\n\nE   ModuleNotFoundError: No module named 'rigging'\n1 error in 0.2s", True),
        ("E   ModuleNotFoundError: No module named 'sails'", False),
        ("Tell me about rigging", False),
        ("", False),
    ],
)
def test_an_error_is_the_same_up_to_its_last_name(prompt: str, is_same: bool):  # noqa: FBT001 -- a table
    known = "`pytest -q` failed: ModuleNotFoundError: No module named 'rigging'. It passed after: edit of a.toml."
    assert has_same_error(prompt, known) is is_same
