"""How large session notes may be, in tokens that are estimated without a model."""

from __future__ import annotations

from dataclasses import dataclass

from cspace.sessions.sections import find_sections, raw_text

SECTION_TOKENS = 2_000
TOTAL_TOKENS = 12_000
# English and code have about four bytes a token; a character of three bytes is about one token.
BYTES_PER_TOKEN = 4


@dataclass(frozen=True, slots=True)
class Excess:
    """A budget that is exceeded.

    Attributes:
        section: None where it is the whole file.
        tokens: estimated.
    """

    section: str | None
    tokens: int
    limit: int

    def __str__(self) -> str:
        what = self.section or "the whole file"
        return f"{what} has about {self.tokens} tokens, more than {self.limit}"


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of a text: a quarter of its bytes in UTF-8, rounded up."""
    return -(-len(text.encode("utf-8", "surrogatepass")) // BYTES_PER_TOKEN)


def list_excess(notes: str) -> tuple[Excess, ...]:
    """Return the budgets that notes exceed; nothing is cut for it."""
    sizes = [(one.name, estimate_tokens(raw_text(notes, one))) for one in find_sections(notes)]
    above = [Excess(name, size, SECTION_TOKENS) for name, size in sizes if size > SECTION_TOKENS]
    total = estimate_tokens(notes)
    return (*above, *((Excess(None, total, TOTAL_TOKENS),) if total > TOTAL_TOKENS else ()))
