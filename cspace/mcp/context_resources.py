"""The context as resources: what people wrote, and every record by its slug."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError
from mcp.server.mcpserver.resources import FunctionResource
from mcp_types import Resource

from cspace.context import listing
from cspace.context.digest import one_line
from cspace.context.records import HUMAN, Info, Kind
from cspace.context.store import ContextStore
from cspace.docstore import slugs
from cspace.errors import CspaceError, NotFound, UsageError
from cspace.mcp.server import Server
from cspace.mcp.tools import explain

MIME = "text/markdown"
# What a person is offered to pick from; every other record has an address too.
NEWEST = 20
HUMAN_TITLES = {
    "direction": "What is built, for whom, and why",
    "principles": "What is not negotiable",
    "roadmap": "What comes next, and what does not",
}


def add_resources(server: Server, store: ContextStore) -> None:
    """Offer a store's files at `context://<name>` and `context://<kind>/<slug>`."""
    for name in HUMAN:
        server.add_resource(_human(store, name))
    for kind in Kind:
        _add_template(server, store, kind)
    server.listed = lambda: tuple(_listed(store))


def _human(store: ContextStore, name: str) -> FunctionResource:
    def read() -> str:
        return _told(store, lambda: store.read_human(name) or _missing(store, name))

    uri, title = f"context://{name}", HUMAN_TITLES[name]
    return FunctionResource.from_function(read, uri, name=name, title=title, mime_type=MIME)


def _missing(store: ContextStore, name: str) -> str:
    if _exists(store, name):
        return ""  # it is there, and empty
    raise NotFound(f"{name}.md is not written yet", hint="a person writes it: cspace init makes it")


def _add_template(server: Server, store: ContextStore, kind: Kind) -> None:
    def read(slug: str) -> str:
        return _told(store, lambda: store.read_entry(kind, slug).text)

    server.resource(
        f"context://{kind}/{{slug}}",
        name=kind.value,
        title=f"A {kind} by its slug",
        description=f"One {kind} whole. The slug is as list_entries shows it.",
        mime_type=MIME,
    )(read)


def _listed(store: ContextStore) -> Iterator[Resource]:
    store.check_root()
    for name in HUMAN:
        if _exists(store, name):
            yield Resource(
                uri=f"context://{name}", name=name, title=HUMAN_TITLES[name], mime_type=MIME
            )
    entries = listing.list_entries(store, limit=NEWEST).entries
    yield from (_entry(info) for info in entries if _has_address(info))


def _has_address(info: Info) -> bool:
    """Tell whether a record's name is a slug; a person may have named a file otherwise."""
    try:
        return bool(slugs.check_slug(info.slug))
    except UsageError:
        return False


def _exists(store: ContextStore, name: str) -> bool:
    try:
        return store.read_human(name) is not None
    except CspaceError:
        return False  # a link, or no file at all


def _entry(info: Info) -> Resource:
    return Resource(
        uri=f"context://{info.kind}/{info.slug}",
        name=info.slug,
        title=one_line(info.title),
        description=" · ".join(one_line(one) for one in (info.kind, info.date, info.status) if one),
        mime_type=MIME,
    )


def _told(store: ContextStore, read: Callable[[], str]) -> str:
    """Read, and turn what went wrong into the SDK's errors, which carry their text to a client."""
    try:
        return read()
    except (NotFound, UsageError) as error:
        raise ResourceNotFoundError(explain(error, store.root)) from error
    except CspaceError as error:
        raise ResourceError(explain(error, store.root)) from error
