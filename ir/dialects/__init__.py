"""One file per dialect; every op is declared in one class."""
