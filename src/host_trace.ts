import type { HostOptions } from "./host_options.ts";
import { HostError } from "./kernel/errors.ts";
import { type CheckedTrace, readTrace } from "./protocol/trace.ts";

/** A source of traces that never throws and gives nothing that must not go out: a call does not fail for its trace. */
export function checkedTrace(
  source: NonNullable<HostOptions["trace"]>,
  onError: (error: unknown) => void,
): () => CheckedTrace | undefined {
  return () => {
    try {
      const given = source();
      if (given === undefined) return undefined;
      const trace = readTrace(given);
      const wrong = Object.entries(given).find(([part, value]) =>
        value !== undefined && (trace === undefined || !Object.hasOwn(trace, part))
      );
      if (wrong !== undefined) onError(unusable(wrong[0]));
      return trace;
    } catch (error) {
      onError(error);
      return undefined;
    }
  };
}

function unusable(part: string): HostError {
  const found = `found ${JSON.stringify(part.slice(0, 40))} in no format of the W3C, wanted a trace context`;
  return new HostError("ERR_INVALID_ARGUMENTS", `Cannot send the whole trace of a call: ${found}`);
}
