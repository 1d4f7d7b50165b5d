"""Pages that the registry writes: one a family of methods, the references, the catalogue."""
from pathlib import Path


def write(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
