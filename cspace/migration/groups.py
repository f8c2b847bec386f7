"""Refuses what is safe by itself and not together: twins, and the parts of a git repository."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath

from cspace.beneath import makes_repository
from cspace.migration.names import fold, fold_path
from cspace.migration.place import Place, look_away

_REPOSITORY = frozenset({"head", "objects", "refs", "commondir"})


@dataclass(frozen=True)
class Groups:
    """What the names of a source and of the target are together.

    Attributes:
        files: how often each of a source's files is named, by its folded path.
        directories: the directories of these files, folded.
        twins: what is spelled in more than one way, folded.
        children: the names in each directory of the source, lower case.
    """

    files: dict[str, int]
    directories: set[str]
    twins: set[str]
    children: dict[PurePosixPath, set[str]]
    refused_directories: dict[PurePosixPath, str]

    def has(self, folded: str) -> bool:
        """Whether a folded path is one of the source, a file's or a directory's."""
        return folded in self.files or folded in self.directories


def group(paths: Iterable[PurePosixPath]) -> Groups:
    """Look at all paths of a source together."""
    groups = Groups({}, set(), set(), {}, {})
    spelled: dict[str, PurePosixPath] = {}
    for path in paths:
        folded = fold_path(path)
        groups.files[folded] = groups.files.get(folded, 0) + 1
        _spell(groups, spelled, path, folded)
        child = path
        while child.parent not in groups.children:
            parent = child.parent
            groups.children[parent] = {child.name.lower()}
            if not parent.name:
                break
            folded = fold_path(parent)
            groups.directories.add(folded)
            _spell(groups, spelled, parent, folded)
            child = parent
        else:
            groups.children[child.parent].add(child.name.lower())
    return groups


def _spell(
    groups: Groups, spelled: dict[str, PurePosixPath], path: PurePosixPath, folded: str
) -> None:
    if spelled.setdefault(folded, path) != path:
        groups.twins.add(folded)


def refuse_together(groups: Groups, place: Place, path: PurePosixPath) -> str:
    """Say why a path may not be written beside all others; empty when it may."""
    folded = fold_path(path)
    if groups.files[folded] > 1 or folded in groups.twins:
        return "its name differs from another one's by case or form only, or is there twice"
    if folded in groups.directories:
        return "a directory of the source has its name"
    directory = path.parent
    if directory not in groups.refused_directories:
        groups.refused_directories[directory] = _refuse_directory(groups, place, directory)
    return groups.refused_directories[directory] or _refuse_in(groups, place, path)


def _refuse_directory(groups: Groups, place: Place, directory: PurePosixPath) -> str:
    """Say why nothing may be written into a directory."""
    if not directory.name:
        return ""
    above = directory.parent
    if above not in groups.refused_directories:
        groups.refused_directories[above] = _refuse_directory(groups, place, above)
    if why := groups.refused_directories[above]:
        return why
    if fold_path(directory) in groups.twins:
        return f"the name of {directory.name!r} differs from another one's by case or form only"
    return _refuse_in(groups, place, directory)


def _refuse_in(groups: Groups, place: Place, path: PurePosixPath) -> str:
    """Say why a name may not be in its directory, which may be written."""
    try:
        names = place.names(path.parent)
    except OSError as error:
        return look_away(error).obstacle
    others = names.get(fold(path.name), set()) - {path.name}
    if others:
        return f"its name differs from {min(others)!r} in the target by case or form only"
    lower = path.name.lower()
    if lower in _REPOSITORY:
        known = groups.children[path.parent] | {
            name.lower() for one in names.values() for name in one
        }
        if makes_repository(known):
            return "part of what makes its directory a git repository, whose settings run programs"
    return ""
