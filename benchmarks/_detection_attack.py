from typing import Any


def run_attack(store: Any, given: Any) -> None:
    print("not yet")
