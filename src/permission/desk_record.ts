import * as v from "valibot";
import { exactJson, parseExact } from "../kernel/exact_json.ts";
import type { ApprovalRequest } from "./request.ts";
import { DEFAULT_DECISIONS } from "./rule.ts";

/** Who may decide: a person, a rule, the clock, or the host that stops. */
export type DecisionActor = "user" | "policy" | "timeout" | "host";

/** One ask, as it lies on the desk until somebody decides. Its arguments are scrubbed. */
export interface DeskAsk extends ApprovalRequest {
  readonly stream: string;
  readonly toolCallId: string;
  readonly source: string;
  /** Of the scrubbed arguments, whole. */
  readonly argsHash: string;
  /** Of the server's configuration and the tool's definition, as they were asked about. */
  readonly fingerprint?: string;
  readonly policyVersion: string;
  /**
   * `whole`: `args` are the call's own. `scrubbed`: a secret was taken out, so they show what is asked about and cannot
   * be sent. `none`: they were too large for the store, and `args` is empty; the process that asks still shows them.
   */
  readonly argsKept: "whole" | "scrubbed" | "none";
}

/** What became of an ask. Whoever stores it first has decided. */
export interface DeskDecision {
  readonly requestId: string;
  readonly session: string;
  readonly decision: "allow" | "deny";
  readonly actor: DecisionActor;
  readonly scope?: "once" | "session";
  readonly reason?: string;
  /** Epoch milliseconds. */
  readonly decidedAt: number;
}

/** Most bytes of a record; a store takes 64 KiB. */
const MAX_RECORD_BYTES = 60 * 1024;

const text = v.string();
const askSchema = v.looseObject({
  requestId: text,
  session: text,
  tool: text,
  server: v.exactOptional(text),
  uri: v.exactOptional(text),
  prompt: v.exactOptional(text),
  risk: v.picklist(Object.keys(DEFAULT_DECISIONS)),
  by: v.picklist(["model", "caller", "gateway", "user"]),
  args: v.custom<Record<string, unknown>>((value) =>
    typeof value === "object" && value !== null && !Array.isArray(value)
  ),
  requestedAt: v.number(),
  expiresAt: v.number(),
  stream: text,
  toolCallId: text,
  source: text,
  argsHash: text,
  fingerprint: v.exactOptional(text),
  policyVersion: text,
  argsKept: v.picklist(["whole", "scrubbed", "none"]),
});
const decisionSchema = v.looseObject({
  requestId: text,
  session: text,
  decision: v.picklist(["allow", "deny"]),
  actor: v.picklist(["user", "policy", "timeout", "host"]),
  scope: v.exactOptional(v.picklist(["once", "session"])),
  reason: v.exactOptional(text),
  decidedAt: v.number(),
});

/** The bytes of an ask, without its arguments where they do not fit into a record. */
export function encodeAsk(ask: DeskAsk): Uint8Array {
  const bytes = encode(ask);
  return bytes.byteLength <= MAX_RECORD_BYTES ? bytes : encode({ ...ask, args: {}, argsKept: "none" });
}

export function encodeDecision(decision: DeskDecision): Uint8Array {
  return encode(decision);
}

/** Reads an ask; `undefined` for bytes that are none. */
export function readAsk(bytes: Uint8Array): DeskAsk | undefined {
  return read(askSchema, bytes) as DeskAsk | undefined;
}

/** Reads a decision; `undefined` for bytes that are none. */
export function readDecision(bytes: Uint8Array): DeskDecision | undefined {
  return read(decisionSchema, bytes) as DeskDecision | undefined;
}

function encode(value: DeskAsk | DeskDecision): Uint8Array {
  return new TextEncoder().encode(exactJson(value)!);
}

function read(schema: v.GenericSchema, bytes: Uint8Array): unknown {
  let value: unknown;
  try {
    value = parseExact(new TextDecoder().decode(bytes));
  } catch {
    // Another program's bytes under our key: they are no record, which is all that the caller wants to know.
    return undefined;
  }
  const parsed = v.safeParse(schema, value);
  return parsed.success ? parsed.output : undefined;
}
