"""The whole store as a file to take away. A server writes it to no place that a caller names, and takes none in."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response, StreamingResponse

from mnemic.api import Mnemic
from mnemic.model.backup import Contents
from mnemic.rest.asking import PREFIX, Operates
from mnemic.rest.events import ZIP
from mnemic.rest.lanes import Lanes

_PIECE = 1 << 18


def routes(mnemic: Mnemic, lanes: Lanes) -> APIRouter:
    """The route of backups."""
    router = lanes.router(PREFIX, "upkeep")

    @router.post("/backup", operation_id="backup", response_class=Response)
    def backup(
        asked: Operates,
        contents: Annotated[Contents, Query(description="every row, or the receipts of erasures alone")] = (
            Contents.WHOLE
        ),
        is_sealed: Annotated[
            bool | None, Query(description="each org under a key of its own; else where the server has a keyring")
        ] = None,
    ) -> Response:
        """Every row of the whole store, of all orgs, as one checked file; the store is used meanwhile. It is made
        before the answer begins, in the server's folder for temporary files.
        """
        del asked
        folder = Path(tempfile.mkdtemp(prefix="mnemic-backup-"))
        try:
            report = mnemic.backup(folder / "backup.zip", contents=contents, is_sealed=is_sealed)
            file = Path(report.path).open("rb")  # noqa: SIM115 -- `_pieces` closes it
        finally:
            shutil.rmtree(folder, ignore_errors=True)  # the file lives on until it is closed
        name = f"mnemic-{contents.value}-{report.manifest.made_at:%Y%m%dT%H%M%SZ}.zip"
        headers = {"Content-Length": str(report.size), "Content-Disposition": f'attachment; filename="{name}"'}
        return StreamingResponse(_pieces(file), media_type=ZIP, headers=headers)

    return router


def _pieces(file: IO[bytes]) -> Iterator[bytes]:
    with file:
        while piece := file.read(_PIECE):
            yield piece
