"""Add up the work of checking one scenario file, so that many small formulas together cannot pass a limit."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

_account: ContextVar[dict[Hashable, int] | None] = ContextVar("account", default=None)


@contextmanager
def one_account() -> Iterator[None]:
    """Charge the work of all keys that are checked in here to one account: those of a file, with those of its sweep."""
    if _account.get() is not None:
        yield
        return
    token = _account.set({})
    try:
        yield
    finally:
        _account.reset(token)


def is_spent(question: Hashable, limit: int) -> bool:
    """Tell whether the account has more than ``limit`` on it, and ``question`` is new to it."""
    account = _account.get()
    return account is not None and question not in account and sum(account.values()) > limit


def charge(question: Hashable, work: int) -> None:
    """Charge ``work`` to the account; the same question is charged once."""
    account = _account.get()
    if account is not None:
        account[question] = work
