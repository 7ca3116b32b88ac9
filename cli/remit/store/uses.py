"""How often an approval was used, over all runs and processes of the user."""

from __future__ import annotations

from remit.store.db import transaction


class ApprovalUses:
    """Counts of uses, by the stable id of an entry (file digest and index)."""

    def __init__(self, state_dir: str) -> None:
        self._state_dir = state_dir

    def take(self, entry: str, limit: int) -> bool:
        """Use the entry once more if it was used fewer than `limit` times. Atomic over processes and
        on disk when this returns True. Raises EnvironmentFault, UsageFault."""
        if limit < 1:
            return False
        with transaction(self._state_dir) as state:
            taken = state.execute(
                "INSERT INTO approval_uses (entry, used) VALUES (?, 1)"
                " ON CONFLICT (entry) DO UPDATE SET used = used + 1 WHERE used < ?",
                (entry, limit),
            )
            return taken.rowcount == 1
