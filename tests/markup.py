"""A page of HTML, or a part of one, read for tests."""

from html.parser import HTMLParser

VOID = {"meta", "link", "br", "img", "input", "hr", "path", "use", "circle", "rect"}


class Page(HTMLParser):
    """A page whose tags are closed in order: its elements as (name, attributes, text inside), in the order of their
    starts; `words` are its texts outside of scripts and style sheets, `code` those inside."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.words, self.code, self._open = [], [], [], []
        self.feed(str(text))
        assert [each[0] for each in self._open] == []

    def handle_starttag(self, name, attributes):
        element = (name, dict(attributes), [])
        self.elements.append(element)
        if name not in VOID:
            self._open.append(element)

    def handle_startendtag(self, name, attributes):
        self.elements.append((name, dict(attributes), []))

    def handle_endtag(self, name):
        if name not in VOID:
            assert self._open.pop()[0] == name

    def handle_data(self, data):
        for _, _, text in self._open:
            text.append(data)
        (self.code if self._open and self._open[-1][0] in ("script", "style") else self.words).append(data)

    def all(self, *names):
        """The attributes and the text of the elements of these names."""
        return [(attributes, "".join(text)) for name, attributes, text in self.elements if name in names]

    def attributes(self, *names, **wanted):
        """The attributes of the elements of these names, of any if none is given, that have those that are wanted."""
        found = [attributes for name, attributes, _ in self.elements if name in names or not names]
        return [each for each in found if all(each.get(key) == value for key, value in wanted.items())]

    @property
    def ids(self):
        return [attributes["id"] for _, attributes, _ in self.elements if "id" in attributes]
