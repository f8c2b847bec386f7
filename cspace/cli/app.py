"""The entry point: registers the commands, and turns every error into an exit code."""

from __future__ import annotations

import gc
import io
import os
import sys
from typing import Annotated

import typer

from cspace.cli import context_server, doctor, inside, lifecycle, project, prune, work
from cspace.cli.colons import whole_words
from cspace.cli.later import load_later
from cspace.cli.render import note, prepare_streams, progress, show_error
from cspace.deps import make_deps
from cspace.errors import EXIT_BUG, CspaceError, expected
from cspace.owner import become_invoking_user

EXIT_INTERRUPTED = 130

app = typer.Typer(
    name="cspace",
    help="A devcontainer of its own for every coding agent, and one memory for all of them.",
    epilog="Start here: cd into a git repository, then: cspace init && cspace up mercury",
    no_args_is_help=True,
    # Rich costs as much start-up time as everything else together.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
project.register(app)
lifecycle.register(app)
inside.register(app)
work.register(app)
doctor.register(app)
app.command()(prune.prune)
app.command()(context_server.context_server)
for name, summary in (
    ("archive", "List, show and remove archived work."),
    ("config", "Show settings and where they come from."),
    ("context", "Read and curate decisions, discoveries and findings."),
    ("findings", "Read and update findings."),
    ("hooks", "Tell Claude Code on this host what memories there are."),
    ("memory", "Read, write and approve memories; read Claude's own."),
    ("net", "Say what instances may reach, and what they were refused."),
    ("notes", "Keep memories with commits, and find them again."),
    ("plugin", "Give Claude Code on this host our commands and hooks."),
    ("quarantine", "List, restore and remove what was moved aside."),
    ("sessions", "Show transcripts, and keep notes of sessions."),
):
    app.add_typer(load_later(f"cspace.cli.{name}", summary), name=name)


def _print_version(*, wanted: bool) -> None:
    if wanted:
        from importlib import metadata  # noqa: PLC0415  30 ms

        typer.echo(f"cspace {metadata.version('cspace')}")
        raise typer.Exit


@app.callback()
def _start(
    given: typer.Context,
    *,
    version: Annotated[  # noqa: ARG001  its callback does the work
        bool,
        typer.Option(
            "--version",
            is_eager=True,
            callback=lambda value: _print_version(wanted=value),
            help="Print the version.",
        ),
    ] = False,
) -> None:
    given.obj = make_deps(progress)


def main() -> None:
    """Run the command line; the one place where errors become exit codes."""
    # Collecting garbage while libraries load takes a tenth of a command's time and finds nothing.
    gc.disable()
    prepare_streams()
    try:
        os.environ.update(become_invoking_user(os.environ))
        with whole_words(os.environ):
            code = app(prog_name="cspace", standalone_mode=False)
    except (KeyboardInterrupt, typer.Abort):
        code = EXIT_INTERRUPTED
    except typer.Exit as leave:
        sys.exit(leave.exit_code)
    except BrokenPipeError:
        # Whoever read our output has gone; point stdout away so that closing it does not fail too.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except (CspaceError, OSError) as error:
        known = expected(error)
        show_error(known)
        sys.exit(known.exit_code)
    except Exception as error:  # noqa: BLE001  the boundary: what is left is a bug
        sys.exit(_report_bug(error))
    # Typer turns ^C into this code by itself; programs in an instance replace this process.
    if code == EXIT_INTERRUPTED:
        note("interrupted; the same command takes up where it stopped")
        # Not sys.exit, in the middle of which threads that are still at work would print.
        os._exit(code)
    sys.exit(code if isinstance(code, int) else 0)


def _report_bug(error: Exception) -> int:
    """Show click's own usage errors as they are; write anything else into a log file."""
    show = getattr(error, "show", None)
    if show is not None:
        said = io.StringIO()
        show(said)
        note(said.getvalue())
        return int(getattr(error, "exit_code", 2))
    import tempfile  # noqa: PLC0415  what follows is not on the way of a command that works
    import traceback  # noqa: PLC0415
    from importlib import metadata  # noqa: PLC0415

    with tempfile.NamedTemporaryFile(
        "w", prefix="cspace-bug-", suffix=".log", delete=False, encoding="utf-8"
    ) as log:
        log.write(f"cspace {metadata.version('cspace')}, Python {sys.version}, {sys.platform}\n")
        log.write("".join(traceback.format_exception(error)))
    note(f"error: this is a bug in cspace: {type(error).__name__}: {error}")
    note(f"hint: please report it with {log.name}")
    return EXIT_BUG


if __name__ == "__main__":
    main()
