"""What a client can read without calling a tool: the profile and the documents.

Clients put it in front of a model, so that orders are taken out of it as out of a context.
"""

from __future__ import annotations

import json
from urllib.parse import unquote

import mcp_types as types

from mnemic.api import Mnemic
from mnemic.errors import NotFoundError
from mnemic.mcp.answers import safe
from mnemic.model.scope import Scope
from mnemic.text.sanitise import sanitise
from mnemic.wire import to_wire

PROFILE, DOCUMENTS = "mnemic://profile", "mnemic://documents"
PLAIN, JSON = "text/plain", "application/json"
RESOURCES = (
    types.Resource(
        uri=PROFILE, name="profile", title="Profile", description="Hard facts of the user.", mime_type=PLAIN
    ),
    types.Resource(
        uri=DOCUMENTS,
        name="documents",
        title="Documents",
        description="The documents that can be searched, as JSON.",
        mime_type=JSON,
    ),
)
TEMPLATES = (
    types.ResourceTemplate(
        uri_template=DOCUMENTS + "/{id}",
        name="document",
        title="Document",
        description="The text of one document; its id is in the list.",
        mime_type=PLAIN,
    ),
)


def read(mnemic: Mnemic, scope: Scope, uri: str) -> types.ReadResourceResult:
    """The content of a resource, as this scope sees it. Raises `NotFoundError` for one that is not there."""
    kind = PLAIN
    if uri == PROFILE:
        text = mnemic.profile.format(scope).strip()
    elif uri == DOCUMENTS:
        kind = JSON
        documents = mnemic.documents.list(scope).documents
        text = json.dumps([safe(to_wire(document)) for document in documents], ensure_ascii=False)
    elif uri.startswith(f"{DOCUMENTS}/"):
        text = sanitise(mnemic.documents.text(scope, unquote(uri.removeprefix(f"{DOCUMENTS}/"))))
    else:
        raise NotFoundError(f"there is no resource {uri[:200]!r}")
    return types.ReadResourceResult(contents=[types.TextResourceContents(uri=uri, mime_type=kind, text=text)])
