"""What a line that is no message gets for an answer."""

from __future__ import annotations

import json
from typing import Any

from mcp_types import INVALID_REQUEST, PARSE_ERROR, ErrorData, JSONRPCError, RequestId
from pydantic import ValidationError

NOT_JSON = "the line is not JSON in UTF-8"
BATCH = "a batch is not part of this protocol: send one message a line"
NOT_A_MESSAGE = 'the line is not a JSON-RPC 2.0 message: {"jsonrpc": "2.0", "id", "method", ...}'


def refuse_line(problem: Exception) -> JSONRPCError | None:
    """Return the answer to a line that could not be read; None where nothing can be said.

    It names the request wherever an id can be made out, so that nobody waits for an answer.

    Args:
        problem: what the SDK's reader raised for the line.
    """
    if not isinstance(problem, ValidationError):
        return None
    inputs = [one["input"] for one in problem.errors(include_url=False, include_context=False)]
    whole = next((one for one in inputs if isinstance(one, dict)), inputs[0])
    if isinstance(whole, str) and not whole.strip():
        return None  # an empty line between messages does no harm
    if isinstance(whole, str):
        return _error(PARSE_ERROR, NOT_JSON, _id_of(_lenient(whole)))
    said = BATCH if isinstance(whole, list) else NOT_A_MESSAGE
    return _error(INVALID_REQUEST, said, _id_of(whole))


def _lenient(line: str) -> Any:
    # A lone surrogate is no text, but a request may be seen around it.
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _id_of(message: Any) -> RequestId | None:
    found = message.get("id") if isinstance(message, dict) and "method" in message else None
    return found if isinstance(found, str | int) and not isinstance(found, bool) else None


def _error(code: int, message: str, request: RequestId | None) -> JSONRPCError:
    return JSONRPCError(jsonrpc="2.0", id=request, error=ErrorData(code=code, message=message))
