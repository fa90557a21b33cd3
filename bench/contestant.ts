/** Where a contestant finds its server. */
export interface Target {
  readonly transport: "stdio" | "http";
  readonly era: "legacy" | "modern";
  /** stdio: the script of the echo server, started with `node` from the path. */
  readonly script: string;
  /** HTTP: the endpoint. */
  readonly url: string;
}

/** A connected client, ready to call the echo tool. */
export interface Caller {
  /** Calls `echo` once and resolves with the text that came back. */
  call(message: string): Promise<string | undefined>;
  close(): Promise<void>;
}

/** Every contestant module exports this as `open`. */
export type Open = (target: Target) => Promise<Caller>;

export const LEGACY_VERSION = "2025-11-25";
export const MODERN_VERSION = "2026-07-28";
export const CLIENT_INFO: { name: string; version: string } = { name: "bench", version: "1.0.0" };
