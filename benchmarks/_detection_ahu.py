from typing import Any


def run_ahu(store: Any, given: Any) -> None:
    print("not yet")
