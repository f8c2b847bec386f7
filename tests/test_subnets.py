from __future__ import annotations

from ipaddress import IPv4Network

from hypothesis import given
from hypothesis import strategies as st

from cspace.engine.subnets import POOLS, find_free, list_routes, parse_routes

POOL = IPv4Network("10.222.0.0/24")


@st.composite
def networks(draw: st.DrawFn) -> IPv4Network:
    """Give networks that lie in the pool, around it, beside it."""
    number = draw(st.integers(int(POOL.network_address) - 600, int(POOL.broadcast_address) + 600))
    return IPv4Network((number, draw(st.integers(20, 32))), strict=False)


@given(st.lists(networks(), max_size=30), st.integers(24, 30))
def test_a_subnet_is_the_first_of_the_pool_that_overlaps_nothing(
    taken: list[IPv4Network], prefix: int
) -> None:
    blocks = POOL.subnets(new_prefix=prefix)
    free = (each for each in blocks if not any(each.overlaps(other) for other in taken))
    assert find_free((POOL,), taken, prefix) == next(free, None)


@given(st.lists(st.integers(24, 30), max_size=40))
def test_subnets_that_are_taken_one_after_the_other_never_overlap(prefixes: list[int]) -> None:
    taken: list[IPv4Network] = []
    for prefix in prefixes:
        found = find_free((POOL,), taken, prefix)
        if found is not None:
            assert not any(found.overlaps(other) for other in taken)
            taken.append(found)


def test_forty_instances_hazard_the_pool_holds_thousands_of_them() -> None:
    taken: list[IPv4Network] = []
    for _ in range(300):
        found = find_free(POOLS, taken, 28)
        assert found is not None
        taken.append(found)
    assert len(set(taken)) == 300


def test_where_all_of_the_first_pool_is_routed_the_second_is_used() -> None:
    found = find_free(POOLS, [IPv4Network("10.0.0.0/8")], 28)
    assert found is not None
    assert found.subnet_of(POOLS[1])


def test_the_kernels_table_is_read_without_the_default_route() -> None:
    heading = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT"
    rows = (
        "eth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0",
        "docker0\t000011AC\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0",
        "tun0\t0000DE0A\t00000000\t0001\t0\t0\t0\tF0FFFFFF\t0\t0\t0",
    )
    text = "\n".join((heading, *rows, ""))
    assert list(map(str, parse_routes(text))) == ["10.222.0.0/28", "172.17.0.0/16"]


def test_this_machines_own_routes_can_be_read() -> None:
    assert all(route.prefixlen for route in list_routes())
