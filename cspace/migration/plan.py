"""Plans what becomes of every file of a source; changes nothing."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from cspace.beneath import MAX_BYTES
from cspace.events import Report, ignore
from cspace.migration.groups import Groups, group, refuse_together
from cspace.migration.index import is_stub, merge_lines
from cspace.migration.model import Choice, Fate, Plan, Planned, Policy, Source, Target
from cspace.migration.names import fold, fold_path, iter_marked
from cspace.migration.place import ABSENT, Place, Standing
from cspace.migration.reading import BY_KIND, Found, read_source
from cspace.paths import INDEX

# Of a hash, in the name of the file that another one replaced.
_MARK_DIGITS = 8


def make_plan(source: Source, target: Target, policy: Policy, report: Report = ignore) -> Plan:
    """Read a source once, hash every file that is wanted, and compare it with the target.

    Memory: what a plan says of each file, and a chunk of one.

    Raises:
        CspaceError: the source can not be read to its end; there is no plan for a part of it.
    """
    contents = read_source(source, target, report)
    named = (one.path for one in contents.found if not one.refusal or one.refusal in BY_KIND)
    scene = _Scene(Place(target), policy, source.suffix, group(named), set())
    found = sorted(contents.found, key=lambda one: one.path)
    return Plan(tuple(_plan(scene, one) for one in found), contents.others)


@dataclass(frozen=True, slots=True)
class _Scene:
    """What a file's fate depends on; `taken` are the names that files before it got, folded."""

    place: Place
    policy: Policy
    suffix: str
    groups: Groups
    taken: set[str]


def _plan(scene: _Scene, found: Found) -> Planned:
    path, size, digest = found.path, found.size, found.digest
    unsafe = Planned(path, Fate.UNSAFE, size, digest, None, found.refusal, found.origin)
    why = found.refusal or refuse_together(scene.groups, scene.place, path)
    if why or digest is None:
        return replace(unsafe, reason=why)
    standing = _look(scene, path)
    if standing.obstacle:
        return replace(unsafe, reason=standing.obstacle)
    if standing.digest is None:
        return _land(unsafe, path, fate=Fate.NEW)
    if standing.digest == digest:
        return replace(unsafe, fate=Fate.SAME, found=path, result=digest)
    conflict = replace(unsafe, fate=Fate.CONFLICT)
    index = _plan_index(scene, conflict, found.text)
    return index or _settle(scene, conflict, theirs=digest, ours=standing.digest)


def _land(planned: Planned, path: PurePosixPath, *, fate: Fate = Fate.CONFLICT) -> Planned:
    return replace(planned, fate=fate, lands=path, found=path, result=planned.digest)


def _look(scene: _Scene, path: PurePosixPath) -> Standing:
    # Most files are new: a name that is not listed needs no look.
    if path.name not in scene.place.names(path.parent).get(fold(path.name), ()):
        return ABSENT
    return scene.place.look(path)


def _plan_index(scene: _Scene, conflict: Planned, theirs: bytes | None) -> Planned | None:
    """Plan two indexes that differ; None where they are two files like any others."""
    ours = scene.place.read_small(INDEX) if conflict.path == INDEX else None
    if ours is None:
        return None
    standing = hashlib.sha256(ours).hexdigest()
    if theirs is not None and is_stub(theirs):
        why = "it says nothing yet"
        return replace(conflict, fate=Fate.SAME, found=INDEX, result=standing, reason=why)
    if is_stub(ours):
        landing = _land(conflict, INDEX, fate=Fate.NEW)
        return replace(landing, replaces=standing, reason="ours says nothing yet")
    if theirs is None or not scene.policy.merge_index:
        return None
    return _merge(conflict, ours, theirs, standing)


def _merge(conflict: Planned, ours: bytes, theirs: bytes, standing: str) -> Planned | None:
    merged = merge_lines(ours, theirs)
    if len(merged) > MAX_BYTES:
        return None  # nobody would read it, the next merge neither
    if merged == ours:
        return replace(conflict, found=INDEX, result=standing, reason="ours has every line of it")
    result = hashlib.sha256(merged).hexdigest()
    reason = "its lines are added to ours"
    return replace(_land(conflict, INDEX), result=result, replaces=standing, reason=reason)


def _settle(scene: _Scene, conflict: Planned, *, theirs: str, ours: str) -> Planned:
    match scene.policy.choice:
        case Choice.OURS:
            return replace(conflict, reason="ours stays")
        case Choice.THEIRS:
            mark = f"replaced-{ours[:_MARK_DIGITS]}"
            aside, _ = _free(scene, conflict.path, mark, ours, last=True)
            landing = _land(conflict, conflict.path)
            reason = f"ours stays as {aside.name}"
            return replace(landing, replaces=ours, aside=aside, reason=reason)
        case Choice.BOTH:
            beside, there = _free(scene, conflict.path, scene.suffix, theirs)
            done = replace(conflict, found=beside, result=theirs, reason="both are kept")
            return done if there else replace(done, lands=beside)


def _free(
    scene: _Scene, path: PurePosixPath, mark: str, digest: str, *, last: bool = False
) -> tuple[PurePosixPath, bool]:
    """Return a name for a version of a file, and whether that very version is there already."""
    for name in iter_marked(path.name, mark, last=last):
        candidate = path.with_name(name)
        folded = fold_path(candidate)
        if folded in scene.taken or scene.groups.has(folded):
            continue
        names = scene.place.names(path.parent).get(fold(name), set())
        there = names == {name} and scene.place.look(candidate).digest == digest
        if there or not names:
            scene.taken.add(folded)
            return candidate, there
    raise AssertionError("there are endless candidates")
