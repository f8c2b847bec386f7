"""Made-up tokens, put together when a test runs.

No whole token stands in a file: a code host's own scanner would take it for a real one.
"""

from __future__ import annotations

import string
from random import Random

_RANDOM = Random(8)  # noqa: S311  (nothing here is kept secret)
_LOWER_HEX = "0123456789abcdef"
_MIXED = string.ascii_letters + string.digits
_URL_SAFE = _MIXED + "_-"
_UPPER = string.ascii_uppercase + "234567"


def _some(alphabet: str, length: int) -> str:
    return "".join(_RANDOM.choices(alphabet, k=length))


def hexadecimal(length: int) -> str:
    return _some(_LOWER_HEX, length)


def mixed(length: int) -> str:
    return _some(_MIXED, length)


def url_safe(length: int) -> str:
    """Ends in a letter: a dash or an underscore there is no part of what vendors give out."""
    return _some(_URL_SAFE, length - 1) + "a"


def upper(length: int) -> str:
    return _some(_UPPER, length)


def json_part(length: int) -> str:
    return "ey" + "J" + url_safe(length)


def private_key(kind: str = "") -> str:
    lines = "\n".join(_some(_MIXED + "+/", 64) for _ in range(12))
    name = f"{kind}PRIVATE" + " KEY"
    return f"-----BEGIN {name}-----\n{lines}\n-----END {name}-----\n"


def encrypted_key() -> str:
    head = "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0123456789ABCDEF\n\n"
    before, _, rest = private_key("RSA ").partition("\n")
    return f"{before}\n{head}{rest}"


def pgp_key() -> str:
    lines = "\n".join(_some(_MIXED + "+/", 64) for _ in range(12))
    return "-----BEGIN PGP " + f"PRIVATE KEY BLOCK-----\nVersion: 1\n\n{lines}\n"


SAMPLES = (
    ("github-token", "ghp" + "_" + mixed(36)),
    ("github-token", "gho" + "_" + mixed(36)),
    ("github-token", "ghu" + "_" + mixed(36)),
    ("github-token", "ghs" + "_" + mixed(36)),
    ("github-token", "ghr" + "_" + mixed(76)),
    ("github-fine-grained-token", "github" + "_pat_" + mixed(22) + "_" + mixed(59)),
    ("gitlab-token", "glpat" + "-" + url_safe(20)),
    ("gitlab-token", "gldt" + "-" + url_safe(20)),
    ("gitlab-trigger-token", "glptt" + "-" + hexadecimal(40)),
    ("gitlab-runner-registration", "GR13" + "48941" + url_safe(20)),
    ("anthropic-key", "sk-" + "ant-api03-" + url_safe(95)),
    ("anthropic-key", "sk-" + "ant-oat01-" + url_safe(95)),
    ("openai-key", "sk" + "-proj-" + url_safe(140)),
    ("openai-key", "sk" + "-" + mixed(20) + "T3Blbk" + "FJ" + mixed(20)),
    ("openrouter-key", "sk" + "-or-v1-" + hexadecimal(64)),
    ("aws-access-key-id", "AK" + "IA" + upper(16)),
    ("aws-access-key-id", "AS" + "IA" + upper(16)),
    ("aws-secret-key", "aws_secret" + "_access_key = " + mixed(40)),
    ("aws-bedrock-key", "AB" + "SK" + mixed(128)),
    ("slack-token", "xox" + "b-1234567890-" + mixed(24)),
    ("slack-app-token", "xa" + "pp-1-A0123ABCD-1234567890123-" + hexadecimal(64)),
    ("slack-webhook", "hooks.slack" + ".com/services/T0123ABCD/B0123ABCD/" + mixed(24)),
    ("stripe-live-key", "sk" + "_live_" + mixed(24)),
    ("stripe-live-key", "rk" + "_live_" + mixed(99)),
    ("stripe-webhook-secret", "wh" + "sec_" + mixed(32)),
    ("google-api-key", "AI" + "za" + url_safe(35)),
    ("google-oauth-secret", "GOC" + "SPX-" + url_safe(28)),
    ("google-access-token", "ya" + "29." + url_safe(120)),
    ("google-refresh-token", "1/" + "/0" + url_safe(60)),
    ("npm-token", "np" + "m_" + mixed(36)),
    ("pypi-token", "py" + "pi-AgEIcHlwaS5vcmc" + url_safe(120)),
    ("rubygems-key", "ruby" + "gems_" + hexadecimal(48)),
    ("crates-io-token", "ci" + "o" + mixed(32)),
    ("docker-hub-token", "dckr" + "_pat_" + url_safe(27)),
    ("hugging-face-token", "h" + "f_" + mixed(34)),
    ("groq-key", "gs" + "k_" + mixed(52)),
    ("replicate-token", "r" + "8_" + mixed(37)),
    ("perplexity-key", "pp" + "lx-" + mixed(48)),
    ("xai-key", "xa" + "i-" + mixed(80)),
    ("digitalocean-token", "dop" + "_v1_" + hexadecimal(64)),
    ("sendgrid-key", "S" + "G." + url_safe(22) + "." + url_safe(43)),
    ("twilio-key", "S" + "K" + hexadecimal(32)),
    ("azure-storage-key", "Account" + "Key=" + mixed(86) + "=="),
    ("azure-client-secret", mixed(3) + "8" + "Q~" + mixed(34)),
    ("cloudflare-origin-key", "v1" + ".0-" + hexadecimal(24) + "-" + hexadecimal(146)),
    ("shopify-token", "shp" + "at_" + hexadecimal(32)),
    ("square-token", "sq0" + "atp-" + url_safe(22)),
    ("databricks-token", "da" + "pi" + hexadecimal(32)),
    ("vault-token", "hv" + "s." + url_safe(90)),
    ("terraform-cloud-token", mixed(14) + ".atlas" + "v1." + url_safe(67)),
    ("doppler-token", "dp" + ".pt." + mixed(43)),
    ("linear-key", "lin" + "_api_" + mixed(40)),
    ("notion-token", "nt" + "n_" + mixed(46)),
    ("atlassian-token", "ATAT" + "T3xFfGF0" + url_safe(180)),
    ("grafana-token", "gl" + "sa_" + mixed(32) + "_" + hexadecimal(8)),
    ("new-relic-key", "NR" + "AK-" + upper(27)),
    ("postman-key", "PM" + "AK-" + hexadecimal(24) + "-" + hexadecimal(34)),
    ("pulumi-token", "pu" + "l-" + hexadecimal(40)),
    ("planetscale-token", "pscale" + "_tkn_" + url_safe(43)),
    ("sentry-token", "sntr" + "yu_" + hexadecimal(64)),
    ("sentry-token", "sntr" + "ys_" + json_part(150)),
    ("airtable-token", "pa" + "t" + mixed(14) + "." + hexadecimal(64)),
    ("figma-token", "fi" + "gd_" + url_safe(40)),
    ("discord-webhook", "discord" + ".com/api/webhooks/123456789012345678/" + url_safe(68)),
    ("telegram-bot-token", "123456789" + ":A" + "A" + url_safe(33)),
    ("age-secret-key", "AGE-SECRET" + "-KEY-1" + upper(58)),
    ("jwt", json_part(30) + "." + json_part(60) + "." + url_safe(43)),
    ("private-key", private_key()),
    ("private-key", private_key("RSA ")),
    ("private-key", private_key("OPENSSH ")),
    ("private-key", private_key("EC ").replace("\n", "\\n")),
    ("private-key", private_key().replace("\n", "\n+ ")),
    ("private-key", encrypted_key()),
    ("private-key", pgp_key()),
    ("url-password", "postgres" + "://shop:" + mixed(12) + "@db.internal:5432/shop"),
    ("url-password", "mongodb" + "+srv://shop:" + mixed(12) + "@cluster0.abc.net"),
    ("url-password", "redis" + "://:" + mixed(12) + "@cache:6379/0"),
    ("url-password", "https" + "://anna:" + mixed(12) + "@git.internal/shop.git"),
)
