"""Where a proposal goes: into the outbox of an instance, or among those that wait on the host."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from cspace.memory.changes import Change
from cspace.memory.here import Here, Wanted
from cspace.memory.outbox import file_in_outbox
from cspace.memory.proposal import Provenance
from cspace.memory.proposals import Proposals
from cspace.memory.review import Review


@dataclass(frozen=True, slots=True)
class Filing:
    """What files proposals, for people and for models.

    Attributes:
        outbox: the instance's own; None on a host.
    """

    proposals: Proposals
    here: Here
    outbox: Path | None

    def file(
        self, wanted: Wanted, change: Change, provenance: Provenance, reason: str = ""
    ) -> Review:
        """File a proposal, and return it with its id; on a host the project gets its name for good.

        Args:
            wanted: how the change's scope was named.

        Errors as for `Proposals.file` and `file_in_outbox`.
        """
        if self.outbox is not None:
            return file_in_outbox(self.proposals, self.outbox, change, provenance, reason)
        # What is refused gives no project its name.
        self.proposals.make(change, provenance, reason)
        claimed = replace(change, scope=self.here.get(wanted, claim=True))
        return self.proposals.file(claimed, provenance, reason)
