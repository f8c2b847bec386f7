"""Claude Code's hooks: `python -I -m cspace.hooks session-start|pre-compact|memory|notes-…`.

The first two in an instance, the third on a host, where `cspace hooks install` registers it; those
of commit notes, `notes-start` and `notes-prompt`, are the plugin's, in both. A hook never breaks or
blocks a session: whatever goes wrong is one line on stderr, nothing on stdout, and exit code 0. It
starts at every session, so each imports what it needs, and nothing heavy.
"""

from __future__ import annotations

import gc
import os
import sys
from pathlib import Path, PurePosixPath

EVENTS = ("session-start", "pre-compact", "memory", "notes-start", "notes-prompt")
STDIN_BYTES = 1024 * 1024


def answer(name: str, content: bytes, projects: Path) -> str:
    """Do what an event asks for and return what goes to stdout.

    Args:
        projects: the one directory below which files are touched.

    Raises:
        CspaceError, OSError: it could not be done; nothing is half-written.
    """
    # Here, so that a broken installation breaks no session either.
    from cspace.errors import CspaceError  # noqa: PLC0415

    if name not in EVENTS:
        raise CspaceError(f"{name!r} is none of {', '.join(EVENTS)}")
    if name == "memory":
        return _dump_context(_memory_block())
    if name == "notes-start":
        return _dump_context(_notes_counts())
    if name == "notes-prompt":
        return _dump_context(_notes_suggestions(content), "UserPromptSubmit")
    return _answer_in_instance(name, content, projects)


def _answer_in_instance(name: str, content: bytes, projects: Path) -> str:
    from cspace.hooks.event import parse_event  # noqa: PLC0415  two of five
    from cspace.sessions.place import Place  # noqa: PLC0415

    place = Place(os.environ.get("CSPACE_INSTANCE", ""), projects, PurePosixPath())
    event = parse_event(content, projects)
    if name == "session-start":
        from cspace.hooks.session_start import render_context  # noqa: PLC0415

        return _dump_context(render_context(event, place, _memory_block_if_any()))
    from cspace.clock import utc_now  # noqa: PLC0415
    from cspace.hooks.pre_compact import keep_current_state  # noqa: PLC0415

    keep_current_state(event, place, utc_now)
    return ""


def _dump_context(context: str, event: str = "SessionStart") -> str:
    """Return JSON with the context to add, nothing where there is none."""
    import json  # noqa: PLC0415  a hook that says nothing needs none

    output = {"hookEventName": event, "additionalContext": context}
    return json.dumps({"hookSpecificOutput": output}) if context else ""


def _memory_block() -> str:
    from cspace.hooks.memory_block import find_here, render_block  # noqa: PLC0415  as above
    from cspace.paths import INSIDE, curated_memory, user_directory  # noqa: PLC0415

    user = user_directory(Path.home())
    inside = bool(os.environ.get("CSPACE_INSTANCE"))
    root = Path(INSIDE.curated) if inside else curated_memory(user)
    return render_block(find_here(root, user, Path.cwd()), _write_error)


def _notes_counts() -> str:
    from cspace.hooks.notes import find_notes, render_counts  # noqa: PLC0415  as above
    from cspace.paths import user_directory  # noqa: PLC0415

    repository = find_notes(Path.cwd(), user_directory(Path.home()))
    return render_counts(repository) if repository else ""


def _notes_suggestions(content: bytes) -> str:
    from cspace.hooks.event import parse_prompt  # noqa: PLC0415  as above
    from cspace.hooks.notes import find_notes, keep_prompt, render_suggestions  # noqa: PLC0415
    from cspace.paths import user_directory  # noqa: PLC0415

    prompt = parse_prompt(content)
    repository = find_notes(Path.cwd(), user_directory(Path.home()))
    if repository is None:
        return ""
    try:
        keep_prompt(repository, prompt)
    except Exception as error:  # noqa: BLE001  as in main
        _write_error(error)
    return render_suggestions(repository, prompt.text)


def _memory_block_if_any() -> str:
    """Return the block, or say why there is none: the notes do not depend on it."""
    try:
        return _memory_block()
    except Exception as error:  # noqa: BLE001  as in main
        _write_error(error)
        return ""


def main(words: list[str]) -> None:
    """Run one hook; never raises."""
    try:
        from cspace.paths import INSIDE  # noqa: PLC0415  as above

        content = sys.stdin.buffer.read(STDIN_BYTES)
        said = answer(" ".join(words), content, Path(INSIDE.projects))
        if said:
            _write(1, said)
    except BaseException as error:  # noqa: BLE001  the boundary: a session goes on without us
        _write_error(error)


def _write_error(error: BaseException) -> None:
    text = " ".join(f"{type(error).__name__}: {error}".split())[:500]
    _write(2, f"cspace hook: {text.encode('ascii', 'backslashreplace').decode()}\n")


def _write(descriptor: int, text: str) -> None:
    left = text.encode()
    try:
        while left:
            left = left[os.write(descriptor, left) :]
    except OSError:
        return  # nobody listens


if __name__ == "__main__":
    # Looking for garbage is a tenth of all that this does, and there is hardly any.
    gc.disable()
    main(sys.argv[1:])
    # Nothing is left to flush, and taking the interpreter down takes milliseconds.
    os._exit(0)
