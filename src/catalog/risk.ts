/** What a call may do, from harmless to dangerous. An MCP tool is `network` unless the user's configuration lowers it. */
export type Risk = "read" | "write" | "execute" | "network" | "credential" | "destructive";

const known: Readonly<Record<Risk, true>> = {
  read: true,
  write: true,
  execute: true,
  network: true,
  credential: true,
  destructive: true,
};

/** True for the name of a {@link Risk}. */
export function isRisk(value: unknown): value is Risk {
  return typeof value === "string" && Object.hasOwn(known, value);
}
