"""Call one tool of the context server as an agent's client does: TOOL ARGUMENTS-AS-JSON."""

import asyncio
import json
import sys

from mcp import Client, StdioServerParameters

SERVER = StdioServerParameters(command="cspace", args=["context-server", "--root", "/workspace"])


async def call(tool: str, arguments: dict[str, object]) -> int:
    """Print the result's text; return 1 where the server refused."""
    async with Client(SERVER) as client:
        result = await client.call_tool(tool, arguments)
    for block in result.content:
        sys.stdout.write(f"{getattr(block, 'text', '')}\n")
    return int(result.is_error)


sys.exit(asyncio.run(call(sys.argv[1], json.loads(sys.argv[2]))))
