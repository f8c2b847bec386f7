from __future__ import annotations

import pytest

from cspace.errors import UsageError
from cspace.instance.names import PLANETS, check_name, next_name


@pytest.mark.parametrize("name", ["mercury", "a", "0", "x-1", "a" * 40])
def test_a_good_name_is_returned(name: str) -> None:
    assert check_name(name) == name


@pytest.mark.parametrize(
    "name", ["", "-a", "A", "a_b", "a.b", "../up", "a/b", "a" * 41, "ä", "a\n", "a b", "\u0661"]
)
def test_a_bad_name_is_refused_with_its_value(name: str) -> None:
    with pytest.raises(UsageError) as caught:
        check_name(name)
    assert repr(name) in str(caught.value)


def test_planets_come_in_order_and_then_again_with_a_number() -> None:
    assert next_name(()) == "mercury"
    assert next_name({"mercury", "earth"}) == "venus"
    assert next_name(PLANETS) == "mercury-2"
    assert next_name({*PLANETS, "mercury-2"}) == "venus-2"
