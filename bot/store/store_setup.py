"""Makes whole stores, whichever they are: new, brought up to date, or stopped to be copied."""

from contextlib import AbstractContextManager
from pathlib import Path

from bot.store.database import StoreAddress, WholeStore
from bot.store.opening import require_driver


def prepare(store: StoreAddress) -> None:
    """Make a store, or bring it up to date, and finish a restore that was cut short. Raises
    `bot.store.files.StoreUnavailable`, `StoreTooNew` and `StoreDamaged`, and `bot.store.integrity.StoresDiffer`.
    """
    if isinstance(store, Path):  # each imported where it is used: `bot test` makes a store for each test
        from bot.store.sqlite_schema import migrate as migrate_files
        from bot.store.store_backup import finish_restore

        finish_restore(store)
        migrate_files(store)
    else:
        require_driver()
        from bot.store.postgres_schema import migrate as migrate_database

        migrate_database(store)


def stopped_store(store: StoreAddress) -> AbstractContextManager[WholeStore]:
    """A whole store to copy from, intact and of this version, which nobody else uses meanwhile. Raises
    `bot.store.files.StoreLocked`, and as the readers above.
    """
    if isinstance(store, Path):
        from bot.store.sqlite_copy import stopped_files

        return stopped_files(store)
    require_driver()
    from bot.store.postgres_copy import stopped_database

    return stopped_database(store)


def new_store(store: StoreAddress) -> AbstractContextManager[WholeStore]:
    """A new store without rows, to copy to. When the block has ended, it is there and durable; or nothing is.

    Raises `bot.store.files.StoreExists`, `StoreLocked` and `StoreUnavailable`.
    """
    if isinstance(store, Path):
        from bot.store.sqlite_copy import new_store_of_files

        return new_store_of_files(store)
    require_driver()
    from bot.store.postgres_copy import new_store_in_database

    return new_store_in_database(store)
