"""Mutants that are right programs."""


def reason(kernel: str, operator: str, line: int, number: int) -> str | None:
    """Why a mutant is right."""
    return None
