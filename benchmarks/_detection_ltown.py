from typing import Any


def run_ltown(store: Any, given: Any) -> None:
    print("not yet")
