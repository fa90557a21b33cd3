/** Where a server is in its life. Status, tool list and dispatch are all derived from this one value. */
export type ServerState =
  | "disabled"
  | "pending"
  | "not_started"
  | "starting"
  | "ready"
  | "restarting"
  | "idle_disconnected"
  | "auth_required"
  | "permanently_failed"
  | "removed";
