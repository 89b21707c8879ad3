"""The report as a PDF, in pure Python (fpdf2), with the typeface that Matplotlib brings."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import sketchlasso as sl
from sketchlasso.interfaces.commands.report import Sheet
from sketchlasso.interfaces.paper.document import Document, Section, right_columns
from sketchlasso.interfaces.paper.drawing import drawn

__all__ = ["as_pdf"]

FONT = "DejaVu"
STYLES = {"": "DejaVuSans.ttf", "B": "DejaVuSans-Bold.ttf", "I": "DejaVuSans-Oblique.ttf"}
MARGIN = 15.0
# Height that a section asks for where it begins, mm.
ROOM = 95.0
SUMMARY_WIDTHS = (30, 17, 19, 13, 46)
# Of a cell, left and right; entries that stay on one line; how wide long text may make a column.
PADDING, SHORT, LONGEST = 1.4, 14, 60.0
COLOURS = {
    "reproduced": (17, 112, 60),
    "better": (17, 112, 60),
    "not reproduced": (180, 35, 24),
    "no results": (180, 35, 24),
    "beyond the paper": (11, 92, 173),
}


def as_pdf(document: Document) -> bytes:
    """Return the bytes of the PDF."""
    page = _new_page(document.title)
    page.add_page()
    page.set_font(FONT, "B", 15)
    page.multi_cell(0, 7, document.title, new_x="LMARGIN", new_y="NEXT", align="L")
    page.ln(2)
    _paragraph(page, document.opening)
    _table(page, document.summary, widths=SUMMARY_WIDTHS, size=6.6, verdicts=3)
    for section in document.sections:
        if page.will_page_break(ROOM):
            page.add_page()
        _section(page, section)
    _heading(page, "Where and when")
    _notes(page, document.closing)
    return bytes(page.output())


def _new_page(title: str) -> Any:
    try:
        import matplotlib as mpl
        from fpdf import FPDF
    except ImportError as error:
        raise sl.MissingExtraError("the report", str(error.name), "paper") from None

    class Pages(FPDF):  # type: ignore[misc, unused-ignore]
        """Pages with their number at the foot."""

        def footer(self) -> None:
            self.set_y(-12)
            self.set_font(FONT, "", 7)
            self.set_text_color(110)
            self.cell(0, 6, f"{self.page_no()} / {{nb}}", align="C")
            self.set_text_color(0)

    page = Pages(orientation="portrait", unit="mm", format="A4")
    for style, file in STYLES.items():
        page.add_font(FONT, style, Path(mpl.get_data_path()) / "fonts" / "ttf" / file)
    page.set_margins(MARGIN, MARGIN, MARGIN)
    page.set_auto_page_break(True, margin=MARGIN + 3)
    page.set_title(title)
    page.set_lang("en-GB")
    return page


def _heading(page: Any, words: str) -> None:
    page.ln(5)
    page.start_section(words)
    page.set_font(FONT, "B", 12)
    page.multi_cell(0, 6, words, new_x="LMARGIN", new_y="NEXT", align="L")
    page.ln(1)


def _paragraph(page: Any, words: str) -> None:
    page.set_font(FONT, "", 8.5)
    page.multi_cell(0, 4.4, words, new_x="LMARGIN", new_y="NEXT", align="L")
    page.ln(1.5)


def _notes(page: Any, notes: tuple[tuple[str, str], ...]) -> None:
    for about, words in notes:
        page.set_font(FONT, "B", 8.5)
        verdict = about.partition(":")[0].lower()
        if verdict in COLOURS:
            page.set_text_color(*COLOURS[verdict])
        page.multi_cell(0, 4.4, about, new_x="LMARGIN", new_y="NEXT", align="L")
        page.set_text_color(0)
        _paragraph(page, words)


def _section(page: Any, section: Section) -> None:
    _heading(page, section.title)
    _notes(page, section.notes)
    if section.problem:
        page.set_text_color(*COLOURS["no results"])
        _paragraph(page, section.problem)
        page.set_text_color(0)
    for picture in section.pictures:
        width = min(page.epw, 25.4 * picture.size[0])
        height = width * picture.size[1] / picture.size[0]
        if page.will_page_break(height + 8):
            page.add_page()
        page.image(io.BytesIO(drawn(picture, "png")), w=width, alt_text=picture.caption)
        page.set_font(FONT, "I", 7.5)
        page.set_text_color(90)
        page.multi_cell(0, 4, picture.caption, new_x="LMARGIN", new_y="NEXT", align="L")
        page.set_text_color(0)
        page.ln(2)
    for sheet in section.tables:
        _table(page, sheet)


def _table(
    page: Any,
    sheet: Sheet,
    widths: tuple[int, ...] | None = None,
    size: float = 6.6,
    verdicts: int | None = None,
) -> None:
    if page.will_page_break(24):
        page.add_page()
    page.set_font(FONT, "B", 8.5)
    page.multi_cell(0, 5, sheet.title, new_x="LMARGIN", new_y="NEXT", align="L")
    page.set_font(FONT, "", size)
    from fpdf.enums import TableBordersLayout
    from fpdf.fonts import FontFace

    align = tuple("RIGHT" if right else "LEFT" for right in right_columns(sheet))
    with page.table(
        borders_layout=TableBordersLayout.HORIZONTAL_LINES,
        col_widths=widths or _widths(page, sheet),
        text_align=align,
        line_height=3.2,
        padding=(0.7, PADDING),
        headings_style=FontFace(emphasis="BOLD", fill_color=(240, 242, 245)),
    ) as table:
        table.row(sheet.columns)
        for cells in sheet.cells():
            row = table.row()
            for number, cell in enumerate(cells):
                colour = COLOURS.get(cell) if number == verdicts else None
                row.cell(cell, style=FontFace(color=colour) if colour else None)
    page.ln(3)


def _widths(page: Any, sheet: Sheet) -> tuple[float, ...]:
    """Widths in millimetres that break no word and no short entry; what is left, long text gets."""

    def wide(words: str, style: str = "") -> float:
        page.set_font(style=style)
        return float(page.get_string_width(words)) + 2 * PADDING + 0.8

    least, wished = [], []
    for column, head in enumerate(sheet.columns):
        cells = [line[column] for line in sheet.cells()]
        whole = [
            part for cell in cells for part in ([cell] if len(cell) <= SHORT else cell.split())
        ]
        words = [wide(word, "B") for word in head.split()] + [wide(part) for part in whole]
        least.append(max(words, default=0.0))
        wished.append(max([least[-1], *(min(wide(cell), LONGEST) for cell in cells)]))
    page.set_font(style="")
    room, more = page.epw - sum(least), sum(wished) - sum(least)
    if room <= 0 or more <= 0:
        return tuple(least)
    share = min(room / more, 1.0)
    return tuple(low + share * (high - low) for low, high in zip(least, wished, strict=True))
