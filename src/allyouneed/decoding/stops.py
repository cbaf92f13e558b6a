"""Stop strings: a text that is written piece by piece ends where one of them begins."""

from collections.abc import Sequence

from allyouneed.errors import UsageError


class Cutter:
    """Lets text through up to the first stop string, which may come in many pieces: its beginnings are held back."""

    def __init__(self, stops: Sequence[str]) -> None:
        if "" in stops:
            raise UsageError("A stop string is empty: it would stop every text at once.")
        self.stops = tuple(stops)
        self.stopped = False
        self._held = ""

    def add(self, text: str) -> str:
        """What can be shown once `text` has come. Nothing follows after a stop string."""
        if self.stopped:
            return ""
        self._held += text
        found = [place for place in map(self._held.find, self.stops) if place >= 0]
        if found:
            self.stopped = True
            return self._show(min(found))
        return self._show(len(self._held) - self._begun())

    def rest(self) -> str:
        """What was held back and turned out to be no stop string."""
        return "" if self.stopped else self._show(len(self._held))

    def _show(self, end: int) -> str:
        shown, self._held = self._held[:end], self._held[end:]
        return shown

    def _begun(self) -> int:
        """How many characters at the end may be the beginning of a stop string."""
        longest = max(map(len, self.stops), default=1) - 1
        lengths = range(min(longest, len(self._held)), 0, -1)
        return next((n for n in lengths if any(stop.startswith(self._held[-n:]) for stop in self.stops)), 0)
