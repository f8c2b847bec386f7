"""What an editor is given to fill in, and what is read from it."""

from __future__ import annotations

import pytest

from cspace.context.draft import parse_draft, parse_note_draft, render_draft, render_note_draft
from cspace.context.records import Kind
from cspace.errors import UsageError

TITLE = "Use -->\n## Context\x1b"


def test_what_is_filled_in_comes_back_whatever_it_holds() -> None:
    texts = {"context": "## Decision\nno", "alternatives": "```\n## Context\n```"}
    draft = render_draft(Kind.DECISION, TITLE, texts)
    typed = draft.replace("## Consequences\n", "## Consequences\n\n### Why\n\nübel\n\n")
    found = parse_draft(Kind.DECISION, TITLE, typed)
    assert found == texts | {"decision": "", "consequences": "### Why\n\nübel"}


def test_a_title_does_not_end_the_drafts_first_line_or_comment() -> None:
    head, _, _ = render_draft(Kind.DISCOVERY, TITLE, {}).partition("\n")
    assert head.isprintable()
    assert head.count("-->") == 1


def test_a_finding_is_asked_for_no_history() -> None:
    draft = render_draft(Kind.FINDING, "x", {})
    assert "## Details" in draft
    assert "## Updates" not in draft
    typed = draft.replace("## Details\n", "## Details\nIn\n## Updates\n")
    assert parse_draft(Kind.FINDING, "x", typed)["details"] == "In\n## Updates"


def test_an_editor_that_adds_a_mark_and_carriage_returns_is_understood() -> None:
    draft = render_draft(Kind.DISCOVERY, "x", {"finding": "a\nb", "impact": "c"})
    typed = "\ufeff" + draft.replace("\n", "\r\n")
    assert parse_draft(Kind.DISCOVERY, "x", typed) == {"finding": "a\r\nb", "impact": "c"}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("## Impact\n", ""), "no line ## Impact"),
        (("## Finding\n", "lost words\n\n## Finding\n"), "a text above ## Finding"),
        (("<!-- ", "lost "), "a text above ## Finding"),
    ],
)
def test_words_that_belong_nowhere_are_refused_and_not_dropped(
    change: tuple[str, str], said: str
) -> None:
    draft = render_draft(Kind.DISCOVERY, "x", {"finding": "a", "impact": "b"}).replace(*change)
    with pytest.raises(UsageError, match=said):
        parse_draft(Kind.DISCOVERY, "x", draft)


def test_a_note_is_what_stands_below_the_first_line() -> None:
    draft = render_note_draft(TITLE, "open")
    assert parse_note_draft(TITLE, "open", draft) == ""
    assert parse_note_draft(TITLE, "open", f"{draft}\n# a\n\nb\n") == "# a\n\nb"
