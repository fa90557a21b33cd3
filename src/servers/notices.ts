import type { EventInput } from "../events/event.ts";
import type { Clock } from "../kernel/clock.ts";
import type { Scrubber } from "../scrub/scrubber.ts";
import type { LogLevel } from "../protocol/request_meta.ts";
import { scrubbedExcerpt } from "./fault.ts";
import { misdirectedEvent, warningEvent } from "./server_events.ts";

/** Levels of a server's log messages, least grave first (RFC 5424). */
const LEVELS: readonly string[] = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];
const MAX_LOGS = 10;
const WINDOW_MS = 1000;
const MAX_DATA = 4096;
const MAX_KINDS = 64;

/** Turns what a server says unasked into events, and keeps their number small whatever it says. */
export class Notices {
  readonly #server: string;
  readonly #clock: Clock;
  readonly #scrubber: Scrubber;
  readonly #append: (event: EventInput) => void;
  readonly #keptFrom: number;
  readonly #counts = new Map<string, number>();
  #windowStart = -Infinity;
  #inWindow = 0;
  #dropped = 0;

  /** `logLevel` is the least grave level of log messages that become events. */
  constructor(
    server: string,
    clock: Clock,
    scrubber: Scrubber,
    append: (event: EventInput) => void,
    logLevel: LogLevel = "warning",
  ) {
    this.#server = server;
    this.#clock = clock;
    this.#scrubber = scrubber;
    this.#append = append;
    this.#keptFrom = LEVELS.indexOf(logLevel);
  }

  /** Reports the first of a kind, then each tenth, hundredth, thousandth ... */
  warn(kind: string, excerpt: string | undefined): void {
    const key = this.#counts.has(kind) || this.#counts.size < MAX_KINDS ? kind : "other";
    const count = (this.#counts.get(key) ?? 0) + 1;
    this.#counts.set(key, count);
    if (!/^10*$/.test(String(count))) return;
    this.#append(warningEvent(this.#server, key, count, excerpt, this.#scrubber));
    if (key === "misdirected_ask") this.#append(misdirectedEvent(this.#server, count, excerpt, this.#scrubber));
  }

  /** `notifications/message` */
  log(params: unknown): void {
    const { level, logger, data } = (params ?? {}) as { level?: unknown; logger?: unknown; data?: unknown };
    if (typeof level !== "string" || LEVELS.indexOf(level) < this.#keptFrom) return;
    const now = this.#clock.monotonic();
    if (now - this.#windowStart >= WINDOW_MS) {
      this.#windowStart = now;
      this.#inWindow = 0;
    }
    if (++this.#inWindow > MAX_LOGS) {
      this.#dropped++;
      return;
    }
    const dropped = this.#dropped;
    this.#dropped = 0;
    this.#append({
      type: "mcp.log",
      payload: {
        server: this.#server,
        level,
        logger: typeof logger === "string" ? scrubbedExcerpt(logger, this.#scrubber, 256) : undefined,
        data: this.#short(data),
        dropped: dropped === 0 ? undefined : dropped,
      },
    });
  }

  #short(data: unknown): unknown {
    if (typeof data === "string") return scrubbedExcerpt(data, this.#scrubber, MAX_DATA);
    const text = JSON.stringify(data) ?? "null";
    return text.length <= MAX_DATA ? data ?? null : scrubbedExcerpt(text, this.#scrubber, MAX_DATA);
  }
}
