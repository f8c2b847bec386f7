"""The formats of tokens that scan knows, as their vendors describe them.

A token counts by its own marks: a prefix that its vendor chose, a fixed alphabet and length.
Nothing is judged by how random it looks, so hashes, UUIDs and plain words never count.

Every expression takes time in proportion to the text, whatever stands in it: what repeats
is possessive or bounded, and no two parts that repeat can take the same character.
"""

from __future__ import annotations

from dataclasses import dataclass

# No letter or digit before a token, so that a longer word does not hold one by chance.
_START = r"(?<![A-Za-z0-9])"
_END = r"(?![A-Za-z0-9])"
# The gap between a key's header and its first line: line ends, also written \n, and quoting,
# also that of a patch.
_GAP = r"(?:\\[nr]|\n\+ ?|[^A-Za-z0-9+/\\]){1,16}+"


@dataclass(frozen=True, slots=True)
class Rule:
    """One format.

    Attributes:
        name: stable, for example `github-token`.
        marks: texts of which a token holds at least one; where none stands, pattern is not tried.
        pattern: matches the token; a group `secret` is the part that is judged as a placeholder.
            A text: compiling all of them takes as long as a hook's whole work.
    """

    name: str
    marks: tuple[str, ...]
    pattern: str


def _prefixed(name: str, prefixes: str, rest: str, *marks: str) -> Rule:
    """Return the rule of tokens that start with one of prefixes (`a|b`) and go on with rest.

    Args:
        marks: for prefixes that are no plain text; else the prefixes themselves.
    """
    pattern = f"{_START}(?:{prefixes})(?P<secret>{rest})"
    return Rule(name, marks or tuple(prefixes.replace("\\", "").split("|")), pattern)


def _matching(name: str, pattern: str, *marks: str) -> Rule:
    return Rule(name, marks, pattern)


_WORD = "[A-Za-z0-9_-]"
_PLAIN = "[A-Za-z0-9]"
_HEX = "[0-9a-f]"

RULES = (
    _prefixed("github-token", "ghp_|gho_|ghu_|ghs_|ghr_", f"{_PLAIN}{{36,}}+"),
    _prefixed("github-fine-grained-token", "github_pat_", f"{_PLAIN}{{22}}_{_PLAIN}{{59}}"),
    _prefixed(
        "gitlab-token", "glpat-|gldt-|glrt-|glft-|glcbt-|glagent-|glsoat-", f"{_WORD}{{20,}}+"
    ),
    _prefixed("gitlab-trigger-token", "glptt-", f"{_HEX}{{40}}{_END}"),
    _prefixed("gitlab-runner-registration", "GR1348941", f"{_WORD}{{20,}}+"),
    _prefixed(
        "anthropic-key",
        r"sk-ant-[a-z]{2,10}\d{2}-",
        f"{_WORD}{{24,}}+",
        "sk-ant-",
    ),
    _prefixed("openai-key", "sk-proj-|sk-svcacct-|sk-admin-", f"{_WORD}{{40,}}+"),
    _prefixed("openai-key", "sk-", f"{_PLAIN}{{48}}{_END}"),
    _prefixed("openrouter-key", "sk-or-v1-", f"{_HEX}{{64}}{_END}"),
    _prefixed("aws-access-key-id", "AKIA|ASIA|ABIA|ACCA", f"[A-Z0-9]{{16}}{_END}"),
    _matching(
        "aws-secret-key",
        r"(?i:aws_?secret_?(?:access_?)?key)[\"']?[ \t]{0,8}[=:][ \t]{0,8}[\"']?"
        r"(?P<secret>[A-Za-z0-9+/]{40})(?![A-Za-z0-9+/=])",
        *("aws_secret", "AWS_SECRET", "awsSecret", "AwsSecret", "awssecret"),
    ),
    _prefixed("aws-bedrock-key", "ABSK", "[A-Za-z0-9+/]{109,}+={0,2}"),
    _prefixed("slack-token", "xoxb-|xoxp-|xoxa-|xoxr-|xoxs-|xoxo-|xoxe-", r"[A-Za-z0-9-]{20,}+"),
    _prefixed("slack-app-token", "xapp-", rf"\d-[A-Z0-9]{{6,20}}-\d{{8,16}}-{_HEX}{{32,}}+"),
    _prefixed(
        "slack-webhook",
        r"hooks\.slack\.com/(?:services|workflows)/",
        r"[TA][A-Z0-9]{6,14}/[A-Z0-9]{6,22}/[A-Za-z0-9]{18,}+",
        "hooks.slack.com/",
    ),
    _prefixed("stripe-live-key", "sk_live_|rk_live_", f"{_PLAIN}{{16,}}+"),
    _prefixed("stripe-webhook-secret", "whsec_", f"{_PLAIN}{{32,}}+"),
    _prefixed("google-api-key", "AIza", f"{_WORD}{{35}}(?!{_WORD})"),
    _prefixed("google-oauth-secret", "GOCSPX-", f"{_WORD}{{28}}"),
    _prefixed("google-access-token", r"ya29\.", f"{_WORD}{{60,}}+"),
    _prefixed("google-refresh-token", "1//0", f"{_WORD}{{40,}}+"),
    _prefixed("npm-token", "npm_", f"{_PLAIN}{{36}}{_END}"),
    _prefixed("pypi-token", "pypi-AgEIcHlwaS5vcmc|pypi-AgENdGVzdC5weXBpLm9yZw", f"{_WORD}{{50,}}+"),
    _prefixed("rubygems-key", "rubygems_", f"{_HEX}{{48}}{_END}"),
    _prefixed("crates-io-token", "cio", f"{_PLAIN}{{32}}{_END}"),
    _prefixed("docker-hub-token", "dckr_pat_|dckr_oat_", f"{_WORD}{{27,}}+"),
    _prefixed("hugging-face-token", "hf_|api_org_", f"[A-Za-z]{{34}}{_END}|{_PLAIN}{{34}}{_END}"),
    _prefixed("groq-key", "gsk_", f"{_PLAIN}{{52}}{_END}"),
    _prefixed("replicate-token", "r8_", f"{_PLAIN}{{37}}{_END}"),
    _prefixed("perplexity-key", "pplx-", f"{_PLAIN}{{48}}{_END}"),
    _prefixed("xai-key", "xai-", f"{_PLAIN}{{80}}{_END}"),
    _prefixed("digitalocean-token", "dop_v1_|doo_v1_|dor_v1_", f"{_HEX}{{64}}{_END}"),
    _prefixed("sendgrid-key", r"SG\.", rf"{_WORD}{{22}}\.{_WORD}{{43}}(?!{_WORD})"),
    _prefixed("twilio-key", "SK", f"{_HEX}{{32}}{_END}"),
    _prefixed("azure-storage-key", "AccountKey=", "[A-Za-z0-9+/]{86}=="),
    _matching(
        "azure-client-secret",
        r"(?<![A-Za-z0-9_~.-])(?P<secret>[A-Za-z0-9_~.-]{3}\dQ~[A-Za-z0-9_~.-]{31,34})"
        r"(?![A-Za-z0-9_~.-])",
        "Q~",
    ),
    _prefixed("cloudflare-origin-key", r"v1\.0-", f"{_HEX}{{24}}-{_HEX}{{146}}{_END}"),
    _prefixed("shopify-token", "shpat_|shpca_|shppa_|shpss_", f"[0-9A-Fa-f]{{32}}{_END}"),
    _prefixed("square-token", "sq0atp-|sq0csp-", f"{_WORD}{{22,}}+"),
    _prefixed("databricks-token", "dapi", rf"{_HEX}{{32}}{_END}"),
    _prefixed("vault-token", r"hvs\.|hvb\.|hvr\.", f"{_WORD}{{24,}}+"),
    _matching(
        "terraform-cloud-token",
        rf"{_START}(?P<secret>{_PLAIN}{{14}}\.atlasv1\.{_WORD}{{60,}}+)",
        ".atlasv1.",
    ),
    _prefixed("doppler-token", r"dp\.pt\.|dp\.st\.|dp\.ct\.|dp\.sa\.", r"[A-Za-z0-9._-]{40,}+"),
    _prefixed("linear-key", "lin_api_|lin_oauth_", f"{_PLAIN}{{40,}}+"),
    _prefixed("notion-token", "ntn_", f"{_PLAIN}{{40,}}+"),
    _prefixed("atlassian-token", "ATATT3xFfGF0|ATCTT3xFfGN0", "[A-Za-z0-9_=-]{60,}+"),
    _prefixed("grafana-token", "glsa_", f"{_PLAIN}{{32}}_{_HEX}{{8}}{_END}"),
    _prefixed("new-relic-key", "NRAK-", f"[A-Z0-9]{{27}}{_END}"),
    _prefixed("postman-key", "PMAK-", f"{_HEX}{{24}}-{_HEX}{{34}}{_END}"),
    _prefixed("pulumi-token", "pul-", f"{_HEX}{{40}}{_END}"),
    _prefixed("planetscale-token", "pscale_tkn_|pscale_pw_|pscale_oauth_", r"[A-Za-z0-9_.-]{32,}+"),
    _prefixed("sentry-token", "sntryu_", f"{_HEX}{{64}}{_END}"),
    _prefixed("sentry-token", "sntrys_", r"eyJ[A-Za-z0-9+/=_-]{60,}+"),
    _prefixed("airtable-token", "pat", rf"{_PLAIN}{{14}}\.{_HEX}{{64}}{_END}"),
    _prefixed("figma-token", "figd_", f"{_WORD}{{40,}}+"),
    _prefixed(
        "discord-webhook",
        r"discord(?:app)?\.com/api/webhooks/",
        rf"\d{{17,20}}/{_WORD}{{60,}}+",
        "/api/webhooks/",
    ),
    _matching(
        "telegram-bot-token", rf"{_START}(?P<secret>\d{{8,10}}:AA{_WORD}{{33}})(?!{_WORD})", ":AA"
    ),
    _prefixed("age-secret-key", "AGE-SECRET-KEY-1", f"[A-Z0-9]{{58}}{_END}"),
    _matching(
        "jwt",
        rf"(?<!{_WORD})(?P<secret>eyJ{_WORD}{{10,}}+\.eyJ{_WORD}{{10,}}+\.{_WORD}{{20,}}+)",
        "eyJ",
    ),
    _matching(
        "private-key",
        rf"-----BEGIN (?:[A-Z0-9]{{2,10}} ){{0,2}}PRIVATE KEY(?: BLOCK)?-----{_GAP}"
        rf"(?:(?:Proc-Type|DEK-Info|Version|Comment):[^\n\\]{{0,120}}+{_GAP}){{0,4}}+"
        r"(?P<secret>[A-Za-z0-9+/]{24})",
        "PRIVATE KEY",
    ),
    _matching(
        "url-password",
        r"(?<![A-Za-z0-9+])(?:postgres|postgresql|mysql|mariadb|mssql|sqlserver|oracle|mongodb"
        r"|redis|rediss|valkey|amqp|amqps|clickhouse|cockroachdb|ldap|ldaps|ftp|ftps|sftp|smtp"
        r"|smtps|ssh|git|https?)"
        r"(?:\+[a-z0-9]{1,12})?://(?P<user>[^\s:/@\"'`<>]{0,64}+):"
        r"(?P<secret>[^\s/@\"'`<>]{3,256}+)@[A-Za-z0-9\[]",
        "://",
    ),
)
