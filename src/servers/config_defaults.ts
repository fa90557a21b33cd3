/** What a server gets where its configuration says nothing. Times are milliseconds. */
export const SERVER_DEFAULTS: {
  readonly timeoutMs: number;
  readonly maxTotalMs: number;
  readonly startTimeoutMs: number;
  readonly probeTimeoutMs: number;
  readonly stopGraceMs: number;
  readonly restart: {
    readonly auto: boolean;
    readonly maxRestarts: number;
    readonly baseMs: number;
    readonly capMs: number;
    readonly resetAfterMs: number;
  };
} = Object.freeze({
  timeoutMs: 60_000,
  maxTotalMs: 600_000,
  startTimeoutMs: 30_000,
  probeTimeoutMs: 3_000,
  stopGraceMs: 5_000,
  restart: Object.freeze({ auto: true, maxRestarts: 3, baseMs: 500, capMs: 10_000, resetAfterMs: 60_000 }),
});
