r"""Names that come from outside, made visible: what would move the cursor, turn text round or hide is shown by its
number, '\x1b' or '\u202e', as Python writes it.

Files of data and `--json` keep names as they are; terminals, errors, pages and figures show what `visible` returns.
Letters of all scripts, accents and emoji stay. Two names that differ in anything but the shape of letters look
different, except where one has the very letters with which the other's hidden character is shown.
"""

import re
import shlex
import unicodedata

#: Controls (C0, DEL, C1), spaces other than ' ', separators of lines and paragraphs, marks of direction, joiners, all
#: else that Unicode calls ignorable (tags, selectors of variants, fillers), surrogates, private use, noncharacters.
_HIDDEN = (
    "\\x00-\\x1f\\x7f-\\xa0\\xad\u034f\u061c\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f\u2000-\u200f\u2028-\u202f"
    "\u205f-\u206f\u2800\u3000\u3164\\ud800-\\udfff\\ue000-\\uf8ff\\ufdd0-\\ufdef\\ufe00-\\ufe0f\\ufeff\\uffa0"
    "\\ufff0-\\ufffc\\ufffe\\uffff\U00013430-\U0001345f\U0001bca0-\U0001bca3\U0001d159\U0001d173-\U0001d17a"
    "\\U000e0000-\\U000e0fff\\U000f0000-\\U0010ffff"
) + "".join(f"\\U{plane:04x}fffe\\U{plane:04x}ffff" for plane in range(1, 15))
_SHOWN = re.compile(f"[{_HIDDEN}]")
_BREAK = re.compile(f"[{_HIDDEN}]|[\u0300-\U0001ffff]")  # where there may be more to do than nothing
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
_PILE = 6  #: accents on one letter; more would cover the lines above


def visible(text: str, keep: str = "") -> str:
    r"""A text in which nothing is hidden: one line, whose width is that of its letters. What is visible already stays.

    keep  characters that stay nevertheless: '\n' for a text of several lines

    An accent without a letter below it is shown by its number, and so are those after six on one letter.
    """
    if not _BREAK.search(text):
        return text
    text = _SHOWN.sub(lambda found: found[0] if found[0] in keep else _numbered(found[0]), text)
    return text if text.isascii() else "".join(_based(text))


def _numbered(letter: str) -> str:
    at = ord(letter)
    return _SHORT.get(letter) or (f"\\x{at:02x}" if at < 0x100 else f"\\u{at:04x}" if at < 0x10000 else f"\\U{at:08x}")


def _based(text: str):
    """The letters of a text; accents that have nothing to stand on by their numbers."""
    pile = _PILE  # as if a letter with all of its accents were before
    for letter in text:
        if letter < "\u0300" or unicodedata.category(letter) not in ("Mn", "Me", "Mc"):
            pile = 0 if letter.isalnum() or letter > "\x7f" else _PILE
            yield letter
            continue
        if pile < _PILE:
            pile += 1
            yield letter
        else:
            pile = _PILE
            yield _numbered(letter)


def quoted(word: object) -> str:
    r"""A word of a command, from which a shell makes that very word: as it is if that is safe, else in quotes; what is
    hidden as bytes, `$'\xe2\x80\xae'`, which bash, zsh and ksh read."""
    text = str(word)
    if visible(text) == text:
        return shlex.quote(text)
    shown = re.sub(r"[\\']", r"\\\g<0>", text)
    return f"$'{''.join(map(_byted, shown))}'"


def _byted(letter: str) -> str:
    if not _SHOWN.match(letter) and unicodedata.category(letter)[0] != "M":
        return letter
    errors = "surrogateescape" if "\udc80" <= letter <= "\udcff" else "surrogatepass"
    return "".join(f"\\x{byte:02x}" for byte in letter.encode("utf-8", errors))
