import type { RestartConfig } from "./config.ts";

/** What is known about a server's crashes at the moment of another one. */
export interface CrashHistory {
  /** Crashes in a row before this one. */
  readonly crashes: number;
  /** How long the server was ready before this crash; `undefined` when it never was since its start. */
  readonly readyForMs: number | undefined;
}

/** What follows a crash. `crashes` counts this one and is the next history's. */
export type RestartStep =
  | { readonly kind: "restart"; readonly crashes: number; readonly delayMs: number }
  | { readonly kind: "give_up"; readonly crashes: number };

/** Decides what follows a crash. Must be pure up to its randomness. Another policy may stand in its place. */
export interface RestartPolicy {
  nextStep(history: CrashHistory, config: RestartConfig): RestartStep;
}

/** Share of the delay by which it may be longer or shorter, so that many servers do not start in step. */
const JITTER = 0.1;

/**
 * Exponential backoff: `baseMs` doubling up to `capMs`, 10 % longer or shorter, at most `maxRestarts` in a row. Crashes
 * stop being in a row once the server was ready for `resetAfterMs`, not at the mere connect. `random` gives 0 to 1.
 */
export function nextStep(history: CrashHistory, config: RestartConfig, random: () => number): RestartStep {
  const healthy = history.readyForMs !== undefined && history.readyForMs >= config.resetAfterMs;
  const crashes = (healthy ? 0 : history.crashes) + 1;
  if (!config.auto || crashes > config.maxRestarts) return { kind: "give_up", crashes };
  const delayMs = Math.min(config.capMs, config.baseMs * 2 ** (crashes - 1));
  const spread = 1 + JITTER * (2 * random() - 1);
  return { kind: "restart", crashes, delayMs: Math.min(config.capMs, Math.round(delayMs * spread)) };
}

/** The longest delay that every runtime's timers hold. */
const MAX_DELAY_MS = 2_147_483_647;

/** True for what a policy may answer: one of the user's may answer anything. */
export function isRestartStep(value: unknown): value is RestartStep {
  if (typeof value !== "object" || value === null) return false;
  const { kind, crashes, delayMs } = value as Record<string, unknown>;
  if (!Number.isSafeInteger(crashes) || (crashes as number) < 0) return false;
  return kind === "give_up" ||
    (kind === "restart" && typeof delayMs === "number" && delayMs >= 0 && delayMs <= MAX_DELAY_MS);
}

/** The policy of a host that names no other. */
export function exponentialBackoff(random: () => number = Math.random): RestartPolicy {
  return Object.freeze({
    nextStep: (history: CrashHistory, config: RestartConfig): RestartStep => nextStep(history, config, random),
  });
}

/** Why calls that a crash cut off have failed: by how often the server has crashed in a row. */
export function lossReason(
  step: RestartStep,
): "mcp_server_restarted" | "mcp_server_unstable" | "mcp_server_permanently_failed" {
  if (step.kind === "give_up") return "mcp_server_permanently_failed";
  return step.crashes === 1 ? "mcp_server_restarted" : "mcp_server_unstable";
}
