import type { ParseLimits } from "./bounded_parse.ts";
import type { FrameParser, LargeFrames } from "./frames.ts";
import { messageOf, type ParsedMessage } from "./message.ts";
import { type SpillParse, SpillParser, WHOLE_FRAME_BYTES } from "./spill.ts";
import { abortSpills, type SpillSink } from "./spill_sink.ts";

export interface LargeFramesOptions {
  /** Where long strings go. */
  readonly sink: SpillSink;
  readonly limits?: ParseLimits;
}

/** Reads frames over 1 MiB as they arrive; their long strings go to the sink. */
export function largeFrames({ sink, limits }: LargeFramesOptions): LargeFrames {
  return {
    maxWholeBytes: WHOLE_FRAME_BYTES,
    open(): FrameParser {
      const parser = new SpillParser({ sink, ...(limits === undefined ? {} : { limits }) });
      return {
        get isRefused() {
          return parser.isRefused;
        },
        push: (bytes) => parser.push(bytes),
        end() {
          const parse = parser.end();
          return parse instanceof Promise ? parse.then(messageOfParse) : messageOfParse(parse);
        },
        abort: () => parser.abort(),
      };
    },
  };
}

/** Only an answer has somebody who may want its long strings. */
function messageOfParse(parse: SpillParse): ParsedMessage {
  if (!parse.ok) return { kind: "malformed", reason: parse.reason, ...requestId(parse.id) };
  const message = messageOf(parse.value);
  if (message.kind === "result" && parse.spills.length > 0) return { ...message, spills: parse.spills };
  abortSpills(parse.spills);
  return message;
}

function requestId(id: unknown): { readonly id?: string | number } {
  return typeof id === "string" || typeof id === "number" ? { id } : {};
}
