/** The closed sets of words that payloads use; `payloads.ts` makes types of them and `schema.ts` checks them. */

/** How far a call that gave no usable answer had come. */
export const failureOutcomes = ["not_sent", "unknown", "answered"] as const;

/** `tool.failed.reason` */
export const toolFailureReasons = [
  "permission_denied",
  "no_approver",
  "arguments_not_kept",
  "mcp_server_restarted",
  "mcp_server_unstable",
  "mcp_server_permanently_failed",
  "mcp_server_not_connected",
  "mcp_server_removed",
  "mcp_server_pending",
  "auth_required",
  "too_many_asks",
  "connection_lost",
  "timeout",
  "remote_error",
  "cancelled_by_server",
  "invalid_arguments",
  "invalid_result",
  "quarantined",
  "too_many_rounds",
  "too_large",
  "host_restarted",
  "session_closed",
  "not_logged",
] as const;

/** `mcp.server.crashed.reason` */
export const crashReasons = [
  "exit",
  "signal",
  "start_failed",
  "start_timeout",
  "frame_too_large",
  "noise",
  "flood",
  "over_limit",
  "unreachable",
] as const;

/** `mcp.server.shutdown.reason` */
export const shutdownReasons = ["removed", "disabled", "closed", "config_changed"] as const;

/** What the end of a server's processes rests on. */
export const containments = ["cgroup", "pid_namespace", "process_group", "none"] as const;

export const risks = ["read", "write", "execute", "network", "credential", "destructive"] as const;

/** What a server may ask while it works on a call. */
export const inputKinds = ["form", "url", "sampling", "roots"] as const;

/** What became of it: a person's answer, or the lack of one. */
export const inputActions = ["accept", "decline", "cancel", "expired", "withdrawn", "failed"] as const;

/** Who wants a call. */
export const callers = ["model", "caller", "gateway", "user"] as const;

/** Who decided. */
export const actors = ["user", "policy", "timeout", "host"] as const;

/** Where a decision came from. */
export const decisionSources = [
  "default",
  "rule",
  "pin",
  "user_explicit_include",
  "session_allow_once",
  "session_allow",
  "always_allow",
  "allow_once",
  "user_deny",
  "timeout",
  "no_approver",
  "host_stop",
] as const;

/** Members of payloads that hold one of these words, or an id of ours: what tells an event from others of its type. */
export const correlatingMembers: ReadonlySet<string> = new Set([
  "action",
  "actor",
  "by",
  "containment",
  "decision",
  "kind",
  "lastReason",
  "level",
  "outcome",
  "reason",
  "requestId",
  "risk",
  "riskAtDecision",
  "scope",
  "server",
  "sourcedFrom",
  "toolCallId",
]);

/** `mcp.catalog.changed.kind` */
export const offerKinds = ["resources", "templates", "prompts"] as const;

/** `mcp.resource.requested.action` */
export const resourceActions = ["read", "include", "subscribe"] as const;

/** What an acknowledged append is worth. */
export const levels = ["durable", "none", "memory"] as const;
