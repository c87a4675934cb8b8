"""Names that attack, from every file, folder and option that gives one, in everything that is printed or written."""

import csv
import json
import re
import subprocess
from io import StringIO

import attacks
import click
import pandas
import pytest
from attacks import ATTACKS, EVERY, file_name
from commands import PATIENCE, call, call_apart, ended, in_a_terminal, in_python
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from grailbench.cli import options
from grailbench.cli.main import COMMANDS, cli
from grailbench.report.render import csv as csv_of
from grailbench.report.render import markdown as markdown_of
from grailbench.util.screen import Grid, put
from grailbench.util.visible import quoted, visible

TEXTS = st.text(max_size=30) | st.sampled_from([*ATTACKS.values(), EVERY])

# ------------------------------------------------------------------ names of nothing

NOTHING = ("program:nothing", "program:", "peer:nothing", "peer:", "", ".", "/", "..", "a/b", "../x", "x" * 300,
           "nothing.toml")  # fmt: skip
#: the commands whose names are looked up and nothing is run, with what else they need
LOOKED_UP = {
    "info": (), "plan": ("--impl", "dfs"), "profile": (), "verify": (), "export": ("path-4", "out"), "advise": (),
    "ask": (), "build": ("--out", "out"), "compare": ("../../runs",), "report": (), "plot": (), "pack": (), "cite": (),
    "fetch": (), "generate": (), "forget": (),
}  # fmt: skip
NAMES = {
    options.ANY, options.CONFIG, options.FETCHED, options.GRAPH, options.GRAPH_OR_FILE,
    options.IMPLEMENTATION, options.LOOK_ALIKE, options.STORED,
    options.PROBLEM, options.RUN, options.SET, options.SETS, options.TABLE,
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("command", LOOKED_UP)
def test_a_name_of_nothing_is_one_error_wherever_a_name_is_given(command, capsys, tmp_path, monkeypatch):
    """`compare .` ended in a traceback, and an empty name was that of the only run."""
    (tmp_path / "above" / "here").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "above" / "here")  # '..' is a folder with nothing to read
    (tmp_path / "runs" / "only").mkdir(parents=True)
    (tmp_path / "runs" / "only" / "plan.json").touch()
    monkeypatch.setattr("grailbench.util.paths.runs_dir", lambda: tmp_path / "runs")
    found = cli.get_command(click.Context(cli), command)
    tried = [each for each in found.params if each.type in NAMES]
    assert tried
    for each in tried:
        for name in NOTHING:
            words = [name] if isinstance(each, click.Argument) else [f"{each.opts[0]}={name}"]
            code, out, err = call(capsys, command, *words, *LOOKED_UP[command])
            errors = [line for line in err.splitlines() if line.startswith("error: ")]
            assert (code, len(errors), "Traceback" in err) == (2, 1, False), (words, out, err)


# ------------------------------------------------------------------ the scanners see what they are for


@pytest.mark.parametrize(
    ("scanner", "attack"),
    [
        *((attacks.terminal, ATTACKS[name]) for name in ("terminal", "lines", "bidi", "unseen", "spaces", "marks")),
        (attacks.terminal, "\x9b"), (attacks.terminal, "\udcff"),
        *((attacks.table, f'a,b\n1,"{text}"\n') for text in ("=1", "@x", "-x", "+x", "a;=1", "\t=1", " =1", "\uff1d1")),
        (attacks.table, "a,b\n1\n"),
        (attacks.page, "<p>\u202e</p>"), (attacks.page, '<p title="\u200b"></p>'), (attacks.page, "<img src=x>"),
        (attacks.page, "<p onclick=x></p>"), (attacks.page, '<a href="javascript:x">'), (attacks.page, "<!-- x -->"),
        (attacks.page, '<a href="//evil.invalid">'), (attacks.page, "<script>alert(1)</script>"),
        (attacks.drawing, "<svg><script/></svg>"), (attacks.drawing, "<svg onload='x'/>"),
        (attacks.drawing, "<svg>\x1b"),
        (attacks.drawing, "<svg><a href='javascript:x'/></svg>"), (attacks.drawing, "<svg><text>\u202e</text></svg>"),
        (attacks.markdown, "<b>x</b>"), (attacks.markdown, "[a](http://b)"), (attacks.markdown, "- *x*"),
        (attacks.markdown, "| a | b |\n| --- | --- |\n| c |\n"), (attacks.markdown, "![a](b)"),
        (attacks.markdown, "1. a"), (attacks.markdown, "<!-- a -->x\u200b"), (attacks.markdown, "[a]\n\n[a]: http://b"),
        (attacks.latex, "\\input{x}"), (attacks.latex, "a % b"), (attacks.latex, "é"),
        (attacks.json_lines, "{"), (attacks.json_lines, '"é"'),
    ],
)  # fmt: skip
def test_a_scanner_sees_an_attack(scanner, attack):
    assert scanner(attack)


# ------------------------------------------------------------------ what shows names


@given(TEXTS)
def test_what_is_visible_hides_nothing_and_stays(text):
    shown = visible(text)
    assert attacks.terminal(shown, keep="") == []
    assert visible(shown) == shown
    shown.encode()


def test_letters_of_all_scripts_are_shown_and_hidden_ones_by_their_numbers():
    for text in ("שלום", "مرحبا", "日本語", "Ünïcödé é", "e\u0301", "हिन्दी", "ภาษาไทยที่", "👩😀", "a\\b"):
        assert visible(text) == text
    assert visible("a\x1b\n\x9b\u202e\U000e0041\udcff") == "a\\x1b\\n\\x9b\\u202e\\U000e0041\\udcff"
    assert visible("\u0301'\u0301a" + "\u0301" * 8) == "\\u0301'\\u0301a" + "\u0301" * 6 + "\\u0301" * 2
    assert visible("a\nb\tc\x1b", "\n\t") == "a\nb\tc\\x1b"


@given(TEXTS)
def test_no_cell_of_csv_is_a_formula_and_the_name_comes_back(text):
    cell = csv_of.plain(text)
    assert csv_of.exact(cell) == text.encode("utf-8", "backslashreplace").decode()
    quoted_cell = '"' + cell.replace('"', '""') + '"'
    assert attacks.table(f"a\n{quoted_cell}\n") == []


@pytest.mark.parametrize("name", ["a\rb", "=1\r\n=2", "\r"])
def test_a_return_in_a_name_ends_no_line_of_csv(name):
    frame = pandas.DataFrame({"a": [name, None], "b": [1.5, None], name: [1, 2]})
    for text in (csv_of.of_frame(frame), "a,b,c\n" + csv_of.line([name, 1, None])):
        assert attacks.table(text) == []
        assert csv_of.exact(list(csv.reader(StringIO(text, newline="")))[1][0]) == name


@given(TEXTS)
def test_no_name_is_markup_in_markdown(text):
    cell, note = markdown_of.text(text), markdown_of.paragraph(text)
    page = f"## {cell}\n\n| a | b |\n| --- | --- |\n| {cell} | {cell} |\n\n- {note}\n- x {cell}\n"
    assert attacks.markdown(page) == []


@given(TEXTS, TEXTS)
def test_a_line_of_a_table_is_a_line(name, other):
    out = StringIO()
    put([Grid(name, ["a", other], [[name, other]] * 2), f"said of {name}"], Console(file=out, width=100_000))
    assert attacks.terminal(out.getvalue()) == []
    assert out.getvalue().count("\n") <= 8


def test_a_shell_makes_the_very_word_of_what_is_quoted():
    names = [
        name.replace("\0", "") for name in (*ATTACKS.values(), EVERY, "a'b\\c\x1b", "\udcff\udcfea", "$(id)", "`id`")
    ]
    words = " ".join(map(quoted, names))
    assert attacks.hidden(words) == []
    done = subprocess.run(["bash", "-c", f"printf '%s\\0' {words}"], capture_output=True, timeout=PATIENCE)
    assert done.stdout == b"".join(name.encode("utf-8", "surrogateescape") + b"\0" for name in names)


# ------------------------------------------------------------------ commands

NAME = file_name(ATTACKS["formula"] + ATTACKS["terminal"] + ATTACKS["lines"] + ATTACKS["bidi"] + "<img src=x>|`")
ID = (ATTACKS["bidi"] + ATTACKS["terminal"] + ATTACKS["markup"] + "=1").replace("\r", "").replace("\x85", "")


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A folder in which all is called by hostile names, with a cache of its own: stored runs, a graph `ids` with
    hostile ids, and a run of it."""
    root = tmp_path_factory.mktemp("names")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        patch.setenv("GRAILBENCH_CACHE", str(root / "cache"))
        patch.setenv("GRAILBENCH_MIRROR", f"/nowhere/{NAME}")
        attacks.run(root / NAME, EVERY)
        attacks.run(root / "other", ATTACKS["formula"], fingerprint=EVERY)
        (root / f"{NAME}.edges").write_text("0 1\n1 2\n2 3\n")
        (root / f"{NAME}.bad").write_text(f"0 1\n1 {EVERY.replace(chr(10), '')}\n", "utf-8", "surrogatepass")
        with open(root / "ids.csv", "w", newline="") as file:
            csv.writer(file).writerows([("source", "target"), (ID, f"+{ID}"), (f"+{ID}", "c")])
        text = json.dumps(EVERY, ensure_ascii=False).replace("\x7f", "")
        experiment = "[[experiment]]\ndatasets = ['ids']\nimplementations = ['dfs']\ntrials = 1\nwarmup = 0\n"
        (root / f"{NAME}.toml").write_text(f"name = {text}\n{experiment}", "utf-8")
        (root / f"{NAME}-said.toml").write_text(f"name = 'said'\ndescription = {text}\n{experiment}", "utf-8")
        program = "command = ['false']\n[graph]\nformat = 'edges'\n"
        (root / f"{NAME}-program.toml").write_text(f"about = {text}\nsource = {text}\n{program}", "utf-8")
        (root / f"{NAME}.md").write_text(f"<!-- grailbench\nrun = {json.dumps(NAME)}\n-->\n<!-- end -->\n")
        assert ended("import", "ids.csv", "--name", "ids") == 0
        words = ("--dataset", "ids", "--impl", "dfs", "--trials", 1, "--count", 9, "--out", f"{NAME}-run")
        assert ended("run", *words) == 0
        imported = root / "cache" / "imported"
        (imported / f"{NAME}.npz").write_bytes(b"no archive")
        (imported / f"x$(id){NAME[:40]}.npz").write_bytes(b"no archive")
        yield root


#: command -> calls of it; N is the hostile name, R a run of that name. What begins with + is right usage and works
CALLS = {
    "fetch": ["N", "--set N"],
    "import": ["N --name x", "N.bad --name x", "N.edges", "N.edges --name N", "+ ids.csv --name ids --replace",
               "+ N.edges --name plain --json", "+ N.edges --name plain --replace"],
    "forget": ["N", "N --json"],
    "export": ["N out/x.edges", "+ ids data/N.csv --format edges", "+ ids data/N.edges --json", "N/x y.csv"],
    "generate": ["N", "random --vertices 9 --degree 2 --name N"],
    "list": ["+ datasets", "+ datasets --json", "+ runs", "+ configs", "+ implementations"],
    "info": ["N", "+ R", "+ R --json", "+ ids", "N-program.toml", "N.npz", "+ N-run"],
    "profile": ["N", "+ ids --out out/N --format svg"],
    "build": ["N --out out/x", "+ ids --out out/N.index", "+ ids --out out/N.index --json", "ids --impl N --out out/x"],
    "ask": ["N 0 1", "ids N c", "+ ids c c --json", "ids --descendants N", "ids --pairs N.bad", "+ ids c c --path",
            "+ ids --count --json", "ids c c --index N.bad", "ids c c --impl N", "+ ids --ancestors c --json"],
    "plan": ["+ --config N-said.toml", "--config N.toml", "--config N", "--dataset N", "--dataset ids --impl N",
             "+ --config N-said.toml --json",
             "--dataset ids --impl N-program.toml"],
    "run": ["--config N.toml --out out/x", "+ --config N-said.toml --count 9 --out out/N", "--dataset N", "--resume N",
            "--resume R", "--dataset ids --queries N.bad --impl dfs",
            "--dataset ids --impl N-program.toml --count 9 --out out/fails"],
    "verify": ["--dataset N", "--config N", "+ --dataset ids --impl dfs --count 9"],
    "cluster": ["--dataset N"],
    "limits": ["--out N.edges/x --quick --only N", "--only N"],
    "report": ["+ R --details --counters --html=out/N.html --out out", "+ R --format latex --out out", "+ R --json",
               "+ R --all --format markdown",
               "N/x", "R --table N", "--into N.md", "R --reference N --html=out/y.html", "R --machine N"],
    "plot": ["+ R --out out/plots --figure edges --format svg", "R --figure N"],
    "site": ["+ out/site R other", "N.edges", "out/s N/x"],
    "compare": ["+ R R --all", "+ R other", "+ R other --all --format markdown", "+ R other --format json", "N/x R"],
    "history": ["+ R other --out out/history --html=out/h.html", "+ R other --format markdown", "N/x R", "R --impl N"],
    "ab": ["N N"],
    "advise": ["N", "ids --impl N"],
    "record": ["R N", "N/x y", "other ../N"],
    "pack": ["+ N-run --out out/N.grailbench.tar.gz", "--check N.bad", "R --out out/y", "N-run --out N.edges/x"],
    "cache": ["+ --list", "+ --json", "+ --prune --dry-run", "--list N"],
    "cite": ["+ R", "+ R --format text", "+ R --format json", "N/x", "+ N-run --format text"],
    "warmup": ["N", "--jobs N", "--jobs 0"],
    "completion": ["+ bash", "N"],
}  # fmt: skip
FORMS = {"--json": "json", "--format json": "json", "--format markdown": "markdown"}


def test_every_command_is_called_with_hostile_names():
    assert set(CALLS) == set(COMMANDS)


def words_of(line):
    """The words of a call."""
    place = {"N": NAME, "R": f"./{NAME}"}
    words = [place.get(word, word) for word in line.removeprefix("+ ").split()]
    return [re.sub(r"(^|/|=)N(?=[./-]|$)", lambda found: found[1] + NAME, word) if NAME not in word else word
            for word in words]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("command", list(CALLS))
def test_no_name_attacks_in_what_a_command_says_or_writes(world, capsys, command):
    found = {}
    for line in CALLS[command]:
        code, out, err = call(capsys, command, *words_of(line))
        form = next((form for flag, form in FORMS.items() if flag in line), "terminal")
        wrong = attacks.terminal(err)
        if form == "json":
            wrong += [each for record in out.splitlines() for each in attacks.json_lines(record)]
        elif form == "markdown":
            wrong += attacks.markdown(out)
        else:
            wrong += attacks.terminal(out)
        wrong += [f"exit code {code}"] * (code not in ((0, 1, 3) if line[0] == "+" else (0, 1, 2, 3, 4)))
        wrong += ["more than one error"] * (code == 2 and err.count("\nerror:") + err.startswith("error:") != 1)
        if wrong:
            found[line] = wrong, err[-300:]
    assert found | attacks.files(world / "out") == {}


@pytest.mark.slow
def test_json_has_the_very_names(world, capsys):
    for line in (["report", NAME, "--json", "--out", "j"], ["cite", NAME, "--format", "json"], ["info", NAME, "--json"],
                 ["compare", NAME, "other", "--format", "json"]):  # fmt: skip
        _, out, _ = call(capsys, line[0], *(f"./{word}" if word == NAME else word for word in line[1:]))
        assert attacks.json_lines(out, EVERY if line[0] != "compare" else ATTACKS["formula"]) == [], line


def test_names_that_a_shell_takes_for_more_are_not_completed(world):
    ctx = click.Context(cli)
    param = click.Argument(["graph"], type=options.GRAPH)
    found = [item.value for item in options.GRAPH.shell_complete(ctx, param, "")]
    assert {"ids", "kegg"} <= {*found}
    assert [name for name in found if visible(name) != name or "$" in name or "|" in name] == []


# ------------------------------------------------------------------ in processes of their own


def test_a_folder_whose_name_is_no_text_gives_one_line(world):
    """Bytes that no encoding has, which Python holds as surrogates."""
    code, out, err = call_apart("report", b"\xff\x9b31m\n\x1b]0;x\x07".decode("utf-8", "surrogateescape"))
    assert (code, out) == (2, "")
    assert attacks.terminal(err) == []
    assert err.count("\n") == 1
    assert "\\udcff" in err


def test_what_libraries_print_is_filtered_and_bytes_are_not():
    lines = (r"import sys, warnings", "from grailbench.cli.streams import guarded", "with guarded():",
             r"    warnings.warn('\x1b[2J\u202e')", r"    print('a\x9b\tb\x1b', flush=True)",
             r"    sys.stdout.buffer.write(b'\x07')")  # fmt: skip
    code, said = in_python("\n".join(lines))
    assert code == 0
    assert "UserWarning: \\x1b[2J\\u202e" in said
    assert "a\\x9b\tb\\x1b\n\x07" in said


def test_answers_are_exact_in_a_pipe_and_seen_in_a_terminal(world, capfdbinary):
    words = ["ask", "ids", "--ancestors", "c"]
    assert ID.encode() in call(capfdbinary, *words)[1]
    code, said = in_a_terminal(*words, cwd=world)
    assert code == 0
    assert attacks.terminal(said) == []
    assert visible(ID) in said


# ------------------------------------------------------------------ in a browser


def test_no_page_runs_what_a_name_says(world, browser, capsys):
    site, report = world / "out" / "site", world / "out" / f"{NAME}.html"
    if not site.is_dir():
        call(capsys, "site", site, f"./{NAME}", "other")
    if not report.is_file():
        call(capsys, "report", f"./{NAME}", f"--html={report}", "--out", "out")
    browser.window(1280)
    pages = [report, site / "index.html", *(site / "runs").glob("*.html")]
    for path in pages:
        browser.open(path)
        browser.run("new Promise((done) => setTimeout(done, 50))")
        assert (browser.errors, len(browser.requests)) == ([], 1), path
        assert browser.run("document.querySelectorAll('img, iframe, object, [onload], [onerror]').length") == 0
        assert attacks.hidden(browser.run("document.body.innerText"), "\n\t") == []
