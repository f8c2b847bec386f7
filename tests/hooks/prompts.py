"""Prompts as people type them, and memories of a shop that some of them are about."""

from __future__ import annotations

from cspace.hooks.topics import About

MEMORIES = {
    "rs256": About("Chose RS256 over HS256 for JWT signing", ("jwt", "security"), "Two services."),
    "rotate": About("Rotate the signing keys each month", ("jwt", "user-auth"), "By a job."),
    "postgres": About("Chose PostgreSQL for its JSONB support", ("postgres",), "Orders vary."),
    "cookies": About("The test client drops cookies between calls", ("tests",), "See conftest.py"),
    "sql": About(
        "User input goes into the SQL text of the order search",
        ("security", "src/orders/search.py"),
        "`build_query` joins strings.",
    ),
    "callback": About("The identity provider refuses our callback address", ("oauth",), "A slash."),
    "retries": About("Retries of the payment gateway need an idempotency key", ("payments",), ""),
    "timeout": About("Timeouts of outside services are missing in new clients", (), "Pattern."),
    "cache": About("The product cache is keyed by locale and currency", ("caching",), "Redis."),
    "migration": About("Migrations of the orders table lock it for minutes", ("migrations",), ""),
    "pagination": About(
        "Cursor pagination instead of offsets for the catalogue", ("catalogue",), ""
    ),
    "csv": About(
        "The CSV export escapes leading equals signs", ("export",), "Spreadsheets run it."
    ),
    "webhook": About("Webhooks of the carrier arrive twice and out of order", ("shipping",), ""),
    "rounding": About("Prices are integers of cents; rounding happens once, at tax", ("tax",), ""),
    "flaky": About(
        "The checkout test is flaky because of the fake clock", ("tests",), "Freeze it."
    ),
    "image": About("Thumbnails are made by a worker, not in the request", ("images",), ""),
    "locale": About("Dates are stored in UTC and shown in the shop's time zone", ("dates",), ""),
    "spec": About("Guest checkout stays possible without an account", ("guest-checkout",), ""),
    "ci": About("CI builds the image once and reuses it for all jobs", ("ci",), "Minutes saved."),
    "search": About("Full-text search moved from LIKE to a trigram index", ("search",), ""),
    "rate": About("Rate limiting happens at the gateway, by API key", ("gateway",), ""),
    "mail": About("Order mails are sent from an outbox table", ("mail",), "`OutboxWorker`"),
    "deploy": About("Deployments drain connections for thirty seconds first", ("deploy",), ""),
    "retro": About("Done in two days; key rotation was left out of the plan", ("user-auth",), ""),
    "progress": About("Login issues RS256 tokens, with tests", ("user-auth",), ""),
}

# What each should bring up; any one of them is enough.
ABOUT = (
    ("Why did we choose RS256 for the tokens?", {"rs256", "progress"}),
    ("The JWT verification fails in the second service, have a look", {"rs256"}),
    ("look at src/orders/search.py and make the query faster", {"sql"}),
    ("refactor `build_query` so that it takes a dict", {"sql"}),
    ("rotating the signing keys by hand is annoying, automate it", {"rotate"}),
    ("What do we know about postgres here?", {"postgres"}),
    ("The test client loses its cookies, why?", {"cookies"}),
    ("add a retry to the payment gateway client", {"retries"}),
    ("the carrier's webhooks are processed twice", {"webhook"}),
    ("Continue with user-auth please", {"rotate", "retro", "progress"}),
    ("implement guest checkout as in the spec", {"spec"}),
    ("prices are off by one cent, is it the rounding of tax?", {"rounding"}),
    ("why does the migration of the orders table take so long", {"migration"}),
    ("OutboxWorker dies every night", {"mail"}),
    ("the CSV export opens formulas in spreadsheets", {"csv"}),
    ("thumbnails take seconds to show up, can the worker be faster", {"image"}),
    ("let's use offset pagination in the catalogue", {"pagination"}),
    ("Where do we do rate limiting? At the gateway?", {"rate"}),
    ("the identity provider says our callback is not registered", {"callback"}),
    ("is conftest.py still used", {"cookies"}),
)

ORDINARY = (
    "fix the failing test",
    "please run the tests and tell me what fails",
    "yes",
    "continue",
    "ok, go ahead",
    "commit this with a good message",
    "what does this function do?",
    "can you explain the error above?",
    "add a docstring to every public function",
    "rename the variable to something better",
    "Hello! What can you do?",
    "write a README for this project",
    "the build is broken since yesterday, please look",
    "why is this so slow?",
    "make it faster",
    "undo the last change",
    "add type annotations everywhere",
    "there is a typo in the help text",
    "show me the diff before you commit",
    "create a new branch and push it",
    "Thanks, that works. Now clean up the code a bit.",
    "which files did you change?",
    "add logging to the main loop",
    "I get a TypeError when I start the app, see the traceback",
    "update the dependencies to their latest versions",
    "split this file into two modules",
    "write unit tests for the parser",
    "the button on the second page does nothing",
    "add an option --verbose to the command line",
    "summarize what we did today",
)
