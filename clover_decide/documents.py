"""Documents as materials: the text of .txt, .md, .pdf and .docx files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
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
    found: list[Path] = []
    for inner, folders, names in os.walk(folder, onerror=_refuse):
        folders[:] = [name for name in folders if not name.startswith((".", "~$"))]
        found += [Path(inner, name) for name in names if not name.startswith((".", "~$")) and Path(name).suffix.lower() in _READERS]
    yield from sorted(path for path in found if path.is_file())


def _refuse(error: OSError) -> None:
    """Not to be passed over: what lies there would be missing from the report without a word."""
    raise FormatError(f"cannot be looked into ({error.strerror})", path=str(error.filename), accepted="folders that may be read")


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
        above, below = ("header", "first_page_header", "even_page_header"), ("footer", "first_page_footer", "even_page_footer")
        lines = [*_edges(document, above), *_lines(document), *_edges(document, below)]
    except Exception as error:  # zip, XML and package errors of three libraries have no common class
        raise FormatError(f"cannot be read as .docx ({error})", path=str(path), accepted="an undamaged .docx file") from None
    return "\n".join(lines)


def _edges(document: Any, names: Sequence[str]) -> Iterator[str]:
    """Headers or footers of all sections and kinds of pages; what stands on many pages is read once."""
    edges = [getattr(section, name) for section in document.sections for name in names]
    told = [tuple(_lines(edge)) for edge in edges if not edge.is_linked_to_previous]
    yield from (line for lines in dict.fromkeys(told) for line in lines)


def _lines(container: Any) -> Iterator[str]:
    """Paragraphs and rows of tables in order; a table within a cell comes after the row it stands in."""
    for part in container.iter_inner_content():
        yield from _rows(part) if hasattr(part, "rows") else [part.text]


def _rows(table: Any) -> Iterator[str]:
    seen = set[Any]()
    for row in table.rows:
        yield " | ".join(cell.text for cell in row.cells)
        for cell in row.cells:
            # A merged cell stands in several places of the grid.
            inner = [] if cell._tc in seen else cell.tables
            seen.add(cell._tc)
            for one in inner:
                yield from _rows(one)


_ENCRYPTED = bytes.fromhex("d0cf11e0a1b11ae1")
"""How a compound file begins; Office wraps what it encrypts in one."""
_READERS: dict[str, Callable[[Path], str]] = {".txt": read_text, ".md": read_text, ".pdf": _pdf, ".docx": _docx}
