import { withSafeIcons } from "../catalog/icons.ts";
import type { Spill, SpilledText } from "../jsonrpc/spill_sink.ts";
import { untilAborted } from "../kernel/abort.ts";
import type { Clock } from "../kernel/clock.ts";
import { exactJson } from "../kernel/exact_json.ts";
import { HostError } from "../kernel/errors.ts";
import { wholeText } from "../kernel/foreign_text.ts";
import type { CallToolResult, ContentBlock, JsonObject } from "../protocol/model.ts";
import type { Scrubber } from "../scrub/scrubber.ts";
import type { ArtifactRef, ArtifactStore } from "../store/artifacts.ts";
import { headAndTail, type SizedText, sizeOf, spilledExcerpt } from "./excerpt.ts";
import { isFiniteJson } from "./finite_json.ts";
import { inTime } from "./in_time.ts";
import type { Finding } from "./outcome.ts";
import { placeOf, takeSpills } from "./spilled_output.ts";

/** A tool's result, fit to be shown. */
export interface Output {
  /** See {@link Outcome.output}. */
  readonly output: string;
  readonly content: readonly ContentBlock[];
  readonly structuredContent?: unknown;
  readonly isError: boolean;
  /** What the event shows of it. */
  readonly preview: string;
  readonly isPreviewCut: boolean;
  /** UTF-8 bytes of the whole text. */
  readonly resultSize: number;
  /** `output` is not the whole text. */
  readonly truncated: boolean;
  readonly artifact?: ArtifactRef;
  /** All that was kept of it, where that is more than `artifact`. */
  readonly artifacts?: readonly ArtifactRef[];
  readonly findings: readonly Finding[];
}

export interface OutputOptions {
  /** Throws rather than show what it could not scrub; the call fails then. */
  readonly scrubber: Scrubber;
  /** Takes the whole text of results that are longer than the preview. Without it, they are only cut. */
  readonly artifacts?: ArtifactStore | undefined;
  /** Most bytes of `preview`. */
  readonly previewBytes: number;
  /** Most bytes of `output`. */
  readonly maxOutputBytes: number;
  /** Told why an artifact could not be kept; the result is shown without it. */
  readonly onError: (error: unknown) => void;
  /** With it, a store that does not answer is not waited for longer than `patienceMs`. */
  readonly clock?: Clock;
  /** Default 10,000. */
  readonly patienceMs?: number;
}

const PATIENCE_MS = 10_000;

/** For how long a call that has its answer waits for a store: what is left of its time, but neither too little nor too much. */
export function patienceOf(timeoutMs: number, durationMs: number): number {
  return Math.min(PATIENCE_MS, Math.max(1000, timeoutMs - durationMs));
}

/**
 * The one way from a result to what leaves the host: scrubbed first, then measured, kept whole where it is long, and
 * only then cut. A promise only where an artifact is written, for no longer than the signal allows. Throws
 * `ERR_PROTOCOL` for what is no result. Takes on the long strings of the result that were put aside.
 */
export function readOutput(
  result: JsonObject,
  options: OutputOptions,
  signal?: AbortSignal,
  spills?: readonly Spill[],
): Output | Promise<Output> {
  if (spills !== undefined && spills.length > 0) return readSpilled(result, spills, options, signal);
  const checked = checkResult(result);
  const { scrubber, artifacts, previewBytes } = options;
  const content = scrubber.value(checked.content).map((block) => withSafeIcons(block));
  const hasStructured = "structuredContent" in checked;
  const structured = hasStructured ? scrubber.value(checked.structuredContent) : undefined;
  const text = sizeOf(textOf(content, structured));
  const isError = checked.isError === true;
  const show = (artifact?: ArtifactRef): Output => {
    const output = shown(content, isError, text, artifact, options);
    return hasStructured ? { ...output, structuredContent: structured } : output;
  };
  if (text.bytes <= previewBytes || artifacts === undefined) return show();
  // A store that does not answer must not lose the answer of a call that was made.
  return patiently(
    options,
    signal,
    (ends) => untilAborted(keep(text, artifacts, options), "Keeping an artifact", ends),
  ).catch((error: unknown) => {
    options.onError(error);
    return undefined;
  }).then(show);
}

function patiently<T>(
  { clock, patienceMs = PATIENCE_MS }: OutputOptions,
  signal: AbortSignal | undefined,
  run: (signal: AbortSignal | undefined) => Promise<T>,
): Promise<T> {
  return clock === undefined ? run(signal) : inTime(clock, patienceMs, signal, run);
}

async function readSpilled(
  result: JsonObject,
  spills: readonly Spill[],
  options: OutputOptions,
  signal: AbortSignal | undefined,
): Promise<Output> {
  const { artifacts, previewBytes, maxOutputBytes, onError } = options;
  const parts = await patiently(
    options,
    signal,
    (ends) => takeSpills(result, spills, { artifacts, maxBytes: maxOutputBytes, onError, signal: ends }),
  );
  const { content } = result as { content?: unknown };
  if (Array.isArray(content)) {
    for (const [at, data] of parts.data) content[at] = { type: "text", text: labelOf(content[at], data) };
    const only = content.length === 1 ? parts.texts.get(0) : undefined;
    if (only !== undefined) {
      // What stands in the result is cut already, and all of it is kept: there is nothing to keep a second time.
      const output = await readOutput(result, { ...options, artifacts: undefined }, signal);
      return {
        ...output,
        preview: spilledExcerpt(only, previewBytes),
        isPreviewCut: true,
        resultSize: only.bytes,
        truncated: true,
        ...(only.stored === undefined ? {} : { artifact: only.stored }),
        artifacts: parts.artifacts,
      };
    }
  }
  const output = await readOutput(result, options, signal);
  let { resultSize } = output;
  for (const text of parts.texts.values()) {
    resultSize += text.bytes - sizeOf(spilledExcerpt(text, maxOutputBytes, placeOf(text))).bytes;
  }
  const truncated = output.truncated || parts.texts.size > 0;
  const { artifact } = output;
  return {
    ...output,
    resultSize,
    truncated,
    artifacts: artifact === undefined ? parts.artifacts : [...parts.artifacts, artifact],
  };
}

/** What stands for a block whose data was left out. */
function labelOf(block: unknown, data: SpilledText): string {
  const bytes = Math.floor(data.bytes * 0.75);
  const where = data.stored === undefined ? "" : `, in base64 in artifact ${data.stored.sha256}`;
  return isBlock(block) ? blockText(block, `${bytes} bytes${where}`) : "";
}

function shown(
  content: readonly ContentBlock[],
  isError: boolean,
  text: SizedText,
  artifact: ArtifactRef | undefined,
  { previewBytes, maxOutputBytes }: OutputOptions,
): Output {
  const findings: readonly Finding[] = [];
  if (text.bytes <= previewBytes) {
    return {
      output: text.text,
      content,
      isError,
      preview: text.text,
      isPreviewCut: false,
      resultSize: text.bytes,
      truncated: false,
      findings,
    };
  }
  const truncated = text.bytes > maxOutputBytes;
  const where = artifact === undefined ? "" : `, whole text in artifact ${artifact.sha256}`;
  return {
    output: truncated ? headAndTail(text, maxOutputBytes, where) : text.text,
    content,
    isError,
    preview: headAndTail(text, previewBytes),
    isPreviewCut: true,
    resultSize: text.bytes,
    truncated,
    ...(artifact === undefined ? {} : { artifact }),
    findings,
  };
}

async function keep(
  text: SizedText,
  artifacts: ArtifactStore,
  { onError }: OutputOptions,
): Promise<ArtifactRef | undefined> {
  try {
    const writer = await artifacts.create({ mediaType: "text/plain" });
    try {
      await writer.write(text.encoded ?? new TextEncoder().encode(text.text));
      return await writer.commit();
    } catch (error) {
      await writer.abort();
      throw error;
    }
  } catch (error) {
    // A full store must not lose the answer of a call that was made.
    onError(error);
    return undefined;
  }
}

/** Blocks must have a type; what they are beyond that is passed on unread. */
function checkResult(result: JsonObject): CallToolResult {
  const { content = [], isError } = result as { content?: unknown; isError?: unknown };
  const isUsable = Array.isArray(content) && (isError === undefined || typeof isError === "boolean") &&
    content.every(isBlock) &&
    ("content" in result || "structuredContent" in result);
  if (!isUsable) {
    throw new HostError("ERR_PROTOCOL", "Cannot use the result of a tool: wanted a list of content blocks");
  }
  if (!isFiniteJson(result)) {
    throw new HostError(
      "ERR_PROTOCOL",
      "Cannot use the result of a tool: found a number beyond all that a double holds",
    );
  }
  return "content" in result ? (result as CallToolResult) : { ...result, content };
}

function isBlock(block: unknown): block is ContentBlock {
  return typeof block === "object" && block !== null && typeof (block as { type?: unknown }).type === "string";
}

function textOf(content: readonly ContentBlock[], structured: unknown): string {
  if (content.length === 1) return blockText(content[0]!);
  if (content.length === 0) return structured === undefined ? "" : exactJson(structured) ?? "";
  return content.map((block) => blockText(block)).join("\n");
}

/** The text of a text block; of any other its label, never its data. */
function blockText(block: ContentBlock, size?: string): string {
  if (block.type === "text") return typeof block["text"] === "string" ? block["text"] : "";
  const { type, data, mimeType, uri, resource } = block as Record<string, unknown>;
  const inner = (typeof resource === "object" && resource !== null ? resource : {}) as Record<string, unknown>;
  const bytes = base64Bytes(data) ?? base64Bytes(inner["blob"]);
  const parts = [
    type,
    uri ?? inner["uri"],
    mimeType ?? inner["mimeType"],
    size ?? (bytes === undefined ? undefined : `${bytes} bytes`),
  ];
  return `[${parts.filter((part) => typeof part === "string").map((part) => oneLine(part as string)).join(" ")}]`;
}

function base64Bytes(data: unknown): number | undefined {
  if (typeof data !== "string") return undefined;
  const padding = data.endsWith("==") ? 2 : data.endsWith("=") ? 1 : 0;
  return Math.floor(data.length * 0.75) - padding;
}

/** A label stays one line, whatever its server put into it, and whole, since it is scrubbed later. */
function oneLine(text: string): string {
  return wholeText(text).replace(/[\p{Cc}\p{Zl}\p{Zp}\]]/gu, " ");
}
