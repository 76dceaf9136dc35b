"""The table of names by race and ethnicity: CSV, tabs and the owner's workbook give the same rows."""

import zipfile
from pathlib import Path
from xml.sax.saxutils import escape

import pytest

from evenhand.prompts.datasets import dataset_folder, fetch
from evenhand.prompts.names import read_shares, workbook as workbooks
from evenhand.prompts.names.shares import COLUMNS, content_sha256
from evenhand.schema import ChecksumMismatch, DataError

ROWS = [
    ["AARON", "3646", "2.88", "91.607", "3.264", "2.057", "0.055", "0.137"],
    ["JOSE", "100", "90", "5", "3", "2", "0", "0"],
    ["ALL OTHER FIRST NAMES", "9", "100", "0", "0", "0", "0", "0"],
]


def workbook(path: Path, *sheets: list[list[str]], inside: str = "") -> Path:
    """As spreadsheets write them: texts shared, numbers in the cells, empty cells left out."""
    texts = sorted({value for sheet in sheets for row in sheet for value in row if not _number(value)})
    places = {text: place for place, text in enumerate(texts)}
    main = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    with zipfile.ZipFile(path, "w") as archive:
        items = "".join(f"<si><t>{escape(text)}</t></si>" for text in texts)
        archive.writestr("xl/sharedStrings.xml", f'<?xml version="1.0"?>{inside}<sst {main}>{items}</sst>')
        for number, sheet in enumerate(sheets, 1):
            rows = "".join(
                f'<row r="{r}">'
                + "".join(
                    f'<c r="{chr(65 + c)}{r}"><v>{value}</v></c>'
                    if _number(value)
                    else f'<c r="{chr(65 + c)}{r}" t="s"><v>{places[value]}</v></c>'
                    for c, value in enumerate(row)
                    if value
                )
                + "</row>"
                for r, row in enumerate(sheet, 1)
            )
            content = f"<worksheet {main}><sheetData>{rows}</sheetData></worksheet>"
            archive.writestr(f"xl/worksheets/sheet{number}.xml", content)
    return path


def _number(value: str) -> bool:
    return value.replace(".", "").isdigit()


def csv(path: Path, *rows: list[str], mark: str = ",") -> Path:
    path.write_text("\n".join(mark.join(row) for row in (list(COLUMNS), *rows)) + "\n")
    return path


def test_csv_tabs_and_workbook_hold_the_same(tmp_path: Path) -> None:
    read_me = [["Demographic aspects of first names"], ["", "by column"]]
    sources = [
        csv(tmp_path / "a.csv", *ROWS),
        csv(tmp_path / "a.tab", *([f'"{row[0]}"', *row[1:]] for row in ROWS), mark="\t"),
        workbook(tmp_path / "a.xlsx", read_me, [list(COLUMNS), *ROWS]),
    ]
    tables = [read_shares(source) for source in sources]
    assert tables[0].rows() == [
        ("AARON", 3646.0, 2.88, 91.607, 3.264, 2.057, 0.055, 0.137),
        ("JOSE", 100, 90, 5, 3, 2, 0, 0),
    ]
    assert all(table.equals(tables[0]) for table in tables)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (
            ["ANN", "3", "50", "30", "0", "0", "0", "0"],
            r"row 3 \(ANN\): the shares must be 0 to 100 and add up to 100",
        ),
        (["ANN", "3", "150", "-50", "0", "0", "0", "0"], "add up to 100"),
        (["ANN", "0", "100", "0", "0", "0", "0", "0"], "add up to 100"),
        (["ANN", "", "100", "0", "0", "0", "0", "0"], "add up to 100"),
        (["ANN", "few", "100", "0", "0", "0", "0", "0"], "'obs' is 'few', which is not a number"),
        (["JOSE", "3", "100", "0", "0", "0", "0", "0"], "JOSE occurs more than once"),
    ],
)
def test_a_wrong_row_is_named(tmp_path: Path, row: list[str], message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_shares(csv(tmp_path / "a.csv", *ROWS[:2], row))


def test_other_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="contains none of firstnames"):
        read_shares(tmp_path)
    (tmp_path / "a.xlsx").write_bytes(b"no workbook")
    with pytest.raises(DataError, match="is not a workbook that can be read: File is not a zip file"):
        read_shares(tmp_path / "a.xlsx")
    with pytest.raises(DataError, match="contains no table with the column firstname"):
        read_shares(workbook(tmp_path / "b.xlsx", [["name"], ["ANN"]]))
    with pytest.raises(DataError, match="contains XML entities"):
        read_shares(
            workbook(tmp_path / "c.xlsx", [list(COLUMNS), *ROWS], inside='<!DOCTYPE a [<!ENTITY b "c">]>')
        )
    with pytest.raises(DataError, match="File not found"):
        read_shares(tmp_path / "there.xlsx")
    with pytest.raises(DataError, match="contains no name"):
        read_shares(csv(tmp_path / "d.csv", ROWS[2]))


@pytest.mark.parity
def test_the_published_table_is_pinned_by_its_rows(
    shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVENHAND_DATA", str(tmp_path / "cache"))
    folder = fetch("tzioumis", from_dir=shared / "data/names").folder
    assert folder == dataset_folder("tzioumis")
    table = read_shares(folder)
    assert table.height == 4_250
    rows = [list(COLUMNS), *([name, str(int(obs)), *map(str, rest)] for name, obs, *rest in table.rows())]
    (other := tmp_path / "other").mkdir()
    workbook(other / "firstnames.xlsx", rows)
    assert content_sha256(other) == content_sha256(folder)
    (other / "firstnames.xlsx").unlink()
    csv(other / "firstnames.csv", *rows[1:-1])
    with pytest.raises(ChecksumMismatch, match="are not those of tzioumis"):
        dataset_folder("tzioumis", user_folder=other)


def sheet(path: Path, rows: str, compression: int = zipfile.ZIP_DEFLATED) -> Path:
    """A workbook of one sheet by its rows as they are written; the columns are its first row."""
    main = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    head = "".join(f'<c t="inlineStr"><is><t>{name}</t></is></c>' for name in COLUMNS)
    with zipfile.ZipFile(path, "w", compression) as archive:
        archive.writestr("xl/sharedStrings.xml", f"<sst {main}><si><t>ANN</t></si></sst>")
        archive.writestr("xl/worksheets/sheet1.xml", f"<worksheet {main}><row>{head}</row>{rows}</worksheet>")
    return path


def test_columns_behind_the_last_heading_are_not_read(tmp_path: Path) -> None:
    numbers = "".join(f"<c><v>{value}</v></c>" for value in (3, 100, 0, 0, 0, 0, 0))
    ann = f'<row><c t="s"><v>0</v></c>{numbers}<c r="ZZZ2"><v>1</v></c></row>'
    file = sheet(tmp_path / "a.xlsx", ann + '<row><c r="ZZZ1"/></row>' * 20_000)
    assert read_shares(file).rows() == [("ANN", 3, 100, 0, 0, 0, 0, 0)]


@pytest.mark.parametrize("cell", ['<c t="s"><v>-1</v></c>', '<c t="s"><v>7</v></c>', '<c t="s"/>'])
def test_a_shared_text_that_is_not_there(tmp_path: Path, cell: str) -> None:
    with pytest.raises(DataError, match="is not a workbook that can be read"):
        read_shares(sheet(tmp_path / "a.xlsx", f"<row>{cell}</row>"))


def test_a_sheet_of_more_cells_than_tables_have(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workbooks, "MOST_CELLS", 30)
    with pytest.raises(DataError, match="it has more than 30 cells"):
        read_shares(sheet(tmp_path / "a.xlsx", '<row><c r="H1"/></row>' * 3))


def test_broken_bytes_and_headings_that_stand_there_twice(tmp_path: Path) -> None:
    file = sheet(tmp_path / "a.xlsx", "<row><c><v>1</v></c></row>" * 99)
    broken = bytearray(file.read_bytes())
    start = broken.find(b"sheet1.xml") + 14
    broken[start : start + 60] = bytes(byte ^ 0x5A for byte in broken[start : start + 60])
    file.write_bytes(bytes(broken))
    with pytest.raises(DataError, match="is not a workbook that can be read"):
        read_shares(file)
    twice = [*COLUMNS, "obs"]
    tabs = tmp_path / "a.tab"
    tabs.write_text("\t".join(twice) + "\n")
    for source in (tabs, workbook(tmp_path / "b.xlsx", [twice])):
        with pytest.raises(DataError, match="the column 'obs' occurs 2 times"):
            read_shares(source)
