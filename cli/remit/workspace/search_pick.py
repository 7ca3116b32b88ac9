"""What a walk hands the names it comes upon to: the first files that fit, and how many there are."""

from __future__ import annotations

from remit.workspace.search_glob import NamePattern
from remit.workspace.search_scan import MAX_ENTRIES


class Pick:
    """Files that fit a pattern (None: all): the first `most` names in order (None: every one), and, where it
    counts, their number."""

    def __init__(self, pattern: NamePattern | None, most: int | None, *, counts: bool = False) -> None:
        self.names: list[str] = []
        self.number = 0
        self._pattern = pattern
        self._most = MAX_ENTRIES if most is None else most
        self.counts = counts

    @property
    def full(self) -> bool:
        return len(self.names) >= self._most

    def take(self, lead: str, bases: list[str]) -> None:
        """Files of one directory, the next ones in order. lead: what stands before their base names."""
        room = self._most - len(self.names)
        if room > 0:
            fitting = bases if self._pattern is None else self._pattern.among(lead, bases)
            self.number += len(fitting)
            self.names += [lead + base for base in fitting[:room]]
        elif self.counts:
            self.number += len(bases) if self._pattern is None else self._pattern.number(lead, bases)
