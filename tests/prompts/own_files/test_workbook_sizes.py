"""A workbook whose sheets do not fit into memory is refused before a sheet is loaded."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from evenhand.prompts.own_files.tables import read_table
from evenhand.prompts.own_files.workbook_sizes import CELL_BYTES, check_workbook_fits
from evenhand.schema import DataError

pytest.importorskip("fastexcel")
MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"
ODF = "urn:oasis:names:tc:opendocument:xmlns"
SIZES = "evenhand.prompts.own_files.workbook_sizes"
TABLE = (
    '<row r="1"><c r="A1" t="inlineStr"><is><t>group</t></is></c>'
    '<c r="B1" t="inlineStr"><is><t>score</t></is></c></row>'
    '<row r="2"><c r="A2" t="inlineStr"><is><t>a</t></is></c><c r="B2"><v>1</v></c></row>'
)
FAR = '<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>'


def write_xlsx(path: Path, sheets: dict[str, str]) -> Path:
    numbers = range(1, len(sheets) + 1)
    listed = "".join(
        f'<sheet name="{name}" sheetId="{n}" r:id="r{n}"/>' for n, name in zip(numbers, sheets, strict=True)
    )
    links = "".join(
        f'<Relationship Id="r{n}" Type="{OFFICE}/worksheet" Target="worksheets/sheet{n}.xml"/>'
        for n in numbers
    )
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(
            "xl/workbook.xml",
            f'<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}"><sheets>{listed}</sheets></workbook>',
        )
        archive.writestr(
            "xl/_rels/workbook.xml.rels", f'<Relationships xmlns="{PACKAGE}">{links}</Relationships>'
        )
        archive.writestr(
            "_rels/.rels",
            f'<Relationships xmlns="{PACKAGE}"><Relationship Id="r1" Type="{OFFICE}/officeDocument" '
            'Target="xl/workbook.xml"/></Relationships>',
        )
        for n, cells in zip(numbers, sheets.values(), strict=True):
            sheet = f'<worksheet xmlns="{MAIN}"><sheetData>{cells}</sheetData></worksheet>'
            archive.writestr(f"xl/worksheets/sheet{n}.xml", sheet)
    return path


def write_ods(path: Path, rows: str) -> Path:
    content = (
        f'<office:document-content xmlns:office="{ODF}:office:1.0" xmlns:table="{ODF}:table:1.0" '
        f'xmlns:text="{ODF}:text:1.0"><office:body><office:spreadsheet><table:table table:name="S">{rows}'
        "</table:table></office:spreadsheet></office:body></office:document-content>"
    )
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("META-INF/manifest.xml", "<manifest/>")
        archive.writestr("content.xml", content)
    return path


def ods_cell(text: str, times: int = 1) -> str:
    return (
        f'<table:table-cell office:value-type="string" table:number-columns-repeated="{times}"><text:p>{text}</text:p>'
        "</table:table-cell>"
    )


def ods_row(*cells: str, times: int = 1) -> str:
    return f'<table:table-row table:number-rows-repeated="{times}">{"".join(cells)}</table:table-row>'


def test_a_far_cell_ends_in_an_error_and_not_in_an_abort(tmp_path: Path) -> None:
    path = write_xlsx(tmp_path / "far.xlsx", {"S": TABLE + FAR})
    script = (
        "from pathlib import Path; from evenhand.prompts.own_files.tables import read_table; "
        f"read_table(Path({str(path)!r}), 'a table')"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=os.environ)
    assert done.returncode == 1
    assert "DataError" in done.stderr
    assert (
        "the sheet 'S' has 1,048,576 rows and 16,384 columns (its last filled cell is in XFD1048576)"
        in done.stderr
    )
    assert "are free" in done.stderr


@pytest.mark.parametrize(
    "far",
    [
        FAR.replace(' r="XFD1048576"', "").replace("1048576", "40000000000"),  # no place: its row counts
        FAR.replace('"', "'"),
        FAR.replace("XFD1048576", "xfd1048576"),
        '<!-- <x a=" -->' + FAR + '<!-- "> -->',
        "<![CDATA[<c a=']]>" + FAR,
        FAR.replace("<v>1</v>", "<f>1+1</f>"),
        FAR.replace("<row", "<m:row xmlns:m='m'").replace("</row", "</m:row"),
    ],
)
def test_a_far_cell_is_seen_in_every_spelling(tmp_path: Path, far: str) -> None:
    path = write_xlsx(tmp_path / "far.xlsx", {"S": TABLE + far})
    with pytest.raises(DataError, match=r"far\.xlsx: the sheet 'S' has 1,048,576 rows|40,000,000,000 rows"):
        check_workbook_fits(path, "a table")


def test_cells_with_a_format_alone_take_no_memory(tmp_path: Path) -> None:
    for n, empty in enumerate(['<c r="XFD1048576" s="1"/>', '<c r="XFD1048576" s="1"></c>']):
        path = write_xlsx(tmp_path / f"{n}.xlsx", {"S": f'{TABLE}<row r="1048576">{empty}</row>'})
        assert read_table(path, "a table").shape == (1, 2)


def test_a_far_cell_of_another_sheet_matters_if_that_sheet_is_loaded(tmp_path: Path) -> None:
    path = write_xlsx(tmp_path / "two.xlsx", {"near": TABLE, "far": TABLE + FAR})
    assert read_table(path, "a table", sheet="near").shape == (1, 2)
    for sheet in ("far", None):
        with pytest.raises(DataError, match="the sheet 'far' has"):
            read_table(path, "a table", sheet=sheet)


def test_free_memory_decides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_xlsx(tmp_path / "a.xlsx", {"S": TABLE + '<row r="9999"><c r="A9999"><v>1</v></c></row>'})
    needed = 9999 * 2 * CELL_BYTES
    monkeypatch.setattr(f"{SIZES}.processor_memory", lambda: needed)
    assert read_table(path, "a table").shape == (9998, 2)
    monkeypatch.setattr(f"{SIZES}.processor_memory", lambda: needed - 1)
    with pytest.raises(DataError, match="9,999 rows and 2 columns"):
        read_table(path, "a table")


def test_cells_that_repeat_one_place_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_xlsx(
        tmp_path / "a.xlsx", {"S": TABLE + '<row r="2">' + '<c r="A2"><v>1</v></c>' * 10_000 + "</row>"}
    )
    monkeypatch.setattr(f"{SIZES}.processor_memory", lambda: 10_000 * CELL_BYTES)
    monkeypatch.setattr(f"{SIZES}.TEXT_TIMES", 0)
    with pytest.raises(DataError, match="the sheet 'S' has 2 rows"):
        check_workbook_fits(path, "a table")


def test_a_part_is_read_to_its_end_whatever_size_the_archive_states(tmp_path: Path) -> None:
    path = write_xlsx(tmp_path / "a.xlsx", {"S": TABLE + FAR})
    content = path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        size = archive.getinfo("xl/worksheets/sheet1.xml").file_size
    path.write_bytes(content.replace(size.to_bytes(4, "little"), (100).to_bytes(4, "little")))
    with pytest.raises(DataError, match="the sheet 'S' has 1,048,576 rows"):
        check_workbook_fits(path, "a table")


def test_xml_that_unpacks_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_xlsx(tmp_path / "a.xlsx", {"S": TABLE + " " * 10_000_000})
    monkeypatch.setattr(f"{SIZES}.processor_memory", lambda: 8 << 20)
    with pytest.raises(DataError, match=r"its XML has more than 0\.00 GiB"):
        check_workbook_fits(path, "a table")


def test_repeated_cells_of_an_open_document_are_counted(tmp_path: Path) -> None:
    heading = ods_row(ods_cell("group"), ods_cell("score"))
    table = heading + ods_row(ods_cell("a"), ods_cell("b"))
    # As office programs write them: the empty rest of the sheet.
    rest = '<table:table-cell table:number-columns-repeated="16382"/>'
    empty = ods_row('<table:table-cell table:number-columns-repeated="16384"/>', times=1048574)
    path = write_ods(
        tmp_path / "a.ods", table.replace("</table:table-row>", f"{rest}</table:table-row>") + empty
    )
    assert read_table(path, "a table").shape == (1, 2)
    for n, row in enumerate([ods_row(ods_cell("x", 10**5), times=10**6), ods_row(ods_cell("x", 10**11))]):
        with pytest.raises(DataError, match="the sheet 'S' has"):
            read_table(write_ods(tmp_path / f"{n}.ods", table + row), "a table")


def test_a_binary_workbook_is_loaded_in_another_process_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.xls"
    path.write_bytes(b"no workbook")
    check_workbook_fits(path, "a table")
    far = write_xlsx(tmp_path / "far.xlsx", {"S": TABLE + FAR})
    monkeypatch.setattr(zipfile, "is_zipfile", lambda path: False)
    with pytest.raises(
        DataError, match=r"far\.xlsx cannot be loaded: the reading process was killed or crashed"
    ):
        check_workbook_fits(far, "a table")
