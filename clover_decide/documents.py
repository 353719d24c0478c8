"""Documents as materials: the text of .txt, .md, .pdf and .docx files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from clover_decide.errors import FormatError, MissingExtraError
from clover_decide.files import read_text

MAX_DOCUMENT_BYTES = 20 * 1024 * 1024
"""Largest file that is opened; what it may say is limited by the model's context."""


def read_document(path: Path) -> str:
    """The text of a document, paragraphs and table rows a line each.

    Raises:
        FormatError: another ending, too large, not readable, encrypted, damaged, or without text (a scan).
        MissingExtraError: the library for this kind of file is not installed.
    """
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise FormatError(f"unknown file ending {path.suffix!r}", path=str(path), accepted=", ".join(_READERS))
    try:
        size = path.stat().st_size
    except OSError as error:
        raise FormatError(f"cannot be read ({error.strerror})", path=str(path), accepted="an existing file") from None
    if size > MAX_DOCUMENT_BYTES:
        raise FormatError(f"{size} bytes", path=str(path), accepted=f"at most {MAX_DOCUMENT_BYTES} bytes")
    if path.is_dir():
        raise FormatError("is a folder", path=str(path), accepted="a document")
    try:
        text = reader(path)
    except OSError as error:
        raise FormatError(f"cannot be read ({error.strerror})", path=str(path), accepted="a readable file") from None
    if not text.strip():
        raise FormatError("has no text", path=str(path), accepted="a document with text; scans need text recognition first")
    return text


def documents(folder: Path) -> Iterator[Path]:
    """The documents of a folder and of its subfolders, in the order of their names. Hidden files and other kinds are passed over.

    Raises:
        FormatError: no such folder, or a folder within it that cannot be looked into.
    """
    if not folder.is_dir():
        raise FormatError("is no folder", path=str(folder), accepted="a folder of documents")
    for inner in (folder, *(path for path in folder.rglob("*") if path.is_dir())):
        if not os.access(inner, os.R_OK | os.X_OK):
            # Not one to pass over: its documents would be missing from the report without a word.
            raise FormatError("cannot be looked into", path=str(inner), accepted="folders that may be read")
    for path in sorted(folder.rglob("*")):
        hidden = any(part.startswith((".", "~$")) for part in path.relative_to(folder).parts)
        if path.is_file() and not hidden and path.suffix.lower() in _READERS:
            yield path


def _pdf(path: Path) -> str:
    try:
        from pypdf import PdfReader
        from pypdf.errors import PyPdfError
    except ImportError:
        raise MissingExtraError("pypdf is not installed", path=str(path), accepted='pip install "clover-decide[documents]"') from None
    try:
        reader = PdfReader(path)
        if reader.is_encrypted and not reader.decrypt(""):
            raise FormatError("is encrypted", path=str(path), accepted="a document that opens without a password")
        return "\n\n".join(page.extract_text() for page in reader.pages)
    except FormatError:
        raise
    except (PyPdfError, ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError, NotImplementedError) as error:
        # A damaged file breaks the parser wherever it happens to be.
        raise FormatError(f"cannot be read as PDF ({error or type(error).__name__})", path=str(path), accepted="an undamaged PDF") from None


def _docx(path: Path) -> str:
    try:
        import docx
    except ImportError:
        raise MissingExtraError("python-docx is not installed", path=str(path), accepted='pip install "clover-decide[documents]"') from None
    if path.read_bytes()[:8] == _ENCRYPTED:
        raise FormatError("is encrypted, or an old .doc file", path=str(path), accepted="a .docx that opens without a password")
    try:
        document = docx.Document(str(path))
        sections = list(document.sections)
        # What stands on every page is read once.
        above = [line for s in sections if not s.header.is_linked_to_previous for line in _lines(s.header)]
        below = [line for s in sections if not s.footer.is_linked_to_previous for line in _lines(s.footer)]
        lines = [*dict.fromkeys(above), *_lines(document), *dict.fromkeys(below)]
    except Exception as error:  # zip, XML and package errors of three libraries have no common class
        raise FormatError(f"cannot be read as .docx ({error})", path=str(path), accepted="an undamaged .docx file") from None
    return "\n".join(lines)


def _lines(container: Any) -> Iterator[str]:
    """Paragraphs and rows of tables in order; a table within a cell comes after the row it stands in."""
    for part in container.iter_inner_content():
        yield from _rows(part) if hasattr(part, "rows") else [part.text]


def _rows(table: Any) -> Iterator[str]:
    for row in table.rows:
        yield " | ".join(cell.text for cell in row.cells)
        for cell in row.cells:
            for inner in cell.tables:
                yield from _rows(inner)


_ENCRYPTED = bytes.fromhex("d0cf11e0a1b11ae1")
"""How a compound file begins; Office wraps what it encrypts in one."""
_READERS: dict[str, Callable[[Path], str]] = {".txt": read_text, ".md": read_text, ".pdf": _pdf, ".docx": _docx}
