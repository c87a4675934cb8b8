"""Words of the documentation, and its sentences and paragraphs that are too long: `make words`.

Words are what has a letter or digit, in tables and code too, on every page that is written by hand or renewed by
`grailbench report --into`. What `make docs` makes of docstrings and help is not in files, and not among them.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
MOST, SENTENCE, PARAGRAPH = 60_000, 40, 120  #: words of all pages, of a sentence, of a paragraph
#: code, tables, headings, what is generated
_APART = r"^```.*?^```$|(?<=\n\n)(?: {4}.*\n)+|^(?:\||#| {4,}:|:::|<).*?$"
_END = re.compile(r"(?<=[.!?])[\"')*]* +(?=[\"'(*\[`]*[A-Z0-9`])")


def pages():
    """list[Path]: every page."""
    found = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("results/**/*.md")]
    return sorted(path for path in found if "runs" not in path.parts)


def paragraphs(text):
    """Iterator[str]: the paragraphs and items of lists of a page, without code, tables and headings."""
    prose = re.sub(_APART, "\n", text, flags=re.MULTILINE | re.DOTALL)
    for block in re.split(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )", prose):
        if plain := " ".join(re.sub(r"\]\([^)]*\)", "]", block).split()):
            yield plain


def count(text):
    """int: the words of a text that have a letter or digit."""
    return sum(bool(re.search(r"\w", word)) for word in text.split())


def long(text):
    """Iterator[str]: the sentences and paragraphs of a page that are too long."""
    for paragraph in paragraphs(text):
        if (words := count(paragraph)) > PARAGRAPH:
            yield f"a paragraph of {words} words: {paragraph[:60]}..."
        for sentence in _END.split(paragraph):
            if (words := count(sentence)) > SENTENCE:
                yield f"a sentence of {words} words: {sentence[:60]}..."


def main():
    """Prints the words of each page, the sum, and what is too long; exits with 1 if something is."""
    total, faults = 0, []
    for path in pages():
        text = path.read_text(encoding="utf-8")
        words = count(text)
        total += words
        print(f"{words:7,}  {path.relative_to(ROOT)}")
        faults += [f"{path.relative_to(ROOT)}: {fault}" for fault in long(text)]
    print(f"{total:7,}  of {MOST:,}", *faults, sep="\n")
    sys.exit(bool(faults) or total > MOST)


if __name__ == "__main__":
    main()
