import type { EventInput } from "../events/event.ts";
import type { Clock } from "../kernel/clock.ts";
import { tell } from "../kernel/listener.ts";
import type { Progress } from "../protocol/model.ts";
import type { Scrubber } from "../scrub/scrubber.ts";
import { scrubbedExcerpt } from "../servers/fault.ts";

/** Least time between two events of one call. */
const INTERVAL_MS = 250;
const MAX_MESSAGE = 1000;

export interface ProgressRelayOptions {
  readonly server: string;
  readonly toolCallId: string;
  readonly turnId: string | undefined;
  readonly clock: Clock;
  readonly scrubber: Scrubber;
  readonly append: (event: EventInput) => void;
  readonly listener: ((progress: Progress) => void) | undefined;
  readonly onError: (error: unknown) => void;
}

/** Passes a server's progress on: all of it to the caller, a little of it to the log, none after the call's end. */
export class ProgressRelay {
  readonly #options: ProgressRelayOptions;
  #loggedAt = -Infinity;
  #isOver = false;

  constructor(options: ProgressRelayOptions) {
    this.#options = options;
  }

  readonly report = ({ progress, total, message }: Progress): void => {
    if (this.#isOver) return;
    const { server, toolCallId, turnId, clock, scrubber, append, listener, onError } = this.#options;
    const shown: Progress = {
      progress,
      ...(total === undefined ? {} : { total }),
      ...(message === undefined ? {} : { message: scrubbedExcerpt(message, scrubber, MAX_MESSAGE) }),
    };
    const now = clock.monotonic();
    if (now - this.#loggedAt >= INTERVAL_MS) {
      this.#loggedAt = now;
      append({
        type: "mcp.call.progress",
        payload: { server, toolCallId, ...shown },
        ...(turnId === undefined ? {} : { turnId }),
      });
    }
    // The caller's own code; its fault must not end the call.
    tell(() => listener?.(shown), onError);
  };

  end(): void {
    this.#isOver = true;
  }
}
