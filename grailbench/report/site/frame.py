"""What the pages of a site share: navigation, footer, and the way to the other pages."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from grailbench.report.page import asset, rendered
from grailbench.report.page.sections import Block, Section
from grailbench.report.site.entries import slug

#: titles and addresses of the pages that every page leads to
NAV = (
    ("Leaderboard", "index.html"), ("Graphs", "graphs/index.html"), ("Implementations", "implementations/index.html"),
    ("Runs", "runs/index.html"), ("History", "history.html"), ("How it is measured", "about.html"),
)  # fmt: skip
CELLS = "data/cells.csv"  #: the address of the file of all cells


@dataclass(frozen=True)
class Frame:
    """What all pages of one site have.

    title  of the site
    runs   how many runs it shows, in words
    nav    as `NAV`
    """

    title: str
    runs: str
    nav: tuple[tuple[str, str], ...] = NAV

    def page(
        self, address: str, title: str, description: str, sections: Iterable[Section], *,
        under: str = "", data: str = CELLS, styles: Iterable[str] = (), scripts: Iterable[str] = (),
    ) -> bytes:  # fmt: skip
        """A page of the site.

        address          of the page, relative to the site
        description      a sentence below the title, which search engines show too
        under            the address in `nav` of the page that this one belongs to, '' for a page of `nav`
        data             the address of the CSV file of what it shows
        styles, scripts  CSS and JavaScript of this page alone
        """
        crumbs = [("Leaderboard", "index.html"), *(item for item in self.nav if item[1] == under)] if under else []
        return rendered(
            "site/layout.html", (asset("site/site.css"), *styles), (asset("site/site.js"), *scripts), title=title,
            description=description, sections=[each for each in sections if each.blocks], address=address, under=under,
            up=up(address), nav=self.nav, crumbs=crumbs, data=data, site=self.title, runs=self.runs,
        ).encode("utf-8", "replace")  # fmt: skip


def up(address: str) -> str:
    """What leads from the folder of a page to that of the site: '' or '../'."""
    return "../" * address.count("/")


def parted(blocks: Iterable[Block], first: str = "Summary") -> list[Section]:
    """Blocks as sections: each heading begins one; what stands before the first is the section `first`."""
    found = [Section("summary", first, [])]
    names = {"summary", "content"}
    for kind, content in blocks:
        if kind != "heading":
            found[-1].blocks.append((kind, content))
            continue
        name = wanted = slug(str(content)).replace(".", "-")
        number = 2
        while name in names:
            name, number = f"{wanted}-{number}", number + 1
        names.add(name)
        found.append(Section(name, str(content), []))
    return [section for section in found if section.blocks]
