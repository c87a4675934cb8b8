"""Markdown pages keep their numbers from runs: what is marked is made anew, and nothing of it may differ."""

import json
import re

import pytest
from commands import ROOT, call
from outcomes import tells
from stored import ENVIRONMENT, enough, store, trials, unguided

from grailbench.compare.stability import varies
from grailbench.errors import InputError
from grailbench.harness import cells
from grailbench.problems import contract
from grailbench.report import recorded
from grailbench.report.pages import Page, Runs
from grailbench.report.values import BEST, Expression, Value

PHASES = {"label", "query", "ready", "solve"}


def text_of(path):
    """A page without its code blocks, which may show marks."""
    return re.sub(r"(?ms)^```.*?^```$", "", path.read_text(encoding="utf-8"))


#: every page with marked blocks
PAGES = {
    path.relative_to(ROOT).as_posix(): path
    for folder in (ROOT, *sorted((ROOT / "docs").rglob("")))
    for path in sorted(folder.glob("*.md"))
    if "<!-- grailbench " in text_of(path)
}
RUNS = Runs()  #: which several pages are of


@pytest.mark.slow
@pytest.mark.parametrize("name", PAGES)
def test_making_a_page_anew_changes_nothing(name):
    page = Page(PAGES[name], runs=RUNS)
    assert page.renewed == page.text, f"grailbench report --into {name}"
    assert page.current, f"grailbench report --into {name}: a figure"


def test_no_mark_of_a_page_is_misspelled():
    for name, path in PAGES.items():
        marks = re.findall(r"<!-- (?:grailbench [\w-]+ -->$|end -->$|.*$)", text_of(path), re.MULTILINE)
        assert [mark.split()[1] for mark in marks] == ["grailbench", "end"] * (len(marks) // 2), name


#: blocks whose ratios are those of a paper, and say so
OF_PAPERS = {("computation-2020", "computation"), ("computation-2020", "labels-real"),
             ("computation-2020", "labels-made"),
             ("computation-2020", "trees"), ("thesis", "large-orders"),
             ("thesis", "variants"), ("thesis", "groups-of-32")}  # fmt: skip


def ratios_over_other_cells(path):
    """(block, column) of each ratio of two times on a page of which the second is of a GPU, and the first neither of
    the best on the CPU nor of the same implementation nor printed."""
    for name, block in Page(path).blocks.items():
        columns = block.get("columns", {})
        for header, text in ((header, text) for header, text in columns.items() if " / " in text):
            parts = Expression.parse(text, columns).parts
            gpu = contract.registered(parts[-1].impl or "", block.get("problem", "reachability"))
            timed = all(part.impl and part.what.partition("/")[0].partition("+")[0] in PHASES for part in parts)
            over = parts[0].impl not in (parts[-1].impl, *BEST) and (path.stem, name) not in OF_PAPERS
            if timed and over and gpu and "gpu" in gpu.needs:
                yield name, header


def test_a_speed_up_of_a_page_is_over_the_fastest_on_the_cpu():
    assert {name: found for name, path in PAGES.items() if (found := [*ratios_over_other_cells(path)])} == {}


def test_a_speed_up_over_another_cell_is_found(tmp_path):
    path = tmp_path / "page.md"
    columns = {"a": "sequential ready / gpu-fused ready", "b": "gpu-fused ready", "c": "best-cpu ready / b",
               "d": "gpu query / b", "e": "b / gpu-fused query", "f": "b / gpu-fused floor"}  # fmt: skip
    described(path, 'run = "x"\n[columns]\n' + "".join(f'{name} = "{text}"\n' for name, text in columns.items()))
    assert [*ratios_over_other_cells(path)] == [("it", "a"), ("it", "d")]


#: what sentences outside of blocks may say with a unit: settings, limits, sizes that follow from counts, and print's
NO_MEASUREMENTS = {
    "billion": ["8 GB of edges"],
    "closures": ["137 GB as bits", "blocks of targets of 20 GB"],
    "computation-2020": ["five take 3 times as long as one"],
    "hard": ["had 100 to 200 s for all passes"],
    "ranking": ["ran out of 30 s for all passes, or of 8 GiB"],
    "runs": ["2 cores and 24 GiB"],
    "streams": ["a process of 700 MB", "edges are 11.4 times as large as it", "rows of children 5.7 times"],
    "thesis": ["the printed GPU has 4 GB"],
}
_UNIT = r"×|%|percent|times|[nµum]?s|(?:nano|micro|milli)?seconds?|minutes?|hours?|[KMGT]i?B(?:/s)?|[KMG]/s|[JW]"
_MEASURED = re.compile(rf"(?<![\w.])\d[\d.,]*†?(?: to \d[\d.,]*†?)?[ -]?(?:{_UNIT})(?!\w)|^\|.*\d.*\|$", re.MULTILINE)
#: the pages that say what came out
RESULTS = [ROOT / "README.md", ROOT / "docs" / "index.md", *sorted((ROOT / "docs" / "results").glob("*.md"))]


def measured_by_hand(text, allowed=()):
    """What a page says with a unit, and lines of tables with numbers, that no block makes and that is not allowed."""
    text = re.sub(r"(?ms)^<!-- grailbench [\w-]+ -->$.*?^<!-- end -->$|^```.*?^```$|`[^`\n]*`", "", text)
    for each in allowed:
        text = text.replace(each, "")
    return [found[0] for found in _MEASURED.finditer(text)]


def test_what_was_measured_stands_in_blocks_alone():
    texts = {path.stem: path.read_text(encoding="utf-8") for path in RESULTS}
    assert len(texts) > 15
    assert {name: found for name, text in texts.items()
            if (found := measured_by_hand(text, NO_MEASUREMENTS.get(name, ())))} == {}  # fmt: skip
    assert [each for name, allowed in NO_MEASUREMENTS.items() for each in allowed if each not in texts[name]] == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("It takes 3.4 ms, then 15 s.", ["3.4 ms", "15 s"]), ("4.33×† as fast, or 2 times.", ["4.33×", "2 times"]),
        ("1,448† us of 5 to 9 ns", ["1,448† us", "5 to 9 ns"]), ("24 % less at 3 GB/s", ["24 %", "3 GB/s"]),
        ("<!-- grailbench x -->\n3 ms\n<!-- end -->\n4 ms", ["4 ms"]), ("| a | b |\n| --- | ---: |", []),
        ("| graph | minutes |\n| kegg | 9 |", ["| kegg | 9 |"]), ("```\n3 ms\n```\n`20 s`", []),
        ("100,000 pairs on 2 cores, d = 5, section 2.4, 20 seeds, 32-bit", []),
    ],
)  # fmt: skip
def test_what_is_measured_by_hand_is_found(text, found):
    assert measured_by_hand(text) == found


def described(path, body):
    """Writes the file beside a page that describes its one block, `it`."""
    path.with_suffix(".toml").write_text("[it]\n" + body.replace("[columns]", "[it.columns]"))


@pytest.fixture
def page(tmp_path):
    """Makes a page of one block, beside a run of three implementations on kegg, human and kegg-like."""
    gpu = {"search": None, "filters": "level,tree", "impl": "gpu-fused", "apart": {"ready": 40.0}}
    none = {"counters": {"searches": 0}}
    rows = [
        *enough(label=4.0, query=20.0, counters={"searches": 300}, apart={"ready": 8.0}, index_bytes=36180),
        *enough(label=4.0, query=30.0, dim=1, apart={"ready": 8.0}),
        *enough(label=9.0, query=10.0, dataset="human", verified="sample of 1,000", apart={"ready": 20.0}),
        *enough(label=1.0, query=0.5, parts={("label", "on_device"): 0.25}, **gpu, **none),
        *enough(label=1.0, query=0.5, dataset="human", parts={("label", "on_device"): 0.5}, **gpu, **none),
        *enough(label=3.0, dataset="kegg-like", apart={"ready": 9.0}),
        *enough(label=2.0, impl="parallel", threads=16),
    ]
    store(tmp_path / "run", rows)

    def make(body, where="where = {dim = 2}"):
        path = tmp_path / "page.md"
        path.write_text("# Page\n\n<!-- grailbench it -->\nold\n<!-- end -->\n\nEnd.\n")
        described(path, f'run = "run"\n{where}\n{body}\n')
        return path

    return make


def made(path):
    """What stands in the one block of a page."""
    return re.search(r" -->\n(.*?)\n<!-- end -->", Page(path).renewed, re.DOTALL)[1]


def lines(path):
    """The lines of that, without the rule and blank lines."""
    return [line for line in made(path).splitlines() if line and not line.startswith("| ---")]


def test_one_of_two_implementations_is_that_which_a_graph_has_a_cell_of(page):
    table = lines(page('graphs = ["human", "kegg-like"]\ncolumns = {a = "parallel|gpu-fused label"}'))
    assert table[1:] == ["| human | 1.00 |", "| kegg-like | – |"]
    with pytest.raises(InputError, match="2 cells on kegg"):
        made(page('graphs = ["kegg"]\ncolumns = {a = "parallel|gpu-fused label"}'))


TABLE = """graphs = ["human", "kegg"]
[columns]
"one core" = "sequential label"
"device" = "gpu-fused label/on_device"
"device alone" = "one core / device"
"from edges" = "sequential ready / gpu-fused ready"
"""


def test_a_table_has_a_line_a_graph_and_ratios_of_its_columns(page):
    assert lines(page(TABLE)) == [
        "| graph | one core | device | device alone | from edges |",
        "| human | 9.05 [1] | 0.502 | 18.0× [1] | 0.50× [1] |",  # the device's time is not sampled
        "| kegg | 4.02 | 0.251 | 16.0× | 0.20× |",
        "- [1] sampled: not every answer was checked",
    ]


def test_a_name_that_says_other_threads_than_its_values_have_is_refused(page):
    assert lines(page('graphs = ["kegg"]\n[columns]\n"16 threads" = "parallel label threads=16"'))
    for said in ("one core", "2 threads"):
        with pytest.raises(InputError, match=f"'{said}': its value on kegg is of 16 threads .*threads=..."):
            made(page(f'graphs = ["kegg"]\n[columns]\n"{said}" = "parallel label threads=16"'))


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("`gpu-fused`, d = 5", "d = 2"),
        ("`sequential`, d = 2", "gpu-fused"),
        ("sequential, in all", "gpu-fused"),
        ("`gpu-fused`, d = 2", None),
    ],  # fmt: skip
)
def test_a_name_that_says_other_implementations_or_label_pairs_than_its_values_have_is_refused(page, name, found):
    text = page(f'graphs = ["kegg"]\n[columns]\n"{name}" = "gpu-fused label"\n"one core" = "sequential label"')
    if found is None:
        assert lines(text)
    else:
        with pytest.raises(InputError, match=f"'{name}': its value on kegg is of {found} "):
            made(text)


def test_the_best_of_a_place_is_the_fastest_there_and_is_named(page):
    columns = (
        '"one core" = "best-one-core label"\n"all cores" = "best-all-cores label"\n"ratio" = "all cores / one core"\n'
    )
    assert lines(page(f'graphs = ["human", "kegg"]\n[columns]\n{columns}')) == [
        "| graph | one core | all cores | ratio |",
        "| human [1,2] | 9.05 | – | – |",
        "| kegg | 4.02 [2] | 2.01 [3] | 0.50× [3,2] |",
        "- [1] sampled: not every answer was checked",
        "- [2] CPU: sequential d=2 dfs",
        "- [3] CPU: parallel d=2 dfs 16 threads",
    ]
    columns = 'cpu = "best-one-core label"\nall = "best-all-cores label"'
    (said,) = lines(page(f'graphs = ["kegg"]\nsay = "{{cpu}}, {{all}}"\n[columns]\n{columns}'))
    assert said == "4.02, 2.01 (CPU: sequential d=2 dfs; parallel d=2 dfs 16 threads)"


def test_what_keeps_no_index_is_never_the_fastest_to_build_one(page):
    columns = '"built" = "best-cpu ready"\n"asked" = "best-cpu query"\n'
    path = page(columns)
    rows = enough(impl="dfs", dim=0, query=1.0, index_bytes=0, apart={"ready": 0.1})
    store(path.parent / "search", rows)
    described(path, f'run = ["run", "search"]\ngraphs = ["kegg"]\n[columns]\n{columns}')
    assert lines(path)[1:] == [
        "| kegg | 8.04 [1] | 1.00 [2] |",
        "- [1] CPU: sequential d=2 dfs",
        "- [2] CPU: dfs d=0 dfs",
    ]


def test_the_fastest_to_build_is_so_whatever_it_was_asked(page):
    columns = '"built" = "best-cpu ready"\n"asked" = "best-cpu query"\n'
    where = 'where = {queries = ["random-100000", "random-10"]}\ngraphs = ["kegg"]'
    path = page(columns, where)
    rows = enough(
        impl="core", dim=0, query_set="random-10-s1", queries=10, query=0.5, index_bytes=9, apart={"ready": 0.25}
    )
    store(path.parent / "few", rows)
    described(path, f'run = ["run", "few"]\n{where}\n[columns]\n{columns}')
    built, asked = lines(path)[1].strip("| ").split(" | ")[1:]
    assert (built.split()[0], asked.split()[0]) == ("0.251", "2.01")


def test_what_was_not_measured_is_a_dash_and_means_leave_it_out(page):
    body = 'mean = true\n[columns]\nlabel = "sequential label"\nratio = "label / gpu-fused label"'
    assert lines(page(body))[1:5] == [
        "| kegg | 4.02 | 4.00× |",
        "| human [1] | 9.05 | 9.00× |",
        "| kegg-like | 3.02 | – |",
        "| geometric mean [1] | 4.79 | 6.00× |",
    ]


def test_of_several_values_of_a_key_the_first_that_is_there_counts(page):
    body = 'graphs = ["kegg"]\n[columns]\nlabel = "sequential query"'
    for order, ms in ((["9", "1", "2"], "30.1"), (["2", "1"], "20.1")):
        where = f"where = {{dim = {order}}}".replace("'", '"')
        assert lines(page(body, where))[1] == f"| kegg | {ms} |"


def test_groups_are_geometric_means_over_sets_and_names(page):
    body = 'groups = {small = ["small-sparse"], one = ["kegg"]}\n[columns]\n'
    printed = '"label" = "sequential label"\n"over print" = "label / printed \'Sequential DFS\' table=2"'
    assert lines(page(body + printed))[1:3] == ["| small [1] | 6.03 | 0.44× |", "| one | 4.02 | 0.14× |"]


def test_fields_counters_and_statistics(page):
    body = 'graphs = ["kegg"]\nstatistic = "least"\n[columns]\nn = "vertices"\nwork = "sequential searches"\n'
    body += 'label = "sequential label"\na = "sequential index_bytes / vertices"\nrate = "sequential queries / '
    assert lines(page(body + 'gpu-fused query"'))[1:] == ["| kegg | 3,618 | 300 | 4.00 | 10 | 200.0 M/s |"]


def test_sentences_have_the_span_the_mean_and_single_graphs(page):
    body = (
        'say = """- From {r.least} ({r.least_graph}) to {r.most}, mean {r.mean} of {r.count}: {r}; kegg {r@kegg}."""\n'
    )
    body += 'graphs = ["kegg", "human"]\ncolumns = {r = "sequential ready / gpu-fused ready"}'
    assert made(page(body)) == (
        "- From 0.20× (kegg) to 0.50×, mean 0.32× of 2: 0.20× to 0.50×; kegg 0.20×."
        " (sampled: not every answer was checked)"
    )


@pytest.mark.parametrize(
    ("body", "where", "said"),
    [
        ("", "", "one of 'columns', 'table' and 'runs'"),
        ('columns = {a = "sequential label"}\nrows = 1', "", "key 'rows': unknown key, did you mean 'groups'?"),
        ('columns = {a = "sequentail label"}', "", "did you mean 'sequential'?"),
        ('columns = {a = "sequential lable"}', "", "no cell has it"),
        ('columns = {a = "sequential label"}', "", "differ in dim: name it, as in dim=..."),
        ('columns = {a = "sequential label color=red"}', "", "no key 'color' (there are queries, dim, "),
        ('columns = {a = "label"}', "", "'label' is no value"),
        ('stacked = true\ncolumns = {a = "sequential label"}', "", "'stacked' needs a 'run', a 'figure'"),
        ('columns = {a = "gpu-fused ready / sequential query / vertices"}', "", "divides more than once"),
        ('columns = {a = "sequential index_bytes / sequential query"}', "where = {dim=2}", "bytes over ms is no unit"),
        ('columns = {a = "sequential ready / gpu-fused searches"}\ngraphs = ["human"]', "where = {dim=2}", "by 0"),
        ('columns = {a = "gpu-fused searches"}\nmean = true', "where = {dim=2}", "no geometric mean of 0"),
        ('columns = {a = "gpu-fused ready"}\ngraphs = ["nokegg"]', "", "no graph or set 'nokegg'"),
        ('columns = {a = "gpu-fused ready"}\nsay = "{b}"', "", "'say' has {b} (columns are a)"),
        ('columns = {a = "gpu-fused ready"}\nsay = "{a.best}"', "", "'say' has {a.best} (there are least"),
        ('columns = {a = "gpu-fused ready"}\nsay = "{a@kegg-like}"', "", "{a@kegg-like}, which was not measured"),
        ('columns = {a = "gpu-fused ready"}\nproblem = "bfs"', "", "no cell of 'gpu-fused'"),
    ],
)
def test_what_cannot_be_made_is_named_with_its_line(page, body, where, said):
    with pytest.raises(InputError) as error:
        _ = Page(page(body, where)).renewed
    assert said in str(error.value)
    assert "page.md, line 3: " in str(error.value)


def test_a_table_of_the_report_is_put_there_whole(page):
    found = lines(page('table = "2.4"'))
    assert found[0].startswith("| Data set |  | Positive Queries | Pure DFS |")
    assert any(line.startswith("| Kegg | measured | 20240 |") for line in found)
    with pytest.raises(InputError, match=r"no table '2\.9' \(did you mean 2\.4 or 2\.1\?\)"):
        made(page('table = "2.9"'))


def core(query, **fields):
    """Trials of `core`, which has no label pairs."""
    given = {"impl": "core", "dim": None, "search": None, "filters": None, "order": None}
    return enough(label=0.25, query=query, **given, **fields)


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        (ENVIRONMENT, "core: of the run `later`, on the same machine at another time."),
        (
            {**ENVIRONMENT, "cpu": "Other", "fingerprint": "g"},
            "core: of the run `later`, on another machine (Other, 2 cores). "
            "Ratios of its times to those of `run` CROSS MACHINES.",
        ),
    ],
)
def test_a_table_of_several_runs_has_what_the_first_lacks_and_says_where_it_is_from(page, tmp_path, environment, said):
    path = page('table = "2.4"', "")
    store(tmp_path / "later", [*core(0.5), *trials(label=4.0, query=99.0)], environment)
    specification = path.with_suffix(".toml")
    specification.write_text(specification.read_text().replace('run = "run"', 'run = ["run", "later"]'))
    found = lines(path)
    names = [cell.strip() for cell in found[0].split("|")]
    kegg = [cell.strip() for cell in next(line for line in found if line.startswith("| Kegg |")).split("|")]
    shown = dict(zip(names, kegg, strict=True))
    assert (shown["core"], shown["sequential / core"], shown["core, index"]) == ("0.50", "40.00", "0.25")
    assert shown["Sequential DFS"] == "20.10"  # the later run's own is left out
    assert f"- {said}" in found


def test_a_run_that_adds_no_implementation_to_a_table_is_named_by_its_graphs(tmp_path):
    first, later = store(tmp_path / "run", trials()), store(tmp_path / "later", [*trials(), *trials(dataset="human")])
    found = recorded.additions([cells.read(first), cells.read(later)])
    assert found == ["human: of the run `later`, on the same machine at another time."]
    found = recorded.additions([cells.read(later), cells.read(first)])
    assert found == ["sequential: of the run `run`, on the same machine at another time."]


def test_numbers_of_unstable_times_are_marked_and_written_only_if_that_is_said(page, tmp_path, capsys):
    path = page(TABLE)
    before, stable = path.read_text(), lines(path)
    rows = [json.loads(line) for line in (tmp_path / "run" / "trials.jsonl").read_text().splitlines()]
    store(
        tmp_path / "run", [{k: v for k, v in row.items() if k != "sum"} | {"others": 1.5} for row in rows], {"cores": 2}
    )
    code, _, err = call(capsys, "report", "--into", path)
    assert (code, path.read_text()) == (2, before)
    assert "page.md, line 3: 1 block with numbers of unstable times" in err
    assert call(capsys, "report", "--into", path, "--unstable")[0] == 0
    *found, note = lines(path)
    assert note == "- † unstable: measure again on a quiet machine."
    assert found[2] == "| kegg | 4.02† | 0.251† | 16.0×† | 0.20×† |"
    assert [line.replace("†", "") for line in found] == stable
    assert call(capsys, "report", "--into", path, "--check")[0] == 0
    for form in ("markdown", "latex"):
        text = call(capsys, "report", tmp_path / "run", "--format", form)[1]
        assert {"markdown": "4.02†", "latex": "4.02\\dag{}"}[form] in text


def test_numbers_of_too_few_trials_are_marked_and_written_and_an_unstable_part_is_the_worse(page, tmp_path, capsys):
    table = TABLE.replace('"human", ', "")
    path, device = page(table), {"impl": "gpu-fused", "search": None, "filters": "level,tree"}
    parts = {"parts": {("label", "on_device"): 0.25}, "apart": {"ready": 40.0}}
    few = [*trials(label=4.0, count=3, planned=3, apart={"ready": 8.0}), *enough(label=1.0, **device, **parts)]
    store(tmp_path / "run", few)
    assert call(capsys, "report", "--into", path)[0] == 0, "they are not refused"
    said = "- ‡ fewer than ten trials: too few to judge."
    assert lines(path)[1:] == ["| kegg | 4.04‡ | 0.251 | 16.1×‡ | 0.20×‡ |", said]
    text = call(capsys, "report", tmp_path / "run", "--format", "latex")[1]
    assert "4.04\\ddag{}" in text
    described(path, 'run = "run"\nsay = "It takes {a}."\ncolumns = {a = "sequential label"}\n')
    assert made(path) == "It takes 4.04‡. (‡ fewer than ten trials)"
    described(path, f'run = "run"\n{table}')
    busy = [row | {"others": 1.5} if row["impl"] == "gpu-fused" else row for row in few]
    store(tmp_path / "run", busy, {"cores": 2})
    *_, found, unstable, scarce = lines(path)
    assert found == "| kegg | 4.04‡ | 0.251† | 16.1×† | 0.20×† |"
    assert (unstable[:3], scarce[:3]) == ("- †", "- ‡")


def test_records_are_drawn_as_bars_of_their_parts(tmp_path, capsys):
    rows = [
        {"name": "one", "left": 3, "right": 1, "some_bytes": 2048},
        {"name": "two", "left": 0, "right": 4, "some_bytes": 0},
    ]
    (tmp_path / "kept.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    path = tmp_path / "page.md"
    columns = '"graph" = "name"\n"on the left" = "left"\n"on the right" = "right"\n"size" = "some_bytes"\n'
    words = 'records = "kept.jsonl"\nfigure = "bars"\ntitle = "Bars"\ncaption = "How to read them."\n'
    path.write_text("<!-- grailbench it -->\n<!-- end -->\n")
    described(path, f"{words}[columns]\n{columns}")
    assert call(capsys, "report", "--into", path)[0] == 0
    assert made(path) == "![Bars](bars.svg)"
    text = (tmp_path / "bars.svg").read_text()
    for said in ("one, on the left: 3", "two, on the right: 4", "75%", "2 KiB", "0 B", "How to read them."):
        assert said in text
    assert "two, on the left" not in text
    assert call(capsys, "report", "--into", path, "--check")[0] == 0
    (tmp_path / "kept.jsonl").write_text(json.dumps(rows[0] | {"left": 4}) + "\n")
    assert call(capsys, "report", "--into", path, "--check")[0] == 1


def test_records_of_names_series_and_numbers_are_drawn_as_marks(tmp_path, capsys):
    rows = [{"graph": "kegg", "what": "kernel", "ms": 2.5}, {"graph": "kegg", "what": "call", "ms": 3.0}]
    (tmp_path / "kept.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    path = tmp_path / "page.md"
    path.write_text("<!-- grailbench it -->\n<!-- end -->\n")
    columns = '[columns]\n"graph" = "graph"\n"what" = "what"\n"ms" = "ms"\n'
    described(path, f'records = "kept.jsonl"\nfigure = "marks"\ntitle = "Marks"\naxis = "of a call"\n{columns}')
    assert call(capsys, "report", "--into", path)[0] == 0
    text = (tmp_path / "marks.svg").read_text()
    for said in ("kegg, kernel: 2.50", "kegg, call: 3.00", "of a call"):
        assert said in text


def test_claims_are_drawn_as_shares_of_verdicts_by_print_and_by_each_run(tmp_path, capsys):
    path = tmp_path / "page.md"
    path.write_text("<!-- grailbench it -->\n<!-- end -->\n")
    for name in ("one", "two"):
        store(tmp_path / name, [*trials(query=4.0), *unguided(query=8.0)])
    described(path, 'run = ["one", "two"]\ntable = "claims-thesis"\nfigure = "claims"\ntitle = "Claims"\n')
    assert call(capsys, "report", "--into", path)[0] == 0
    text = (tmp_path / "claims.svg").read_text()
    for said in ("the paper's own tables, not confirmed: 16", "one, confirmed: 2", "two, cannot be told: 58"):
        assert said in text
    described(path, 'run = "one"\ntable = "2.4"\nfigure = "claims"\n')
    with pytest.raises(InputError, match="one of a paper's claims"):
        _ = Page(path).renewed


def test_a_figure_lies_beside_the_page_and_is_held_to_its_data(page, capsys):
    words = 'figure = "label"\ntitle = "Labels <x>"\ncaption = "How to read it."\naxis = "ms"\n'
    path = page(words + TABLE)
    assert call(capsys, "report", "--into", path, "--check")[0] == 1
    assert call(capsys, "report", "--into", path)[0] == 0
    drawing = path.with_name("label.svg")
    text = drawing.read_text()
    assert "it -->\n![Labels <x>](label.svg)\n<!-- end -->" in path.read_text()
    assert "Labels &lt;x&gt;" in text
    assert "How to read it." in text
    assert "human, device alone: 18.0×" in text
    assert call(capsys, "report", "--into", path, "--check")[0] == 0
    for other in (text.replace("<!-- data ", "<!-- data 0"), ""):
        drawing.write_text(other)
        assert call(capsys, "report", "--into", path, "--check")[0] == 1
        assert call(capsys, "report", "--into", path)[0] == 0
        assert drawing.read_text() == text


def test_marks_of_few_trials_are_open_as_those_of_unstable_times_and_the_caption_says_so(page, tmp_path):
    """They were drawn as all others."""
    path = page('figure = "label"\ntitle = "Labels"\ncaption = "A."\naxis = "ms"\n[columns]\nx = "sequential label"')
    for rows, state in ((enough(label=4.0), False), (trials(count=2, label=4.0), True),
                        (trials(count=30, planned=30, slower=0.02, label=4.0), True)):  # fmt: skip
        store(tmp_path / "run", rows)
        drawn = Page(path, unstable=True)
        assert drawn.renewed
        (figure,) = drawn.figures.values()
        assert [mark.open for mark in figure.form.panels[0].items] == [state]
        assert ("Open marks" in figure.caption) == state


def test_a_figure_of_unstable_times_is_written_only_if_that_is_said(page, tmp_path):
    """Tables were refused, figures were not."""
    path = page('figure = "label"\ntitle = "Labels"\ncaption = "A."\naxis = "ms"\n[columns]\nx = "sequential label"')
    store(tmp_path / "run", trials(count=2, label=4.0))
    assert Page(path).write()
    store(tmp_path / "run", trials(count=30, planned=30, slower=0.02, label=4.0))
    with pytest.raises(InputError, match="1 block with numbers of unstable times"):
        Page(path).write()
    assert Page(path, unstable=True).write()


def test_the_floor_from_edges_is_the_bus_or_the_devices_memory(page, tmp_path):
    gpu = {"impl": "gpu-fused", "search": None, "filters": "level,tree,hubs", "raw_edges": 500_000}
    rows = trials(count=1, apart={"ready": 8.0}, vertices=2_000_001, edges=1_000_000, roots=100_000, **gpu)
    store(tmp_path / "run", rows)
    transfer = {"what": "transfer", "variant": "to device, pinned"}
    limits = [{"what": "copy", "bytes": 1, "median": 1000.0}, {"what": "gather", "bytes": 4, "median": 9.0},
              transfer | {"bytes": 4096, "median": 0.1}, transfer | {"bytes": 1 << 30, "median": 50.0}]  # fmt: skip
    path = page('limits = "limits"\n[columns]\nfloor = "gpu-fused floor"\nx = "gpu-fused ready / floor"\n')

    def floor_with(copy):
        (tmp_path / "limits").mkdir(exist_ok=True)
        document = {"gpu": {"measurements": [limits[0] | {"median": copy}, *limits[1:]]}}
        (tmp_path / "limits" / "limits.json").write_text(json.dumps(document))
        return lines(path)[1]

    assert floor_with(1000.0) == "| kegg | 0.0840 | 95.2×‡ |"  # 16 of 0.5 M, 12 of 1 M, and 32 of 2 M
    assert floor_with(4000.0) == "| kegg | 0.0800 | 100×‡ |"  # 8 of 0.5 M on the bus
    with pytest.raises(InputError, match="no ceilings of a GPU"):
        made(page('[columns]\nfloor = "gpu-fused floor"'))


@pytest.mark.parametrize("text", ["# Page\n", "```\n<!-- grailbench x -->\n<!-- end -->\n```\n"])
def test_a_page_without_a_block_is_an_error_whatever_its_code_shows(tmp_path, text):
    (tmp_path / "page.md").write_text(text)
    with pytest.raises(InputError, match="no marked block"):
        _ = Page(tmp_path / "page.md").renewed


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "page.toml: there is no such file"),
        ("[it", "page.toml: not TOML"),
        ("[other]", "page.md: it, other: only in one of the page and page.toml"),
    ],
)
def test_the_file_beside_a_page_has_its_blocks_and_no_others(page, text, said):
    path = page(TABLE)
    path.with_suffix(".toml").unlink() if text is None else path.with_suffix(".toml").write_text(text)
    with pytest.raises(InputError, match=re.escape(said)):
        _ = Page(path).renewed


def test_the_command_writes_a_page_and_checks_it(page, capsys):
    path = page(TABLE)
    tells(capsys, 1, "not what the runs say", "report", "--into", path, "--check")
    assert "old" in path.read_text()
    assert call(capsys, "report", "--into", path)[0] == 0
    good = path.read_text()
    assert good.startswith("# Page\n\n<!-- grailbench it -->\n")
    assert good.endswith("<!-- end -->\n\nEnd.\n")
    assert call(capsys, "report", "--into", path, "--check")[0] == 0
    path.write_text(good.replace("| kegg | 4.02", "| kegg | 4.03"))
    assert call(capsys, "report", "--into", path, "--check")[0] == 1
    assert call(capsys, "report", "--into", path)[0] == 0
    assert path.read_text() == good


def test_the_page_says_which_run_so_the_command_takes_none(page, capsys):
    tells(capsys, 2, "--into goes without RUN and --json", "report", "some-run", "--into", page(TABLE), "--json")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Value(0.0034, "x"), "0.003×"), (Value(0.0634, "x"), "0.063×"),
        (Value(1383.4, "x"), "1,383×"), (Value(99.94, "x"), "100×"),
        (Value(12.34, "ms"), "12.3"), (Value(48.0, ""), "48"), (Value(2.5e6, "bytes"), "2.5 MB"),
        (Value(3.39e10, "/s"), "33.9 G/s"),
    ],
)  # fmt: skip
def test_values_are_words_with_three_digits(value, text):
    assert str(value) == text


def test_records_beside_a_page_are_a_table(tmp_path):
    rows = [
        {"part": "one", "what": "reaches | x", "pairs": 100_000, "ns": 251.4},
        {"part": "many", "what": "all", "pairs": 7, "ns": None},
        {"part": "one", "what": "query", "pairs": 1_000, "ns": 0.0123},
    ]
    (tmp_path / "costs.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    path = tmp_path / "page.md"
    body = 'records = "costs.jsonl"\nwhere = {part = "one"}\n[columns]\n"" = "what"\npairs = "pairs"\n"ns" = "ns"\n'
    path.write_text("<!-- grailbench it -->\n<!-- end -->\n")
    described(path, body)
    assert made(path).splitlines() == [
        "|  | pairs | ns |", "| --- | ---: | ---: |", "| reaches \\| x | 100,000 | 251 |", "| query | 1,000 | 0.0123 |",
    ]  # fmt: skip
    described(path, body.replace('"ns"\n', '"us"\n'))
    with pytest.raises(InputError, match=r"costs.jsonl: a record without 'us'"):
        _ = Page(path).renewed
    (tmp_path / "costs.jsonl").unlink()
    with pytest.raises(InputError, match=r"costs.jsonl: cannot be read"):
        _ = Page(path).renewed


def test_times_of_a_record_that_is_unstable_or_of_few_are_marked_and_its_counts_are_not(tmp_path):
    rows = [
        {"what": "a", "pairs": 7, "ms": 1.5, "unstable": True},
        {"what": "b", "pairs": 7, "ms": 1.5, "unstable": False},
        {"what": "c", "pairs": 7, "ms": 1.5, "few": True},
    ]
    (tmp_path / "costs.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    path = tmp_path / "page.md"
    path.write_text("<!-- grailbench it -->\n<!-- end -->\n")
    described(path, 'records = "costs.jsonl"\n[columns]\n"" = "what"\npairs = "pairs"\n"ms" = "ms"\n')
    assert lines(path)[1:4] == ["| a | 7 | 1.50† |", "| b | 7 | 1.50 |", "| c | 7 | 1.50‡ |"]
    with pytest.raises(InputError, match="1 block with numbers of unstable times"):
        Page(path).write()


def test_rounds_that_drift_are_unstable_and_few_or_steady_ones_are_not():
    assert varies([4.0] * 10 + [6.0] * 10)
    assert not varies([4.0, 6.0])
    assert not varies([4.0 + 0.001 * (i % 3) for i in range(20)])


def test_no_claim_of_the_readme_rests_on_unstable_times_or_few_trials():
    """Its table may have marked cells; a sentence is what people quote."""
    blocks = re.findall(r"<!-- grailbench \S+ -->\n(.*?)<!-- end -->", (ROOT / "README.md").read_text(), re.DOTALL)
    sentences = [block for block in blocks if "×" in block and not block.startswith("|")]
    assert len(sentences) >= 3
    assert not [sentence for sentence in sentences if re.search("[†‡]", sentence)]
