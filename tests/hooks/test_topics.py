"""A prompt that names something known brings it up; ordinary words bring up nothing."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cspace.hooks.topics import MOST_TERMS, About, is_about, topic_of
from tests.hooks.prompts import ABOUT, MEMORIES, ORDINARY


def about(prompt: str) -> set[str]:
    topic = topic_of(prompt)
    return {name for name, memory in MEMORIES.items() if is_about(topic, memory)}


def test_prompts_that_name_something_known_bring_it_up() -> None:
    missed = [prompt for prompt, expected in ABOUT if not about(prompt) & expected]
    assert len(ABOUT) == 20
    assert missed == ["The test client loses its cookies, why?"]


def test_of_thirty_ordinary_prompts_none_brings_up_anything() -> None:
    assert len(ORDINARY) == 30
    assert {prompt: about(prompt) for prompt in ORDINARY if about(prompt)} == {}


def test_prompts_about_something_bring_up_little_else() -> None:
    others = [about(prompt) - expected for prompt, expected in ABOUT]
    assert sum(map(len, others)) <= len(ABOUT) / 2


def test_words_in_fences_and_addresses_are_no_topic() -> None:
    assert not topic_of("```\nRS256 build_query\n```")
    assert not topic_of("see https://example.org/RS256/build_query")


@pytest.mark.parametrize(
    "prompt", ["look at oauth.py", "look at auth.pyc", "my_auth.py", "AUTH.PYX"]
)
def test_a_file_is_named_as_a_whole(prompt: str) -> None:
    assert not is_about(topic_of(prompt), About("Tokens", ("src/auth.py",), ""))


@pytest.mark.parametrize(
    "prompt", ["look at auth.py", "src/auth.py", "in `src/auth.py`:", "AUTH.PY"]
)
def test_a_file_is_found_by_its_name_and_by_its_path(prompt: str) -> None:
    assert is_about(topic_of(prompt), About("Tokens", ("src/auth.py",), ""))


def test_only_the_beginning_of_a_long_prompt_counts_hazard() -> None:
    topic = topic_of("x " * 5_000 + "RS256")
    assert not topic
    many = topic_of(" ".join(f"name_{number}" for number in range(500)))
    assert len(many.named) <= MOST_TERMS


@pytest.mark.parametrize("part", ["a/", "`", "```", "a.", "a_", "://", "-", "x.y/", "A1", "'\"*("])
def test_a_megabyte_of_anything_takes_a_moment_hazard(part: str) -> None:
    before = time.process_time()
    topic_of(part * (1_000_000 // len(part)))
    assert time.process_time() - before < 0.1


def test_a_long_line_of_dashes_takes_a_moment_hazard() -> None:
    before = time.process_time()
    for _ in range(10):
        topic_of("-" * 2_000)
    assert time.process_time() - before < 0.1


@pytest.mark.parametrize("part", ["ä ", "日本 ", "word "])
def test_a_body_of_any_length_takes_a_moment_hazard(part: str) -> None:
    topic = topic_of("parse_token in src/auth.py, TokenStore, RS256, foo_bar and baz_qux")
    body = part * (1_000_000 // len(part))
    before = time.process_time()
    assert not any(is_about(topic, About("Another matter", (), body)) for _ in range(12))
    assert time.process_time() - before < 0.1


def test_what_a_body_names_at_its_beginning_is_what_it_is_about() -> None:
    topic = topic_of("why does parse_token fail?")
    assert is_about(topic, About("Another matter", (), f"{'word ' * 500}parse_token"))


@given(st.text(), st.text(), st.text())
def test_any_text_is_a_prompt_and_a_memory(prompt: str, summary: str, body: str) -> None:
    assert is_about(topic_of(prompt), About(summary, (body,), prompt)) in (True, False)
