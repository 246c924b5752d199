"""Reads mail (EML): sender, recipients, date, text, forwarded messages, and names of attachments."""

import email
import email.policy
from collections.abc import Iterator
from email.message import EmailMessage
from typing import cast

from mnemic.adapters.readers import refusals
from mnemic.adapters.readers.draft import DocumentDraft
from mnemic.adapters.readers.html import MarkupText, declared_encoding
from mnemic.adapters.readers.text import decode
from mnemic.model.document import ReadDocument, ReadLimits
from mnemic.ports.files import Reader, ReaderCapabilities

KIND = "a mail"
HEADERS = ("Subject", "From", "To", "Cc", "Date")
ENCRYPTED = ("multipart/encrypted", "application/pkcs7-mime", "application/x-pkcs7-mime")
_FAULTS = (ValueError, LookupError, AttributeError, TypeError, IndexError)
"""Exceptions of the standard library's parser for malformed headers."""


class MailReader:
    """The plain text of a message, or else the text of its HTML. Attachments are named, not read."""

    name = "eml"
    capabilities = ReaderCapabilities(media_types=("message/rfc822",), extensions=(".eml",))

    def read(self, data: bytes, name: str, limits: ReadLimits) -> ReadDocument:
        draft = DocumentDraft(name, limits)
        try:
            message = email.message_from_bytes(data, policy=email.policy.default)
            headers = _headers(message)
            if not headers:
                raise refusals.broken(name, KIND, "it has no email headers")
            _Mail(draft, name, limits).write(message, 0)
        except RecursionError as error:
            raise refusals.bomb(name, "its parts are nested hundreds of levels deep") from error
        metadata = {"author": headers.get("From"), "date": headers.get("Date")}
        return draft.document("message/rfc822", title=headers.get("Subject"), metadata=metadata)


class _Mail:
    def __init__(self, draft: DocumentDraft, name: str, limits: ReadLimits) -> None:
        self._draft, self._name, self._limits = draft, name, limits

    def write(self, message: EmailMessage, depth: int) -> None:
        if depth > self._limits.max_depth:
            raise refusals.bomb(self._name, f"its messages are nested more than {self._limits.max_depth} levels deep")
        headers = _headers(message)
        for index, (header, value) in enumerate(headers.items()):
            (self._draft.line if index else self._draft.paragraph)(f"{header}: {value}")
        self._part(message, depth)

    def _part(self, part: EmailMessage, depth: int) -> None:
        kind = part.get_content_type()
        if kind in ENCRYPTED and part.get_param("smime-type") != "signed-data":
            raise refusals.encrypted(self._name)
        if kind == "message/rfc822":
            for inner in _children(part):
                self.write(inner, depth + 1)
        elif kind == "multipart/alternative":
            self._best(part, depth)
        elif part.is_multipart():
            for inner in _children(part):
                self._part(inner, depth)
        elif _filename(part) or part.get_content_disposition() == "attachment":
            self._draft.line(f"Attachment: {_filename(part) or kind}")
        elif kind == "text/html":
            page = MarkupText(self._draft)
            page.feed(_text(part))
            page.close()
        elif kind.startswith("text/"):
            self._draft.paragraph(_text(part))

    def _best(self, part: EmailMessage, depth: int) -> None:
        """Of alternative forms, the plain one unless it is blank, else the last."""
        forms = _children(part)
        plain = (form for form in forms if form.get_content_type() == "text/plain" and _text(form).strip())
        chosen = next(plain, forms[-1] if forms else None)
        if chosen is not None:
            self._part(chosen, depth)


def _children(part: EmailMessage) -> list[EmailMessage]:
    payload: object = part.get_payload()
    parts = cast("list[object]", payload) if isinstance(payload, list) else []
    return [inner for inner in parts if isinstance(inner, EmailMessage)]


def _headers(message: EmailMessage) -> dict[str, str]:
    return dict(_readable_headers(message))


def _readable_headers(message: EmailMessage) -> Iterator[tuple[str, str]]:
    for header in HEADERS:
        try:
            value = str(message.get(header) or "")
        except _FAULTS:
            value = next((str(raw) for key, raw in message.raw_items() if key.lower() == header.lower()), "")
        if value.strip():
            yield header, " ".join(value.split())


def _filename(part: EmailMessage) -> str | None:
    try:
        return part.get_filename()
    except _FAULTS:
        return "(its name cannot be read)"


def _text(part: EmailMessage) -> str:
    payload: object = part.get_payload(decode=True)
    data = payload if isinstance(payload, bytes) else b""
    charset = part.get_content_charset()
    return decode(data, charset or declared_encoding(data))[0]


_fits: type[Reader] = MailReader
