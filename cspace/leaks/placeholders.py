"""Knows the values that documentation shows in a secret's place."""

from __future__ import annotations

import re

# What says so itself, what a template fills in, and runs that nobody's random values have.
_MARKED = re.compile(r"example|placeholder|redacted|[xX]{6}|0{8}|\*{3}|\.{3}|…", re.IGNORECASE)
# Published by their vendors for everybody: jwt.io's token and the key of Azure's emulator.
_PUBLISHED = ("eyJzdWIiOiIxMjM0NTY3ODkw", "Eby8vdM02xNOcqFlqUwJPLlmEtlCDX")
_FILLED_IN = re.compile(r"[$%{\[(].*|[xX*._-]+", re.DOTALL)
_WORDS = frozenset(
    {
        *("password", "passwd", "passphrase", "pass", "pwd", "pw", "secret", "secretpassword"),
        *("mypassword", "my-password", "my_password", "your-password", "your_password"),
        *("yourpassword", "changeme", "change-me", "hunter2", "token", "your-token"),
        *("your_token", "apikey", "api-key", "api_key", "key", "test", "testing", "guest"),
        *("admin", "root", "user", "demo", "foo", "bar", "baz", "abc", "123", "1234", "12345"),
        *("123456", "port", "postgres", "mysql", "mongo", "redis"),
    }
)


def is_placeholder(secret: str) -> bool:
    """Whether secret, a token's own part, is a value that documentation shows."""
    return bool(_MARKED.search(secret)) or any(known in secret for known in _PUBLISHED)


def is_password_placeholder(user: str, password: str) -> bool:
    """Whether user:password of an address is no pair that opens anything.

    Defaults of local databases (`postgres:postgres`) count as such: they are in every tutorial.
    """
    lower = password.lower()
    return (
        is_placeholder(password)
        or lower in _WORDS
        or lower == user.lower()
        or _FILLED_IN.fullmatch(password) is not None
    )
