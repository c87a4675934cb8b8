"""`report.draw`: any figure, as files and within a page; legible at 16 cm, with its intervals, the same each time."""

import re
from xml.etree import ElementTree

import matplotlib
import pandas
import pytest
from stored import HOSTILE, everything, made, row, trials

from grailbench.report import document, draw, figures
from grailbench.report.captions import CAPTIONS
from grailbench.report.draw import sheet
from grailbench.report.figure import Axis, Bar, Bars, Figure, Mark, Marks, Panel, Part

SVG = "{http://www.w3.org/2000/svg}"
NAMES = ("one", "two $x_1$")


def figure(form, **more):
    return Figure("edges", pandas.DataFrame({"a": [1]}), form, **more)


MARKS = Marks(
    (Panel("numbers", tuple(Mark(name, 10.0**i, 3.0, f"hint {i}", 2.0, 4.0, i == 1) for i, name in enumerate(NAMES))),),
    NAMES, Axis("edges"), Axis("ms"),
)  # fmt: skip
ROWS = Marks(
    (Panel("names", (Mark("one", 2.0, HOSTILE, "here"), Mark("two $x_1$", None, "kegg", word="TIMEOUT"))),),
    NAMES, y=Axis(scale="names"),
)  # fmt: skip
BARS = Bars((Panel("bars", (Bar("config", (Part("one", 1.0, "1 ms"), Part(NAMES[1], 2.0, "2 ms")), "3 ms"),)),), NAMES)
FORMS = {"marks": MARKS, "rows": ROWS, "bars": BARS}


def drawn(form, **more):
    """The one SVG file of a figure, parsed."""
    data = dict(draw.files(figure(form, **more), "the source", "svg"))
    return ElementTree.fromstring(data["edges.svg"])


def texts(root):
    return [each.text for each in root.iter(f"{SVG}text")]


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_a_drawing_is_sixteen_centimetres_wide_with_text_of_seven_points_and_more(form):
    root = drawn(form)
    assert float(root.get("width").removesuffix("pt")) == pytest.approx(16 / 2.54 * 72, rel=0.01)
    sizes = re.findall(r"font-size: ([\d.]+)px", " ".join(each.get("style", "") for each in root.iter()))
    assert len(sizes) > 2
    assert min(map(float, sizes)) >= 7


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_the_same_figure_gives_the_same_bytes(form):
    one, two = (dict(draw.files(figure(form), "source")) for _ in range(2))
    assert one == two
    assert set(one) == {"edges.svg", "edges.png", "edges.csv"}
    assert draw.svg(figure(form)) == draw.svg(figure(form))
    assert b"date" not in one["edges.svg"]


def test_marks_have_their_series_and_hints_and_intervals():
    root = drawn(MARKS)
    groups = [each for each in root.iter() if each.get("data-series")]
    assert {each.get("data-series") for each in groups} == {"0", "1"}
    assert {each.get("data-key") for each in root.iter() if each.get("data-key")} == {"0", "1"}
    assert [title.text for group in groups for title in group.iter(f"{SVG}title")] == ["hint 0", "hint 1"]
    assert len(groups) == 4, "an interval and a mark of each series"
    bare = Marks((Panel("", tuple(mark._replace(low=None, high=None) for mark in MARKS.panels[0].items)),), NAMES)
    assert len([each for each in drawn(bare).iter() if each.get("data-series")]) == 2


def test_what_has_no_mark_is_said_in_its_place_and_names_are_text_and_no_markup_and_no_formula():
    assert "TIMEOUT two $x_1$" in texts(drawn(ROWS))
    unavailable = figure(Bars((), ()), note="Unavailable: nobody looked.")
    assert unavailable.drawable
    data = dict(draw.files(unavailable, "source", "svg"))
    assert "nobody looked" in "".join(texts(ElementTree.fromstring(data["edges.svg"])))
    assert not figure(Bars((), ())).drawable
    page = draw.svg(figure(ROWS))
    assert "<script" not in page
    assert "two $x_1$" in "".join(texts(drawn(MARKS)))


def test_a_drawing_within_a_page_has_its_colours_and_its_own_ids():
    one, two = (draw.svg(Figure(name, figure(BARS).frame, BARS)) for name in ("edges", "phases"))
    assert "var(--s0)" in one
    assert not re.search(r"#[0-9a-f]{6}\b", one)
    assert "xmlns" not in one
    ids = [set(re.findall(r' id="([^"]+)"', each)) for each in (one, two)]
    assert ids[0]
    assert not ids[0] & ids[1]
    assert all(f"#{name}" in one for name in ids[0])


@pytest.mark.slow
def test_a_figure_of_many_panels_has_pages_of_bounded_height():
    panels = tuple(Panel(f"panel {i}", BARS.panels[0].items) for i in range(40))
    before, files = dict(matplotlib.rcParams), {}
    for name, content in draw.files(figure(Bars(panels, NAMES)), "source", "svg"):
        files[name] = content
        assert dict(matplotlib.rcParams) == before, "settings of the process are those of the caller between two pages"
    assert list(files) == ["edges.svg", "edges-2.svg", "edges.csv"]
    heights = [float(ElementTree.fromstring(files[name]).get("height")[:-2]) for name in list(files)[:2]]
    assert max(heights) < (sheet.TALL + 1.5) * 72


# ------------------------------------------------------------------ runs


def reading(impl, ms, trial):
    return row(problem="read", impl=impl, dim=None, search=None, filters=None, order=None, query_set="all",
               phase="solve", trial=trial, ms=ms, rate=100 / ms)  # fmt: skip


def test_a_run_of_several_problems_gives_the_figures_of_each():
    of = {"dim": None, "search": None, "filters": None, "order": None, "query_set": "all"}
    closure = [row(problem="closure", dataset="custom-100-10", impl="tiled", phase="solve", trial=0, ms=4.0, **of)]
    read = [reading("gra", ms, trial) for trial, ms in enumerate((2.0, 3.0, 2.5))]
    found = figures.of_report(document.make(made([*trials(), *closure, *read])))
    assert {"edges", "phases", "closure-5", "reading"} <= found.keys() <= CAPTIONS.keys()
    assert found["edges"].drawable
    (mark,) = found["reading"].form.panels[0].items
    assert (mark.series, mark.x, mark.y) == ("gra", 5576.0, 2.5)
    assert 2.0 <= mark.low <= 2.5 <= mark.high <= 3.0
    assert found["reading"].csv.splitlines()[1].startswith("kegg,3618,5576,gra,ok,,3,2.5,")


def test_intervals_are_drawn_wherever_trials_allow():
    found = figures.of_report(document.make(made(everything())))
    for name in ("edges", "printed"):
        marks = [mark for panel in found[name].form.panels for mark in panel.items]
        assert marks
        assert all(mark.low <= mark.y <= mark.high for mark in marks)
