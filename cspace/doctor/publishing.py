"""Whether a plain `git push` would publish `refs/cspace/*`: archives hold unfinished work.

A configured push goes by `remote.<name>.mirror`, else by the refspecs of `remote.<name>.push`.
Whether a remote has a URL does not matter: it can get one.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from cspace import git
from cspace.doctor.model import Diagnosis, Patient
from cspace.errors import CspaceError

OURS = "refs/cspace/"
_CHECK = "publishing"
_EVERYTHING, _NOT_OURS = "+refs/*:refs/*", f"^{OURS}*"


def check_publishing(patient: Patient) -> tuple[Diagnosis, ...]:
    """Look at what the project's remotes are pushed."""
    root = patient.project.root
    try:
        settings = git.push_settings(root)
        ours = git.list_refs(root, OURS.rstrip("/"))
    except CspaceError as error:
        return (Diagnosis(_CHECK, f"the remotes can not be read: {error}", "git remote -v"),)
    found = []
    for setting in settings:
        if setting.mirror:
            found.append(_mirror(setting.remote))
            continue
        published = publishing(setting.refspecs, ours)
        if published:
            found.append(_refspecs(setting.remote, published))
    return tuple(found)


def publishing(refspecs: Iterable[str], ours: Iterable[str]) -> tuple[str, ...]:
    """Return the refspecs that would publish a ref of ours, also one that is only yet to come.

    Args:
        refspecs: as configured, of one remote, the negative ones too.
        ours: our refs that there are; an abbreviated name means one of them or none.
    """
    specs = tuple(refspecs)
    excluded = tuple(spec[1:] for spec in specs if spec.startswith("^"))
    known = set(ours)
    return tuple(
        spec for spec in specs if not spec.startswith("^") and _reaches(spec, excluded, known)
    )


def _reaches(spec: str, excluded: tuple[str, ...], known: set[str]) -> bool:
    source = _source(spec)
    if "*" not in source:
        named = source if source.startswith("refs/") else f"refs/{source}"
        # A short name is a branch's as a rule: ours only when there is such a ref.
        if not named.startswith(OURS) or (named != source and named not in known):
            return False
        return not any(_matches(pattern, named) for pattern in excluded)
    start = source.partition("*")[0]
    if not (start.startswith(OURS) or OURS.startswith(start)):
        return False
    # Covered only by a pattern that takes everything from here on.
    narrow = max(start, OURS, key=len)
    return not any(
        pattern.endswith("*") and narrow.startswith(pattern[:-1]) for pattern in excluded
    )


def _matches(pattern: str, name: str) -> bool:
    start, star, end = pattern.partition("*")
    if not star:
        return name == pattern
    return name.startswith(start) and name.endswith(end) and len(name) >= len(start) + len(end)


def _mirror(remote: str) -> Diagnosis:
    key = f"remote.{remote}"
    return Diagnosis(
        _CHECK,
        f"remote {remote!r} is a mirror: git push publishes {OURS}*, archived work too",
        _config(
            (f"{key}.mirror", "false"),
            ("--add", f"{key}.push", _EVERYTHING),
            ("--add", f"{key}.push", _NOT_OURS),
        ),
    )


def _refspecs(remote: str, published: tuple[str, ...]) -> Diagnosis:
    key = f"remote.{remote}.push"
    # Where nothing is left to push, git push fails: such a refspec goes as a whole.
    doomed = [spec for spec in published if _is_only_ours(spec)]
    commands = [("--fixed-value", "--unset-all", key, spec) for spec in doomed]
    return Diagnosis(
        _CHECK,
        f"remote {remote!r} is pushed {', '.join(map(repr, published))}: git push publishes"
        f" {OURS}*, archived work too",
        _config(*commands, *([("--add", key, _NOT_OURS)] if len(doomed) < len(published) else [])),
    )


def _is_only_ours(spec: str) -> bool:
    source = _source(spec)
    return "*" not in source or source.startswith(OURS)


def _source(spec: str) -> str:
    return spec.removeprefix("+").partition(":")[0]


def _config(*commands: tuple[str, ...]) -> str:
    return " && ".join(shlex.join(("git", "config", *words)) for words in commands)
