import type { LocalTool } from "../catalog/local_tool.ts";
import type { EventInput } from "../events/event.ts";
import { cancelled, untilAborted, whenAborted } from "../kernel/abort.ts";
import type { Timer } from "../kernel/clock.ts";
import { causeCode, HostError, isHostError } from "../kernel/errors.ts";
import { kindOf } from "../kernel/kind_of.ts";
import { tell } from "../kernel/listener.ts";
import type { ContentBlock, JsonObject, Progress } from "../protocol/model.ts";
import { faultOf, scrubbedExcerpt } from "../servers/fault.ts";
import type { Call, CallContext } from "./call.ts";
import { artifactStored, toolCancelled, toolCompleted, toolFailed, toolStarted } from "./call_events.ts";
import type { Outcome } from "./outcome.ts";
import { patienceOf, readOutput } from "./output.ts";

const TIMEOUT_MS = 60_000;
const MAX_TOTAL_MS = 600_000;

/** Runs an allowed local tool under a deadline. `before` are the events that the call rests on and that are not in the log yet. */
export async function callLocal(
  call: Call,
  tool: LocalTool,
  before: readonly EventInput[],
  context: CallContext,
): Promise<Outcome> {
  if (call.signal.aborted) return await notRun(call, before, context);
  await call.append([...before, toolStarted(call)]);
  const startedAt = context.clock.monotonic();
  const deadline = new Deadline(call, context);
  try {
    const running = Promise.resolve().then(() => {
      // Given up while it was logged as started: it does not begin.
      if (deadline.signal.aborted) throw cancelled(`Call of ${call.tool}`, deadline.signal);
      return tool.run(call.args, {
        signal: deadline.signal,
        toolCallId: call.toolCallId,
        ...(call.options.onProgress === undefined ? {} : { onProgress: (progress) => deadline.progress(progress) }),
      });
    });
    const result = await untilAborted(running, `Call of ${call.tool}`, deadline.signal);
    const output = await readOutput(
      resultOf(result),
      { ...context.output, patienceMs: deadline.patienceMs },
      call.signal,
    );
    const events = [toolCompleted(call, output, Math.round(context.clock.monotonic() - startedAt))];
    if (output.artifact !== undefined) events.unshift(artifactStored(call, output.artifact));
    return await call.end(events, true, () => call.completed(output));
  } catch (error) {
    return await endLocal(call, error, deadline.signal.aborted, context);
  } finally {
    deadline.clear();
  }
}

/** Ends a call that was given up before it began. */
async function notRun(call: Call, before: readonly EventInput[], context: CallContext): Promise<Outcome> {
  const error = cancelled(`Call of ${call.tool}`, call.signal);
  if (!isHostError(error, "ERR_SESSION_CLOSED")) {
    return await call.end([...before, toolCancelled(call, "not_sent")], false, () => call.cancelled());
  }
  const fault = faultOf(error, context.scrubber);
  return await call.end(
    [...before, toolFailed(call, "session_closed", "not_sent", fault)],
    false,
    () => call.failed("failed", "session_closed", fault),
  );
}

async function endLocal(call: Call, error: unknown, wasStopped: boolean, context: CallContext): Promise<Outcome> {
  const { scrubber } = context;
  if (!wasStopped) {
    // The tool's own words are for whoever called it; the log keeps a text that is the same on every runtime.
    const text = error instanceof Error && !isHostError(error) ? error.message : faultOf(error, scrubber).message;
    const failed = `Local tool ${call.tool} failed`;
    const fault = { code: causeCode(error), message: `${failed}: ${scrubbedExcerpt(text, scrubber)}` };
    const logged = { code: fault.code, message: failed };
    return await call.end(
      [toolFailed(call, "invalid_result", "answered", logged)],
      true,
      () => call.failed("failed", "invalid_result", fault),
    );
  }
  const fault = faultOf(error, scrubber);
  if (isHostError(error, "ERR_TIMEOUT")) {
    return await call.end(
      [toolFailed(call, "timeout", "unknown", fault)],
      true,
      () => call.failed("unknown", "timeout", fault),
    );
  }
  if (isHostError(error, "ERR_SESSION_CLOSED")) {
    return await call.end(
      [toolFailed(call, "session_closed", "unknown", fault)],
      true,
      () => call.failed("unknown", "session_closed", fault),
    );
  }
  return await call.end([toolCancelled(call, "unknown")], true, () => call.cancelled());
}

function resultOf(result: string | { readonly content: readonly ContentBlock[] }): JsonObject {
  if (typeof result === "string") return { content: [{ type: "text", text: result }] };
  if (Array.isArray((result as { content?: unknown } | null | undefined)?.content)) {
    return result as unknown as JsonObject;
  }
  throw new HostError(
    "ERR_PROTOCOL",
    `found ${kindOf(result)}, wanted a string or an object with content, a list of blocks`,
  );
}

/** Fires with the caller, the session, or when the tool was silent for too long; its own progress buys it time. */
class Deadline {
  readonly #controller = new AbortController();
  readonly #call: Call;
  readonly #context: CallContext;
  readonly #timeoutMs: number;
  readonly #hardAt: number;
  readonly #leave: () => void;
  #timer: Timer | undefined;
  #isOver = false;

  constructor(call: Call, context: CallContext) {
    this.#call = call;
    this.#context = context;
    this.#timeoutMs = call.options.timeoutMs ?? TIMEOUT_MS;
    this.#hardAt = context.clock.monotonic() + Math.max(MAX_TOTAL_MS, this.#timeoutMs);
    const onAbort = (): void => this.#controller.abort(call.signal.reason);
    if (call.signal.aborted) onAbort();
    this.#leave = whenAborted(call.signal, onAbort);
    this.#arm();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get patienceMs(): number {
    return patienceOf(this.#timeoutMs, this.#call.durationMs);
  }

  progress({ progress, total, message }: Progress): void {
    if (this.#isOver || typeof progress !== "number") return;
    this.#arm();
    const { scrubber, onError } = this.#context;
    const shown: Progress = {
      progress,
      ...(total === undefined ? {} : { total }),
      ...(message === undefined ? {} : { message: scrubbedExcerpt(message, scrubber) }),
    };
    // The caller's own code; its fault must not end the call.
    tell(() => this.#call.options.onProgress?.(shown), onError);
  }

  clear(): void {
    this.#isOver = true;
    this.#timer?.cancel();
    this.#leave();
  }

  #arm(): void {
    this.#timer?.cancel();
    const { clock } = this.#context;
    const delayMs = Math.max(0, Math.min(this.#timeoutMs, this.#hardAt - clock.monotonic()));
    this.#timer = clock.after(delayMs, () => {
      const found = `it was silent for ${delayMs} ms`;
      this.#controller.abort(new HostError("ERR_TIMEOUT", `Call of ${this.#call.tool} timed out: ${found}`));
    });
  }
}
