"""Reads graph languages: DOT by a grammar for lark, GML, GraphML and GEXF by the standard library, OBO.

Every node is a vertex, and undirected edges give both directions. Attributes are ignored. Several graphs in one file
are read as one, which is noted: nodes of one name are one.

DOT: a subgraph at an end of an edge stands for its nodes; ports are ignored. GML: nodes are named by their labels if
each has one of its own, else by their ids. GraphML and GEXF: nodes are named by their ids; nodes and edges inside a
node, as yEd writes groups, are read with those around it, and the group is a vertex too; hyperedges are refused.

OBO: an edge goes from a term to the term that it is related to, from child to parent for is_a. The vertices are all
terms that are not obsolete, and those that edges lead to, which another file may define.
"""

import html
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import pairwise, product
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import numpy as np

from grailbench.errors import InputError
from grailbench.graph.readers.cells import decoded, found_of, needed, parsing
from grailbench.graph.readers.gather import Gathered, by_label, counted
from grailbench.graph.readers.text import Found
from grailbench.util.files import REFETCH, Bytes
from grailbench.util.words import count, did_you_mean

# ---------------------------------------------------------------------------------------- DOT


_QUOTED, _HTML = r'"(?:[^"\\]++|\\.)*+"', r"<(?:[^<>]++|<(?:[^<>]++|<[^<>]*+>)*+>)*+>"
# all but the other ASCII characters: a range of a million takes half a second to compile where case is ignored
_LETTER = r"[^\x00-\x2f\x3a-\x40\x5b-\x5e\x60\x7b-\x7f]"
_KEYWORDS = rf"(?i:graph|digraph|node|edge|subgraph|strict)(?!{_LETTER})"
_ID = rf"(?>(?!{_KEYWORDS})[A-Za-z_\x80-\U0010ffff]{_LETTER}*|-?(?:\.\d+|\d+(?:\.\d*)?)|{_QUOTED}|{_HTML})"
_ASIDES = r"\/\/[^\n]*+|\/\*.*?\*\/|#[^\n]*+"
_NODE, _BETWEEN = rf"{_ID}(?:\s*+:\s*+{_ID})*+", rf"(?:\s++|{_ASIDES})*+"
_ATTRIBUTES = rf"\[(?:{_QUOTED}|{_HTML}|\/\/[^\n]*+|\/\*.*?\*\/|(?<=\s)#[^\n]*+|[^\]\"<\/#]++|\/(?![*\/])|#)*+\]"
# in attributes #ff0000 is a colour, and a comment only after a blank
#: a node or edges between nodes, and what parts it from the next; no subgraph, list, joined name or assignment
_STATEMENT = (
    rf"{_NODE}(?:\s*+(?:->|--)\s*+{_NODE})*+(?!{_BETWEEN}(?:->|--|[:=,+]))(?:{_BETWEEN}(?:{_ATTRIBUTES}|;))*+{_BETWEEN}"
)
_PART = re.compile(rf"(?:(->|--)\s*+)?({_ID})(?:\s*+:\s*+{_ID})*+|{_ATTRIBUTES}|{_ASIDES}", re.DOTALL)
_DOT = (
    r"""
start: graph+
graph: STRICT? (DIGRAPH | GRAPH) name? "{" statements "}"
statements: (PLAIN | statement)*
?statement: name "=" name END* -> assignment
          | (GRAPH | NODE | EDGE) END+ -> assignment
          | point (OPERATOR point)* END* -> chain
point: item ("," item)*
?item: name port? -> node
     | (SUBGRAPH name?)? "{" statements "}" -> subgraph
port: (":" name)+
name: NAME | NUMBER | QUOTED ("+" QUOTED)* | HTML

PLAIN.3: /(?:@STATEMENT@)+/s
END.1: /\s*+/ (ATTRIBUTES+ ";"? | ";") /\s*+/
ATTRIBUTES: /@ATTRIBUTES@\s*+/s
OPERATOR.1: /\s*+(?:->|--)\s*+/
STRICT.2: /strict(?!@LETTER@)/i
DIGRAPH.2: /digraph(?!@LETTER@)/i
GRAPH.2: /graph(?!@LETTER@)/i
NODE.2: /node(?!@LETTER@)/i
EDGE.2: /edge(?!@LETTER@)/i
SUBGRAPH.2: /subgraph(?!@LETTER@)/i
NAME: /[A-Za-z_\x80-\U0010ffff]@LETTER@*+/
NUMBER: /-?(?:\.\d+|\d+(?:\.\d*)?)/
QUOTED: /@QUOTED@/s
HTML: /@HTML@/
COMMENT: /@ASIDES@/s
%ignore /\s+/
%ignore COMMENT
""".replace("@STATEMENT@", _STATEMENT)
    .replace("@ATTRIBUTES@", _ATTRIBUTES)
    .replace("@ASIDES@", _ASIDES)
    .replace("@QUOTED@", _QUOTED)
    .replace("@HTML@", _HTML)
    .replace("@LETTER@", _LETTER)
)
#: an attribute in a list and its value
_VALUE = re.compile(rf"({_ID})\s*+=\s*+({_QUOTED}(?:\s*\+\s*{_QUOTED})*+|{_ID})|{_QUOTED}|{_ASIDES}", re.DOTALL)
_STRING = re.compile(_QUOTED, re.DOTALL)
_ESCAPES = re.compile(r'\\("|\r?\n)')  # what a backslash changes in a quoted name


@cache
def _dot_parser():
    return needed("lark", "DOT").Lark(_DOT, parser="lalr")


@dataclass
class _Scope:
    """A graph or subgraph: its nodes, in their order, the subgraphs in it that have a name, which may be opened again,
    and the kind of edges that do not say theirs."""

    nodes: dict[str, None] = field(default_factory=dict)
    named: dict[str, "_Scope"] = field(default_factory=dict)
    usual: str | None = None


class _Dot:
    """Collects the nodes and edges of the tree that the grammar makes of a file."""

    def __init__(self, kind: str | None):
        self.gathered, self.graphs = Gathered(kind), 0
        self.kind, self.operator = "", ""  # of the graph that is read: 'digraph' and '->'

    def graph(self, tree) -> None:
        """One graph of the file. Raises InputError if an edge is not of its kind."""
        self.graphs += 1
        self.kind = next(part.lower() for part in tree.children if getattr(part, "type", "") in ("GRAPH", "DIGRAPH"))
        self.operator = "->" if self.kind == "digraph" else "--"
        self._statements(tree.children[-1], _Scope())

    def _statements(self, tree, scope: _Scope) -> None:
        """The statements between two braces."""
        for chain in tree.children:
            if not hasattr(chain, "data"):
                scope.nodes.update(dict.fromkeys(self._plain(chain, scope.usual)))
                continue
            if chain.data == "assignment":
                if getattr(chain.children[0], "type", "") == "EDGE":
                    scope.usual = self._value("".join(chain.children[1:]), scope.usual)
                continue
            points = []
            for part in chain.children:
                if not hasattr(part, "type"):
                    points.append(self._point(part, scope))
                elif part.type == "OPERATOR" and part.strip() != self.operator:
                    raise self._other_operator(part.strip(), part.line)
            ends = "".join(part for part in chain.children if getattr(part, "type", "") == "END")
            kind = self._value(ends, scope.usual)
            for sources, targets in pairwise(points):
                for source, target in product(sources, targets):
                    self.gathered.edge(source, target, self.operator == "--", kind)
            for point in points:
                scope.nodes.update(dict.fromkeys(point))

    def _value(self, attributes: str, usual: str | None) -> str | None:
        """The kind in lists of attributes, or the usual one if they have none."""
        if self.gathered.kind is not None:
            for name, value in _VALUE.findall(attributes):
                if name and (name == self.gathered.kind or _text([name]) == self.gathered.kind):
                    usual = _text(_STRING.findall(value) or [value])
        return usual

    def _plain(self, run, usual: str | None) -> list[str]:
        """The nodes of a run of plain statements; `usual` is the kind of edges that do not say theirs."""
        names: dict[str, str] = {}
        nodes, edge, both = [], self.gathered.edge, self.operator == "--"
        kinds, first, with_kind = self.gathered.kinds, 0, self.gathered.kind is not None
        for part in _PART.finditer(run):
            before, text = part.groups()
            if text is None:
                if with_kind and part[0][0] == "[" and first < len(kinds):
                    kinds[first:] = [self._value(part[0], kinds[first])] * (len(kinds) - first)
                continue
            if before not in (None, self.operator) or text == '""':
                line = run.line + run.count("\n", 0, part.start(2))
                raise _unnamed(line) if text == '""' else self._other_operator(before, line)
            if (name := names.get(text)) is None:
                name = names[text] = _name([text])
                self.gathered.vertex(name)
            if before is None:
                first = len(kinds)
            else:
                edge(nodes[-1], name, both, usual)
            nodes.append(name)
        return nodes

    def _point(self, tree, scope: _Scope) -> list[str]:
        """The nodes at one end of an edge, or of a statement without one."""
        nodes = []
        for item in tree.children:
            if item.data == "subgraph":
                own = next((part.children for part in item.children if getattr(part, "data", "") == "name"), ['""'])
                inner = _Scope() if own == ['""'] else scope.named.setdefault(_name(own), _Scope())
                inner.usual = scope.usual if inner.usual is None else inner.usual
                self._statements(item.children[-1], inner)
                nodes += inner.nodes
                continue
            name = _name(item.children[0].children)
            self.gathered.vertex(name)
            nodes.append(name)
        return nodes

    def _other_operator(self, found: str, line: int) -> InputError:
        return InputError(f"{found!r} in a {self.kind}: {self.operator!r} is expected", line=line)


def read_dot(text: np.ndarray, kind: str | None = None) -> Found:
    """Reads the graphs in a DOT file (uint8[size]); `kind` is the attribute of edges that is their kind. Raises
    InputError if it is malformed, and MachineLacks without lark."""
    lark, whole = needed("lark", "DOT"), decoded(text)
    collected = _Dot(kind)
    with parsing("a graph in the DOT language", "graph { ... } or digraph { ... }"):
        try:
            tree = _dot_parser().parse(whole)
        except lark.UnexpectedInput as error:
            found = str(getattr(error, "token", "") or whole[error.pos_in_stream :])[:20]
            line = error.line if found else whole.count("\n") + 1
            message = f"{found!r} is not expected here" if found else "the file ends inside of a graph"
            raise InputError(f"a graph in the DOT language expected: {message}", line=line) from None
        for graph in tree.children:
            collected.graph(graph)
    return collected.gathered.found(*counted(collected.graphs))


def _unnamed(line: int) -> InputError:
    return InputError('a node is named ""; a non-empty name is expected', line=line)


def _name(parts: list[str]) -> str:
    """The name in a token, or in quoted ones that are joined by +."""
    if not (text := _text(parts)):
        raise _unnamed(parts[0].line)
    return text


def _text(parts: list[str]) -> str:
    """The text in a token, or in quoted ones that are joined by +."""
    if parts[0][0] != '"':
        return str(parts[0])
    text = "".join(part[1:-1] for part in parts)
    return _ESCAPES.sub(lambda found: '"' if found[1] == '"' else "", text) if "\\" in text else text


# ---------------------------------------------------------------------------------------- GML


_GML = re.compile(r'\s+|#[^\n]*|(?P<open>\[)|(?P<close>\])|"(?P<text>[^"]*)"|(?P<word>[^\s\[\]"]+)')


def read_gml(text: np.ndarray, kind: str | None = None) -> Found:
    """Reads the graphs in a GML file (uint8[size]); `kind` is the attribute of edges that is their kind. Raises
    InputError if it is malformed."""
    graphs = [value for key, value in _gml(decoded(text)) if key == "graph" and isinstance(value, list)]
    if not graphs:
        raise InputError("no graph [ ... ]", remedy="graph [ node [ id 0 ] edge [ source 0 target 0 ] ]")
    gathered, notes = Gathered(kind), counted(len(graphs))
    for graph in graphs:
        labels: dict[str, str | None] = {}
        edges = []
        for key, value in graph:
            if key == "node":
                name = _gml_value(value, key, "id")
                label = dict(value).get("label")
                labels[name] = label if isinstance(label, str) else None
            elif key == "edge":
                edges.append(
                    (_gml_value(value, key, "source"), _gml_value(value, key, "target"), dict(value).get(kind))
                )
        for end in (end for edge in edges for end in edge[:2]):
            labels.setdefault(end, None)
        names, more = by_label(labels)
        notes += [note for note in more if note not in notes]
        for name in names.values():
            gathered.vertex(name)
        for source, target, kind_of in edges:
            gathered.edge(names[source], names[target], dict(graph).get("directed") != "1", kind_of)
    return gathered.found(*notes)


def _gml(text: str) -> list:
    """The pairs of a key and a value in a text; a value is a text, or the list of the pairs in brackets."""
    stack: list[list] = [[]]
    key, at = None, 0
    while at < len(text):
        if not (token := _GML.match(text, at)):
            raise InputError("a quote that does not end", line=text.count("\n", 0, at) + 1)
        at = token.end()
        kind = token.lastgroup
        if kind is None:
            continue
        if kind == "word" and key is None:
            key = token["word"]
        elif kind == "close" and key is None and len(stack) > 1:
            stack.pop()
        elif kind == "close" or key is None:
            expected = "a value" if key is not None else "a key"
            line = text.count("\n", 0, token.start()) + 1
            raise InputError(f"GML: {expected} is expected, found {token[0][:20]!r}", line=line)
        else:
            value: str | list = [] if kind == "open" else html.unescape(token[kind])
            stack[-1].append((key, value))
            if isinstance(value, list):
                stack.append(value)
            key = None
    if len(stack) > 1 or key is not None:
        raise InputError("the file ends inside of a graph", line=text.count("\n") + 1, remedy=REFETCH)
    return stack[0]


def _gml_value(pairs: str | list, kind: str, name: str) -> str:
    found = dict(pairs).get(name) if isinstance(pairs, list) else None
    if not isinstance(found, str) or not found:
        raise InputError(f"a{'n' * (kind == 'edge')} {kind} without {name}")
    return found


# ---------------------------------------------------------------------------------------- GraphML, GEXF


_DIRECTED = {
    "directed": True,
    "undirected": False,
    "mutual": False,
    "true": True,
    "false": False,
    "1": True,
    "0": False,
}


def read_graphml(text: np.ndarray, kind: str | None = None) -> Found:
    """Reads the graphs in a GraphML file (uint8[size]); `kind` is the attribute of edges that is their kind. Raises
    InputError if it is malformed or has hyperedges."""
    return _xml(text, "graphml", "GraphML", ("edgedefault", "directed"), kind)


def read_gexf(text: np.ndarray, kind: str | None = None) -> Found:
    """Reads the graph in a GEXF file (uint8[size]); `kind` as of GraphML. Raises InputError if it is malformed."""
    return _xml(text, "gexf", "GEXF", ("defaultedgetype", "type"), kind)


def _xml(text: np.ndarray, root: str, language: str, names: tuple[str, str], kind: str | None) -> Found:
    """The graphs in an XML file whose root is so called.

    names  the attributes of a graph and of an edge that say whether edges are directed
    """
    filled = np.flatnonzero(text[:4] != ord(" "))
    text = text[filled[0] if filled.size else 0 :]  # blanks in place of a byte order mark, which XML does not allow
    gathered = Gathered(kind)
    with parsing(f"a graph in {language}", REFETCH):
        top = ElementTree.parse(io.BufferedReader(Bytes(text))).getroot()  # noqa: S314 - expat bounds entities
        space = top.tag.removesuffix(root)
        graphs = top.findall(f"{space}graph")
        if not graphs or top.tag == space:
            raise InputError("no graph", remedy=f"<{root}><graph>...")
        default = "undirected" if language == "GEXF" else ""
        for graph in graphs:
            _collect(graph, space, names, _keys(top, space, kind), default, gathered)
    return gathered.found(*counted(len(graphs)))


def _keys(top: Element, space: str, kind: str | None) -> dict[str | None, str | None]:
    """The identifiers under which the values of an attribute stand in an edge, with the value of an edge without it."""
    attributes = (*top.iter(f"{space}key"), *top.iter(f"{space}attribute"))
    named = (each for each in attributes if kind and kind in (each.get("attr.name"), each.get("title"), each.get("id")))
    return {each.get("id"): each.findtext(f"{space}default") for each in named}


def _collect(
    graph: Element, space: str, names: tuple[str, str], keys: dict[str | None, str | None], usual: str,
    gathered: Gathered,
) -> None:  # fmt: skip
    """Collects the nodes and edges of a graph and of those inside it.

    space  the namespace of all elements, in braces
    names  the attributes of a graph and of an edge that say whether edges are directed
    keys   see `_keys`
    usual  what the graph around it says
    """
    usual = graph.get(names[0], usual)
    for element in graph:
        kind = element.tag.removeprefix(space) if isinstance(element.tag, str) else ""
        if kind == "node":
            gathered.vertex(_attribute(element, "node", "id"))
        elif kind == "edge":
            direction = element.get(names[1], usual).lower()
            if direction not in _DIRECTED:
                raise InputError(f"{names[0]} {direction[:60]!r}: 'directed' or 'undirected' is expected")
            ends = _attribute(element, "edge", "source"), _attribute(element, "edge", "target")
            gathered.edge(*ends, not _DIRECTED[direction], _kind(element, gathered.kind, keys))
        elif kind == "hyperedge":
            raise InputError("a hyperedge, which joins any number of nodes, is no edge of a directed graph")
        for inner in (element, *element.findall(f"{space}graph"))[kind not in ("nodes", "edges") :]:
            _collect(inner, space, names, keys, usual, gathered)


def _kind(element: Element, kind: str | None, keys: dict[str | None, str | None]) -> str | None:
    """The value of an attribute of an edge, which may be one of XML too; None without it."""
    if kind is None:
        return None
    values = ((each.get("key", each.get("for")), each.get("value", each.text)) for each in element.iter())
    found = [*(value for key, value in values if key in keys), element.get(kind), *keys.values()]
    return next((value for value in found if value is not None), None)


def _attribute(element: Element, kind: str, name: str) -> str:
    if not (found := element.get(name)):
        ends = " ".join(f"{each}={value!r}" for each, value in element.attrib.items())[:60]
        raise InputError(f"a{'n' * (kind == 'edge')} {kind} without {name}: <{kind} {ends}>")
    return found


# ---------------------------------------------------------------------------------------- OBO


_STANZA = re.compile(r"\[([^\]]*)\]")
_ASIDE = re.compile(r"\{[^{}]*\}|(?<!\\)!.*")  # modifiers and the comment of a value


def read_obo(text: np.ndarray, relations: tuple[str, ...]) -> Found:
    """Reads the terms of an ontology (uint8[size]) and the edges of these relations; is_a if none is named.

    Raises InputError if it is malformed or has no such relation.
    """
    terms = list(_terms(decoded(text)))
    current = [term for term in terms if not term.obsolete]
    edges = [(term.id, *edge) for term in current for edge in term.related]
    occurring = dict.fromkeys(relation for _, relation, _ in edges)
    for relation in relations:
        if relation not in occurring:
            raise InputError(f"no relation {relation!r}", remedy=did_you_mean(relation, occurring))
    wanted = relations or ("is_a",)
    edges = [edge for edge in edges if edge[1] in wanted]
    ids = dict.fromkeys(term.id for term in current)
    if not ids:
        raise InputError("the file holds no term", remedy="[Term] and its id: in OBO format")
    sources, kinds, targets = zip(*edges, strict=True) if edges else ((), (), ())
    found = found_of(sources, targets, list(ids), kinds=kinds if len(wanted) > 1 else None)
    notes = [f"edges of {' and '.join(wanted)}, from child to parent: from a term to the one it is related to"]
    if others := [relation for relation in occurring if relation not in wanted]:
        notes.append(f"relations left out: {', '.join(others)} (--relation)")
    if len(current) < len(terms):
        notes.append(f"{count(len(terms) - len(current), 'obsolete term')} left out")
    if undefined := found.graph.vertices - len(ids):
        notes.append(
            f"{count(undefined, 'term')} that edges lead to, but that the file does not define or has obsolete"
        )
    return replace(found, notes=tuple(notes))


@dataclass
class _Term:
    """A stanza [Term]: its line, its id, and the relation and the other term of each edge."""

    line: int
    id: str = ""
    obsolete: bool = False
    related: list[tuple[str, str]] = field(default_factory=list)


def _terms(text: str) -> Iterator[_Term]:
    """The terms of an ontology. A line is `tag: value`; what follows an exclamation mark is a comment."""
    term: _Term | None = None
    for line, content in enumerate([*text.split("\n"), "[]"], 1):
        if not (content := content.strip()) or content.startswith("!"):
            continue
        if stanza := _STANZA.match(content):
            if term is not None and not term.id:
                raise InputError("a term without an id", line=term.line, remedy="id: after [Term]")
            if term is not None:
                yield term
            term = _Term(line) if stanza[1] == "Term" else None
            continue
        tag, colon, value = content.partition(":")
        if not colon:
            raise InputError(f"'tag: value' expected, found {content[:60]!r}", line=line)
        if term is None or tag not in ("id", "is_a", "relationship", "is_obsolete"):
            continue
        value = _ASIDE.sub("", value).strip()
        words = value.split()
        if tag == "id":
            term.id = value
        elif tag == "is_obsolete":
            term.obsolete = value == "true"
        elif tag == "is_a" and value:
            term.related.append(("is_a", value))
        elif tag == "relationship" and len(words) == 2:
            term.related.append((words[0], words[1]))
        elif tag == "relationship":
            message = f"relationship {value[:60]!r} of {term.id}: 'relation term' expected"
            raise InputError(message, line=line)
