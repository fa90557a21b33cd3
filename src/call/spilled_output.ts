import { untilAborted } from "../kernel/abort.ts";
import type { Spill, SpilledText } from "../jsonrpc/spill_sink.ts";
import type { JsonObject } from "../protocol/model.ts";
import type { ArtifactRef, ArtifactStore } from "../store/artifacts.ts";
import { spilledExcerpt } from "./excerpt.ts";

/** What has become of the long strings of one result. */
export interface SpilledParts {
  /** What is kept, in the order of the result. */
  readonly artifacts: readonly ArtifactRef[];
  /** Texts of text blocks, by the block's place. */
  readonly texts: ReadonlyMap<number, SpilledText>;
  /** Data of other blocks that was left out, by the block's place. */
  readonly data: ReadonlyMap<number, SpilledText>;
}

export interface SpilledPartsOptions {
  readonly artifacts: ArtifactStore | undefined;
  /** Most bytes of what stands in the place of a text. */
  readonly maxBytes: number;
  readonly onError: (error: unknown) => void;
  readonly signal: AbortSignal | undefined;
}

/** Data of this many bytes is put back whole: half an image is none. */
const MAX_DATA_BYTES = 8 << 20;

/**
 * Takes the long strings of a result on and puts into their places, in the result itself, what is to be shown of them: of
 * a text its head and its tail, of data all or nothing. A result that was put aside as a whole has its JSON text as its
 * only block. Everything is scrubbed.
 */
export async function takeSpills(
  result: JsonObject,
  spills: readonly Spill[],
  options: SpilledPartsOptions,
): Promise<SpilledParts> {
  const artifacts: ArtifactRef[] = [];
  const texts = new Map<number, SpilledText>();
  const data = new Map<number, SpilledText>();
  const whole = spills.find(({ isWhole }) => isWhole);
  const closed = await Promise.all(spills.map(({ writer }) => writer.close(options.signal)));
  for (const [at, text] of closed.entries()) {
    if (text.stored !== undefined) artifacts.push(text.stored);
    const spill = spills[at]!;
    const { pointer } = spill;
    if (whole !== undefined) {
      if (spill !== whole) continue;
      texts.set(0, text);
      const block = { type: "text", text: spilledExcerpt(text, options.maxBytes, placeOf(text)) };
      put(result, ["content"], [block]);
      continue;
    }
    const names = namesOf(pointer);
    if (DATA.test(pointer)) {
      const whole = await readBack(text, options);
      if (whole === undefined) data.set(Number(names[1]), text);
      put(result, names, whole ?? "");
    } else {
      if (TEXT.test(pointer)) texts.set(Number(names[1]), text);
      put(result, names, spilledExcerpt(text, options.maxBytes, placeOf(text)));
    }
  }
  return { artifacts, texts, data };
}

/** Tells where all of a text is. */
export function placeOf({ stored }: SpilledText): string {
  return stored === undefined ? "" : `, whole text in artifact ${stored.sha256}`;
}

const TEXT = /^\/result\/content\/\d+\/text$/;
const DATA = /^\/result\/content\/\d+\/(data|resource\/blob)$/;

async function readBack(
  { stored, bytes }: SpilledText,
  { artifacts, onError, signal }: SpilledPartsOptions,
): Promise<string | undefined> {
  if (stored === undefined || artifacts === undefined || bytes > MAX_DATA_BYTES) return undefined;
  try {
    const kept = await untilAborted(artifacts.read(stored.sha256), "Reading an artifact", signal);
    return kept === undefined ? undefined : new TextDecoder().decode(kept);
  } catch (error) {
    onError(error);
    return undefined;
  }
}

/** Names from the result inwards. */
function namesOf(pointer: string): string[] {
  return pointer.split("/").slice(2).map((name) => name.replaceAll("~1", "/").replaceAll("~0", "~"));
}

function put(result: JsonObject, names: readonly string[], value: unknown): void {
  let at = result as Record<string, unknown>;
  for (const name of names.slice(0, -1)) {
    const next = at[name];
    // A result may have been read into another shape: what is not there any more needs no text.
    if (typeof next !== "object" || next === null) return;
    at = next as Record<string, unknown>;
  }
  at[names.at(-1)!] = value;
}
