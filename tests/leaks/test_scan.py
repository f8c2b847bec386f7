"""Tokens of the known formats are found, ordinary text is not, and no secret is repeated."""

from __future__ import annotations

import time
import uuid
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cspace.leaks.rules import RULES
from cspace.leaks.scan import Leak, scan
from tests.leaks.samples import SAMPLES, hexadecimal, mixed, url_safe

MEGABYTE = 1_000_000
# As vendors' documents, tutorials and templates print them.
DOCUMENTED = (
    "AKIAIOSFODNN7EXAMPLE",
    "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "ghp_" + "x" * 36,
    "github_pat_" + "X" * 22 + "_" + "X" * 59,
    "sk-ant-api03-...",
    "export ANTHROPIC_API_KEY=sk-ant-api03-" + "x" * 60,
    "hf_" + "x" * 34,
    "Authorization: Bearer <token>",
    ".".join(
        (
            "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9",
            "eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9lIn0",
            "SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c",
        )
    ),
    "postgres://user:password@localhost:5432/shop",
    "postgresql+asyncpg://postgres:postgres@db/shop",
    "mysql://root:root@127.0.0.1/shop",
    "redis://:${REDIS_PASSWORD}@cache:6379",
    "amqp://guest:guest@localhost//",
    "https://user:<password>@example.com/",
    "mongodb://{user}:{password}@{host}/",
    "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----",
    "grep -r 'BEGIN RSA PRIVATE KEY' .",
)
HOSTILE = (
    "eyJ",
    "eyJ" + "a" * 20 + ".",
    "-",
    "ghp_",
    "glpat-",
    "sk-",
    "sk-ant-",
    "a:",
    "redis://",
    "redis://a:bcd",
    "https://a:" + "b" * 60,
    "-----BEGIN PRIVATE KEY-----",
    "-----BEGIN PRIVATE KEY-----\n" + "Version: 1\n",
    "-----BEGIN PRIVATE KEY-----\\n" + "A" * 23 + " ",
    "Q~",
    "a8Q~",
    "xoxb-",
    "dp.pt.",
    "aws_secret_access_key" + " " * 8,
    "aws_secret",
    "a" * 14 + ".atlasv1.",
    "1//0",
    "123456789:AA",
    "hooks.slack.com/services/T",
    "AccountKey=",
)


@pytest.mark.parametrize(("rule", "token"), SAMPLES, ids=[rule for rule, _ in SAMPLES])
def test_a_token_is_found_with_its_place(rule: str, token: str) -> None:
    assert scan(f"Fixed the login.\n\n  set it to '{token}' here\n") == (Leak(3, 14, rule),)


def test_every_format_has_a_sample_and_there_are_three_dozen() -> None:
    assert {rule.name for rule in RULES} == {rule for rule, _ in SAMPLES}
    assert len({rule.name for rule in RULES}) >= 36


@pytest.mark.parametrize(("rule", "token"), SAMPLES, ids=[rule for rule, _ in SAMPLES])
def test_a_leak_holds_nothing_of_the_secret(rule: str, token: str) -> None:
    (leak,) = scan(token)
    assert {leak.rule, leak.line, leak.column} == {rule, 1}
    assert str(leak) == f"{rule} in line 1, column 1"
    assert not any(token[at : at + 8] in repr(leak) for at in range(4, len(token) - 8))


@pytest.mark.parametrize("text", DOCUMENTED)
def test_what_documents_show_in_a_secrets_place_is_no_leak(text: str) -> None:
    assert scan(text) == ()


def test_hashes_and_ids_are_no_leaks() -> None:
    names = [sha256(str(number).encode()).hexdigest() for number in range(500)]
    lines = [f"{name} {name[:40]} sha256:{name} {name[:32]}-us.tar" for name in names]
    lines += [f"sha512-{mixed(86)}== {uuid.UUID(name[:32])} {url_safe(22)}" for name in names]
    assert scan("\n".join(lines)) == ()


def test_this_repositorys_own_text_is_clean() -> None:
    root = Path(__file__).parents[2]
    places = (*root.glob("cspace/**/*.py"), *root.glob("docs/**/*.md"), root / "CHANGELOG.md")
    leaks = {path.name: scan(path.read_text(encoding="utf-8")) for path in places}
    assert {name: found for name, found in leaks.items() if found} == {}


def test_several_leaks_come_in_the_order_of_the_text() -> None:
    first, second = "np" + "m_" + mixed(36), "ghp" + "_" + mixed(36)
    found = scan(f"{first} {second}\nx\n{first}")
    assert found == (Leak(1, 1, "npm-token"), Leak(1, 42, "github-token"), Leak(3, 1, "npm-token"))


def test_a_token_inside_a_longer_word_is_none() -> None:
    assert scan("a" + "AK" + "IA" + "B" * 16) == ()
    assert scan("AK" + "IA" + "B" * 17) == ()
    assert scan("task-" + hexadecimal(40)) == ()


@pytest.mark.parametrize("part", HOSTILE)
def test_a_megabyte_of_anything_is_scanned_in_a_moment_hazard(part: str) -> None:
    text = (part * (MEGABYTE // len(part) + 1))[:MEGABYTE]
    before = time.process_time()
    scan(text)
    assert time.process_time() - before < 2


def test_a_megabyte_of_leaks_in_one_line_takes_a_moment_hazard() -> None:
    text = " ".join("ghp" + "_" + mixed(36) for _ in range(MEGABYTE // 41))
    before = time.process_time()
    assert len(scan(text)) == MEGABYTE // 41
    assert time.process_time() - before < 2


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=200), st.text(max_size=50))
def test_a_token_is_found_whatever_stands_around_it(before: str, after: str) -> None:
    token = "ghp" + "_" + mixed(36)
    assert "github-token" in {leak.rule for leak in scan(f"{before} {token} {after}")}


def test_bytes_that_are_no_utf_8_are_scanned_too() -> None:
    text = b"\xff\xfe ".decode(errors="surrogateescape") + "ghp" + "_" + mixed(36)
    assert scan(text) == (Leak(1, 4, "github-token"),)
