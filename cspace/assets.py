"""The door to templates, scripts and the image's sources, in a checkout or in a wheel."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent
_INSTALLED = _PACKAGE / "_assets"

# Their places in a checkout; a wheel has them under `_assets/<name>` (pyproject's force-include).
CHECKOUT = {"templates": "templates", "scripts": "lib/scripts", "devcontainer": "devcontainer"}


def directory(name: str) -> Path:
    """Return the directory of templates, scripts or devcontainer."""
    if _INSTALLED.is_dir():
        return _INSTALLED / name
    return _PACKAGE.parent / CHECKOUT[name]


def template(name: str) -> str:
    """Return the text of templates/<name>."""
    return (directory("templates") / name).read_text(encoding="utf-8")


def package_directory() -> Path:
    """Return the directory of the running cspace package."""
    return _PACKAGE
