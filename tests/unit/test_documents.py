"""Documents: text out of every kind of file, and clear refusals."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import docx
import pytest
from pypdf import PdfReader, PdfWriter

from clover_decide.documents import documents, read_document
from clover_decide.errors import FormatError

LINES = ("Notice must be given 30 days before the end.", "The deposit is $900.")


def pdf(path: Path, lines: tuple[str, ...] = LINES) -> Path:
    """A page of text as the PDF reference describes it, written by hand."""
    shown = "".join(f"({line}) Tj 0 -20 Td " for line in lines)
    content = f"BT /F1 12 Tf 72 700 Td {shown}ET".encode()
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    out, places = b"%PDF-1.4\n", list[int]()
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % at for at in places)
    end = b"trailer << /Size 6 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % len(out)
    path.write_bytes(out + b"xref\n0 6\n0000000000 65535 f \n" + table + end)
    return path


def word(path: Path) -> Path:
    document = docx.Document()
    document.add_paragraph(LINES[0])
    table = document.add_table(rows=1, cols=2)
    table.rows[0].cells[0].text, table.rows[0].cells[1].text = "Deposit", "$900"
    document.add_paragraph("Signed.")
    document.save(str(path))
    return path


def test_pdf_and_word_and_text(tmp_path: Path) -> None:
    text = read_document(pdf(tmp_path / "a.pdf"))
    assert all(line in text for line in LINES)
    assert read_document(word(tmp_path / "b.docx")).splitlines() == [LINES[0], "Deposit | $900", "Signed."]
    (tmp_path / "c.MD").write_text("# Lease\n", encoding="utf-8")
    assert read_document(tmp_path / "c.MD") == "# Lease\n"


def test_headers_footers_and_tables_within_tables_are_read(tmp_path: Path) -> None:
    document = docx.Document()
    section = document.sections[0]
    section.different_first_page_header_footer = True
    section.first_page_header.paragraphs[0].text = "Letterhead"
    section.header.paragraphs[0].text, section.footer.paragraphs[0].text = "Lease no. 17", "Page of the lessor"
    document.add_paragraph(LINES[0])
    table = document.add_table(rows=2, cols=2)
    cell = table.cell(0, 0).merge(table.cell(1, 1))
    cell.text = "Fees"
    cell.add_table(rows=1, cols=2).rows[0].cells[1].text = "$40 a month"
    document.add_section()
    document.save(str(tmp_path / "a.docx"))
    lines = read_document(tmp_path / "a.docx").splitlines()
    assert (lines[0], lines[-1]) == ("Lease no. 17", "Page of the lessor")
    assert lines[1:3] == ["Letterhead", LINES[0]] and lines.count(" | $40 a month") == 1


def test_a_folder_that_cannot_be_looked_into_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "closed").mkdir()
    scandir = os.scandir

    def guarded(path: str) -> object:
        if str(path).endswith("closed"):
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", guarded)
    with pytest.raises(FormatError, match="cannot be looked into") as error:
        list(documents(tmp_path))
    assert error.value.path == str(tmp_path / "closed")


def encrypted(path: Path, password: str) -> Path:
    writer = PdfWriter(PdfReader(pdf(path)))
    writer.encrypt(password, algorithm="AES-256")
    writer.write(path)
    return path


def test_a_pdf_that_opens_without_a_password_is_read(tmp_path: Path) -> None:
    assert LINES[1] in read_document(encrypted(tmp_path / "open.pdf", ""))


def scan(path: Path) -> Path:
    writer = PdfWriter()
    writer.add_blank_page(200, 200)
    writer.write(path)
    return path


def damaged(path: Path) -> Path:
    path.write_bytes(pdf(path).read_bytes()[:200])
    return path


def told(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda folder: encrypted(folder / "a.pdf", "secret"), "is encrypted"),
        (lambda folder: scan(folder / "a.pdf"), "has no text"),
        (lambda folder: damaged(folder / "a.pdf"), "cannot be read as PDF"),
        (lambda folder: told(folder / "a.pdf", b""), "cannot be read as PDF"),
        (lambda folder: told(folder / "a.docx", bytes.fromhex("d0cf11e0a1b11ae1") + bytes(600)), "is encrypted"),
        (lambda folder: told(folder / "a.docx", b"PK\x03\x04 not a zip"), "cannot be read as .docx"),
        (lambda folder: told(folder / "a.txt", b"  \n"), "has no text"),
        (lambda folder: told(folder / "a.txt", b"\xff\xfe"), "not UTF-8"),
        (lambda folder: told(folder / "a.xlsx", b"x"), "unknown file ending"),
        (lambda folder: folder / "missing.txt", "No such file"),
    ],
)
def test_what_cannot_be_read_is_told(make: Callable[[Path], Path], said: str, tmp_path: Path) -> None:
    path = make(tmp_path)
    with pytest.raises(FormatError, match=said) as error:
        read_document(path)
    assert str(path) == error.value.path and error.value.accepted


def test_documents_of_a_folder_in_order_without_hidden_ones(tmp_path: Path) -> None:
    (tmp_path / "sub" / ".git").mkdir(parents=True)
    for name in ("b.txt", "a.docx", "sub/c.pdf", ".d.txt", "~$a.docx", "sub/.git/e.md", "f.xlsx"):
        (tmp_path / name).write_bytes(b"x")
    assert [str(path.relative_to(tmp_path)) for path in documents(tmp_path)] == ["a.docx", "b.txt", "sub/c.pdf"]
    with pytest.raises(FormatError, match="is no folder"):
        list(documents(tmp_path / "b.txt"))
