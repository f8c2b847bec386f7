# What Claude Code's configuration should be, from what it is.
#
# Input, slurped: .claude.json, settings.json, the workspace's .mcp.json; {} for an absent one.
# $helper: the command that prints the API key, or "" while there is no such secret; $ours: its name.
# Output, lines: the new .claude.json, the new settings.json, each empty when it may stay as it is; then
# one for each server that is not registered yet, how to: "root" or "plain", "memory", "notes".

def entry($arguments; $env): {type: "stdio", command: "cspace", args: $arguments, env: $env};
def essence: {command, args: (.args // [])};

def servers: ["cspace-context", "cspace-memory", "cspace-notes"];

# Our hooks, at whatever path an older version put Python.
def ours: type == "object" and ((.command? // "") | type == "string" and test("(^| )-m cspace\\.hooks( |$)"));
def without_ours:
  map(if type == "object" and (.hooks | type) == "array" and any(.hooks[]; ours)
      then .hooks |= map(select(ours | not)) | select(.hooks != []) else . end);
# hook EVENT; NAME: settings with our hook on EVENT. What is no list of hooks is a person's, and stays.
def hook($event; $name):
  {hooks: [{type: "command", command: "/opt/cspace/bin/python -I -m cspace.hooks \($name)", timeout: 10}]} as $wanted
  | if (.hooks | type | . != "object" and . != "null") or (.hooks[$event]? | type | . != "array" and . != "null") then .
    elif [.hooks[$event][]? | select(. == $wanted)] == [$wanted]
      and ([.hooks[$event][]? | .hooks?[]? | select(ours)] | length) == 1 then .
    else .hooks[$event] = ((.hooks[$event] // [] | without_ours) + [$wanted]) end;

if length == 3 then . else error("one of the files holds more than one JSON text") end
| . as [$state, $settings, $project]

# Claude Code warns when scopes define one name with different arguments, whichever of them it uses:
# where the project names the server as `cspace init` does, ours must read the same. Its environment
# may differ, and says the root there, since Claude Code may be started in a subdirectory.
| entry(["context-server", "--root", "/workspace"]; {}) as $root
| entry(["context-server"]; {CLAUDE_PROJECT_DIR: "/workspace"}) as $plain
| (if $project.mcpServers["cspace-context"] | essence == ($plain | essence)
   then {how: "plain", server: $plain} else {how: "root", server: $root} end) as $wanted
| def toolset($name): {how: $name, server: entry(["context-server", "--toolset", $name]; {})};
  [[$wanted, "cspace-context"], [toolset("memory"), "cspace-memory"], [toolset("notes"), "cspace-notes"]
   | select(.[1] as $name | $state.mcpServers[$name] != .[0].server)] as $missing

| ($state
   | .hasCompletedOnboarding = true
   | .projects["/workspace"].hasTrustDialogAccepted = true
   | reduce $missing[][1] as $name (.; del(.mcpServers[$name]))) as $new_state

# The servers that run are the registered ones: a branch that changes .mcp.json can not replace them,
# and nobody is asked to approve a second one. The bypass mode's warning says what an instance is.
| ($settings
   | .disabledMcpjsonServers = ((.disabledMcpjsonServers // []) - servers + servers)
   # Its start deletes transcripts that are older, 30 days by default; those of an instance are to
   # outlive it. A hundred years: the value has no "never".
   | if has("cleanupPeriodDays") then . else .cleanupPeriodDays = 36500 end
   | if has("skipDangerousModePermissionPrompt") then . else .skipDangerousModePermissionPrompt = true end
   | if $helper != "" and (has("apiKeyHelper") | not) then .apiKeyHelper = $helper
     elif $helper == "" and .apiKeyHelper == $ours then del(.apiKeyHelper)
     else . end
   | hook("SessionStart"; "session-start")
   | hook("PreCompact"; "pre-compact")) as $new_settings

| (if $new_state == $state then "" else $new_state | tojson end),
  (if $new_settings == $settings then "" else $new_settings | tojson end),
  $missing[][0].how
