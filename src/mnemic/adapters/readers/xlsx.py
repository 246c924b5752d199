"""Reads workbooks (XLSX, XLS, XLSB, ODS) with python-calamine (extra `documents`): a page per sheet, a line per row of
computed values. Skips formulas, comments and hidden sheets.
"""

import datetime as dt
import io
from typing import Any

from mnemic.adapters.extras import import_extra
from mnemic.adapters.readers import refusals
from mnemic.adapters.readers.archive import OLE_SIGNATURE, Archive
from mnemic.adapters.readers.draft import DocumentDraft
from mnemic.model.document import ReadDocument, ReadLimits
from mnemic.ports.files import Reader, ReaderCapabilities

KIND = "a workbook"
MEDIA_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"


class XlsxReader:
    """The filled cells of every visible sheet, with bars between the values of a row."""

    name = "xlsx"
    capabilities = ReaderCapabilities(
        media_types=(MEDIA_TYPE, "application/vnd.ms-excel", "application/vnd.oasis.opendocument.spreadsheet"),
        extensions=(".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"),
    )

    def read(self, data: bytes, name: str, limits: ReadLimits) -> ReadDocument:
        package: Any = import_extra("python_calamine", "documents")
        title = None
        if not (data.startswith(OLE_SIGNATURE) and name.lower().endswith(".xls")):
            archive = Archive(data, name, limits, KIND)
            for member in sorted(archive.names):
                if member.endswith((".xml", ".rels")):
                    archive.check(member)
            title = archive.core_properties().get("title")
        try:
            book = package.CalamineWorkbook.from_filelike(io.BytesIO(data))
            draft = DocumentDraft(name, limits)
            for sheet in book.sheets_metadata:
                is_seen = sheet.visible == package.SheetVisibleEnum.Visible
                if is_seen and sheet.typ == package.SheetTypeEnum.WorkSheet:
                    _sheet(book.get_sheet_by_name(sheet.name), draft)
        except package.PasswordError as error:
            raise refusals.encrypted(name) from error
        except package.CalamineError as error:
            raise refusals.broken(name, KIND, error) from error
        return draft.document(MEDIA_TYPE, title=title)


def _sheet(sheet: Any, draft: DocumentDraft) -> None:
    draft.page()
    draft.heading(1, sheet.name)
    for row in sheet.iter_rows():
        draft.row([_show_cell(cell) for cell in row])


def _show_cell(cell: object) -> str:
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 1e15:  # noqa: PLR2004 - beyond it are no units
        return str(int(cell))
    if isinstance(cell, dt.datetime):
        return cell.isoformat(" ")
    return str(cell)


_fits: type[Reader] = XlsxReader
