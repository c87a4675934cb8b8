"""What the whole program needs of the system: files, folders, signals, memory, text."""

from pathlib import Path

__version__ = "1.0.0"


def page(name: str) -> Path:
    """The file of a page of the documentation: of a checkout, or of what a wheel has of it, which no network serves."""
    package = Path(__file__).parents[1]
    shipped = package / "_shipped" / "docs"
    return (shipped if shipped.is_dir() else package.parent / "docs") / f"{name}.md"
