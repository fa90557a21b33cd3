import type { EventInput } from "../events/event.ts";
import type { KnownEventInput } from "../events/payloads.ts";
import { canonicalJson, sha256Text } from "../kernel/canonical.ts";
import type { ContentBlock, ResourceContents } from "../protocol/model.ts";
import { readOffered, type Spills } from "../servers/offered.ts";
import type { Server } from "../servers/server.ts";
import type { ArtifactRef } from "../store/artifacts.ts";
import { artifactStored } from "./call_events.ts";
import type { Finding } from "./outcome.ts";
import { type Output, readOutput } from "./output.ts";
import { sizeOf } from "./excerpt.ts";
import type { Passage, Reading, ReadingContext, ReadingSubject } from "./reading.ts";
import type { ReadingFailure } from "./reading_failure.ts";

/** Why something that a server offers could not be had. */
export interface ReadError {
  /** A code of `HostError`, or the number that the server answered with. */
  readonly code: string;
  readonly message: string;
  readonly reason: ReadingFailure["reason"];
}

/** What became of the read of a resource. Everything in it was scrubbed. */
export interface ResourceOutcome {
  /** `denied` by the gate; `failed` where it could not be had; `cancelled` by the caller. */
  readonly status: "completed" | ReadingFailure["status"];
  readonly server: string;
  readonly uri: string;
  /** Its texts, and a label for each blob; of a long one the head and the tail. Where there is none, what went wrong. */
  readonly output: string;
  /**
   * The same for a model: under a label that says whose words these are. Empty where nothing was read. Nothing of it goes
   * anywhere by itself.
   */
  readonly context: string;
  /** Its parts; of a text over 1 MiB the head and the tail. */
  readonly contents: readonly ResourceContents[];
  /** Where all of a long text is. */
  readonly artifact?: ArtifactRef;
  /** `output` is not the whole text. */
  readonly truncated: boolean;
  /** Bytes of all parts, blobs decoded. */
  readonly sizeBytes: number;
  /** `sha256:` over the text, or over the parts where it is not one text, as they are shown. */
  readonly contentHash?: string;
  /** What looked suspicious in it. */
  readonly findings: readonly Finding[];
  /** The permission request that it rests on. */
  readonly requestId?: string;
  readonly durationMs: number;
  readonly error?: ReadError;
}

/** A resource at the server that a session has found for it. */
export interface ResourceTarget {
  readonly server: Server;
  readonly uri: string;
}

export type ResourceAction = "read" | "include" | "subscribe";

/** Asks the gate for a resource. */
export function passResource(
  reading: Reading,
  { server, uri }: ResourceTarget,
  action: ResourceAction,
): Promise<Passage> {
  const subject: ReadingSubject = {
    server: server.name,
    uri,
    source: server.source,
    args: { uri },
    fingerprint: `${server.fingerprint} resource`,
  };
  return reading.pass(subject, reading.options.by ?? (action === "include" ? "user" : "caller"));
}

/** Reads a resource: the gate, the log, the server, the log. Whatever becomes of it is its outcome. */
export async function readResource(
  reading: Reading,
  target: ResourceTarget,
  action: "read" | "include",
  context: ReadingContext,
): Promise<ResourceOutcome> {
  const { server, uri } = target;
  const passage = await passResource(reading, target, action);
  const end = async (failure: ReadingFailure, before: readonly EventInput[] = []): Promise<ResourceOutcome> => {
    const failed = resourceFailed(target, passage.requestId, failure);
    const unlogged = await reading.append([...before, ...reading.closing(), failed]);
    return withoutContents(target, passage.requestId, unlogged ?? failure, reading.durationMs, context);
  };
  if (passage.kind === "denied") return await end(passage.failure, passage.events);
  const { requestId } = passage;
  const unlogged = await reading.append([...passage.events, resourceRequested(target, requestId, action)]);
  if (unlogged !== undefined) return withoutContents(target, requestId, unlogged, reading.durationMs, context);
  try {
    const offered = await readOffered(server, uri, reading.asking({ server: server.name, uri }));
    if (offered.kind === "failed") return await end(reading.failureOf(offered));
    const shown = await showContents(offered.value, offered.spills, context, reading.signal);
    const { output, contents, sizeBytes, contentHash } = shown;
    const { durationMs } = reading;
    const fetched = resourceFetched(target, requestId, shown, durationMs);
    const kept = output.artifacts ?? (output.artifact === undefined ? [] : [output.artifact]);
    const stored = kept.map((artifact) => artifactStored({ tool: uri, toolCallId: requestId }, artifact));
    const failure = await reading.append([...reading.closing(), ...stored, fetched]);
    if (failure !== undefined) return withoutContents(target, requestId, failure, durationMs, context);
    return {
      status: "completed",
      server: server.name,
      uri: context.scrubber.text(uri),
      output: output.output,
      context: `${labelOf(server.name, context.scrubber.text(uri))}\n${output.output}`,
      contents,
      ...(output.artifact === undefined ? {} : { artifact: output.artifact }),
      truncated: output.truncated,
      sizeBytes,
      contentHash,
      findings: output.findings,
      requestId,
      durationMs,
    };
  } catch (error) {
    return await end(reading.refusalOf(error));
  }
}

interface ShownContents {
  readonly output: Output;
  readonly contents: readonly ResourceContents[];
  readonly sizeBytes: number;
  readonly contentHash: string;
}

/** The parts take the one way of all results: as blocks. */
async function showContents(
  parts: readonly ResourceContents[],
  spills: Spills,
  { output: options }: ReadingContext,
  signal: AbortSignal,
): Promise<ShownContents> {
  const blocks = parts.map((part): ContentBlock =>
    typeof part.text === "string" ? { ...part, type: "text" } : { type: "resource", resource: { ...part } }
  );
  const moved = spills?.map((spill) => ({ ...spill, pointer: pointerInBlocks(spill.pointer) }));
  const output = await readOutput({ content: blocks }, options, signal, moved);
  const contents = output.content.map((block, at) => partOf(block, options.scrubber.text(parts[at]!.uri)));
  const only = contents.length === 1 ? contents[0] : undefined;
  const isOneText = typeof only?.text === "string";
  const wasLong = (spills?.length ?? 0) > 0;
  const kept = (output.artifacts ?? []).reduce((bytes, artifact) => bytes + artifact.bytes, 0);
  const contentHash = isOneText && wasLong && output.artifact !== undefined
    ? `sha256:${output.artifact.sha256}`
    : await sha256Text(isOneText ? only.text! : canonicalJson(contents));
  // Of what was put aside, what was kept is the measure.
  const sizeBytes = isOneText
    ? output.resultSize
    : contents.reduce((bytes, part) => bytes + bytesOf(part), 0) + (wasLong ? kept : 0);
  return { output, contents, sizeBytes, contentHash };
}

/** `/result/contents/3/blob` to where the same string is in a list of blocks. */
function pointerInBlocks(pointer: string): string {
  return pointer.replace(
    /^\/result\/contents\/(\d+)\/(.*)$/,
    (_, at: string, member: string) =>
      member === "text" ? `/result/content/${at}/text` : `/result/content/${at}/resource/${member}`,
  );
}

function partOf(block: ContentBlock, uri: string): ResourceContents {
  if (block.type === "resource") return block["resource"] as ResourceContents;
  const { type: _, ...part } = block;
  // What stands for data that was left out has no address of its own.
  return { uri, ...part } as ResourceContents;
}

function bytesOf({ text, blob }: ResourceContents): number {
  if (text !== undefined) return sizeOf(text).bytes;
  const padding = blob.endsWith("==") ? 2 : blob.endsWith("=") ? 1 : 0;
  return Math.floor(blob.length * 0.75) - padding;
}

/** What stands before words of a server where a model reads them. */
export function labelOf(server: string, name: string): string {
  return `[mcp:${server}:${name.replace(/[\p{Cc}\p{Zl}\p{Zp}\]]/gu, " ")}]`;
}

function withoutContents(
  { server, uri }: ResourceTarget,
  requestId: string | undefined,
  { status, code, message, reason }: ReadingFailure,
  durationMs: number,
  { scrubber }: ReadingContext,
): ResourceOutcome {
  return {
    status,
    server: server.name,
    uri: scrubber.text(uri),
    output: message,
    context: "",
    contents: [],
    truncated: false,
    sizeBytes: 0,
    findings: [],
    ...(requestId === undefined ? {} : { requestId }),
    durationMs,
    error: { code: String(code), message, reason },
  };
}

export function resourceRequested(
  { server, uri }: ResourceTarget,
  requestId: string,
  action: ResourceAction,
): EventInput {
  return known({ type: "mcp.resource.requested", payload: { server: server.name, uri, requestId, action } });
}

function resourceFetched(
  { server, uri }: ResourceTarget,
  requestId: string,
  { output: { artifact }, contents, sizeBytes, contentHash }: ShownContents,
  durationMs: number,
): EventInput {
  const mimeType = contents.length === 1 ? contents[0]!.mimeType : undefined;
  return known({
    type: "mcp.resource.fetched",
    payload: {
      server: server.name,
      uri,
      requestId,
      sizeBytes,
      contentHash,
      mimeType: typeof mimeType === "string" ? mimeType.slice(0, 200) : undefined,
      parts: contents.length,
      artifact,
      durationMs,
    },
  });
}

export function resourceFailed(
  { server, uri }: ResourceTarget,
  requestId: string | undefined,
  { reason, code, message }: ReadingFailure,
): EventInput {
  return known({
    type: "mcp.resource.failed",
    payload: { server: server.name, uri, requestId, reason, error: { code, message } },
  });
}

function known(event: KnownEventInput): EventInput {
  return event;
}
