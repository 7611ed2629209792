"""Laws as Python: a function of the quantities on the right side, with the fitted numbers written in."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from thence.errors import ConfigError
from thence.statements.laws.sentences import format_statement

if TYPE_CHECKING:
    from thence.statements.laws.law import Law


def law_to_python(law: Law, place: str | None = None) -> str:
    """Return a Python module without imports: the band, and a function that computes the right side.

    Args:
        law: The law.
        place: The place whose parameters are used; by default the first that keeps the law.

    Raises:
        ConfigError: If the law is no formula, or there is no such place.
    """
    if law.expression is None:
        raise ConfigError(
            f"a law of the form '{law.form}' is a sum, which has no function", hint="laws with a formula have one"
        )
    kept = [one for one in law.by_place if one.rows and one.share >= law.min_confidence] or list(law.by_place)
    chosen = next((one for one in (kept if place is None else law.by_place) if place in (None, one.place)), None)
    if chosen is None:
        known = ", ".join(one.place for one in law.by_place[:5])
        raise ConfigError(f"the law has no place '{place}' (places: {known})")
    is_sum = len(law.left) > 1  # what a formula calls it, since no sensor reads it
    what = law.expression.left if is_sum else law.left[0][1].name
    name = re.sub(r"\W+", "_", what.lower()).strip("_") or "value"
    name = f"{'change_of_' if law.expression.is_change else ''}{name if not name[0].isdigit() else f'n_{name}'}"
    sensors = dict(zip((term.role for term in law.terms), chosen.sensors, strict=False))
    rows = [f"    {role}: {id}" for role, id in sensors.items()]
    about = "\n".join([f"{format_statement(law)}.\n", f"    At {chosen.place}:", *rows, "    "])
    values = dict(zip(law.parameters, chosen.parameters, strict=True))
    function = law.expression.to_python(values, name=name, about=about)
    return f"BAND = {law.band.absolute!r}  # {law.unit or 'the unit of the left side'}\n\n\n{function}"
