"""One file a dialect; every op is declared in one class."""
