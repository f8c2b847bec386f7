"""Review findings in pairs: those that say the same of other code, and those that do not."""

from __future__ import annotations

ALIKE = (
    (
        "User input goes into the SQL text of the order search",
        "User input reaches the SQL of the customer search",
    ),
    (
        "Missing timeout in the HTTP client of the carrier",
        "No timeout on calls of the payment client",
    ),
    ("The export loads all rows into memory", "The import loads all rows into memory at once"),
    ("Password is written to the log on a failed login", "The log shows the password of a login"),
    ("No test covers an empty cart", "Tests do not cover the empty cart of a guest"),
    ("N+1 queries when the order list is rendered", "The product list makes N+1 queries"),
    ("Error of the mail server is swallowed", "The carrier's error is swallowed without a log"),
    ("Docstring of parse_price names the wrong unit", "The docstring of total names a wrong unit"),
)
DIFFERENT = (
    ("Password reset tokens never expire", "Session tokens are logged"),
    (
        "User input goes into the SQL text of the order search",
        "Cookies are sent without the secure flag",
    ),
    (
        "Missing timeout in the HTTP client of the carrier",
        "The report is computed twice for each request",
    ),
    ("No test covers an empty cart", "The clock is faked in the wrong place"),
    ("The export loads all rows into memory", "The cache is never emptied"),
    ("Order totals are rounded twice", "Orders of guests can be read by anybody"),
    ("The retry loop has no limit", "The webhook's signature is not checked"),
    ("Two modules import each other", "The handler knows the database's columns"),
)
