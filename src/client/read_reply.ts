import { HostError } from "../kernel/errors.ts";
import { unusable } from "../jsonrpc/peer_errors.ts";
import type { Settled } from "../jsonrpc/pending.ts";
import { abortSpills, wholeOf } from "../jsonrpc/spill_sink.ts";
import type { Era } from "../protocol/era.ts";
import { readCallResult } from "../protocol/results.ts";
import type { FailedReply, Reply } from "./reply.ts";

/** A result of these is of use as a text too, where it was put aside as a whole. */
const USABLE_AS_TEXT: ReadonlySet<string> = new Set(["tools/call", "tasks/result"]);

/** What the end of a request means in the era that it was sent in. */
export function readReply(era: Era, method: string, settled: Settled): Reply {
  const { resends = 0 } = settled;
  if (!settled.ok) return failed(settled.error, settled.sent, settled.refused, resends);
  const meaning = era.read(method, settled.result);
  const { bytes, spills } = settled;
  if (wholeOf(spills) !== undefined && !(meaning.kind === "done" && USABLE_AS_TEXT.has(method))) {
    abortSpills(spills);
    return failed(unusable(method, "too_large"), true, false, resends);
  }
  if (meaning.kind === "done") {
    const reply: Reply = { kind: "done", result: meaning.result, bytes, resends };
    return spills === undefined ? reply : { ...reply, spills };
  }
  abortSpills(spills);
  return meaning.kind === "invalid" ? failed(meaning.error, true, false, resends) : { ...meaning, bytes, resends };
}

/** A reply to `tools/call`, whose result must have the shape of one. */
export function readCall(reply: Reply): Reply {
  if (reply.kind !== "done" || wholeOf(reply.spills) !== undefined) return reply;
  const result = readCallResult(reply.result);
  if (result === undefined) {
    abortSpills(reply.spills);
    return failed(
      new HostError("ERR_PROTOCOL", "Cannot use the answer to tools/call: found no list of content blocks"),
      true,
      false,
      reply.resends,
    );
  }
  return result === reply.result ? reply : { ...reply, result };
}

export function failed(error: FailedReply["error"], sent: boolean, refused: boolean, resends: number): FailedReply {
  return { kind: "failed", error, sent, refused, resends };
}
