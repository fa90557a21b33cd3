import { DEFAULT_PARSE_LIMITS, dropPrototypeKeys, type ParseLimits } from "./bounded_parse.ts";
import { hasLongNumber, markLongIntegers } from "../kernel/exact_json.ts";
import { newNonce, type Path, replaceMarked } from "../kernel/marked.ts";
import { type Chunk, chunkOf } from "./spill_bytes.ts";
import { type Aside, type AsideOptions, LongString } from "./spill_long.ts";
import { SpillRest } from "./spill_rest.ts";
import { JsonScan } from "./spill_scan.ts";
import { abortSpills, type Spill, type SpillSink } from "./spill_sink.ts";
import { SpillParts } from "./spill_parts.ts";
import { LongResult } from "./spill_result.ts";

/** Longest string that stays in its message, and the beginning that stays of a longer one, in bytes. */
export const SPILL_BYTES: number = 64 << 10;
/** Longest frame that is parsed whole, in bytes: up to here that is faster, and costs little memory. */
export const WHOLE_FRAME_BYTES: number = 1 << 20;

/** True for a frame that goes through a {@link SpillParser}. One that grows is handed over when it passes the limit. */
export function isLargeFrame(bytes: number): boolean {
  return bytes > WHOLE_FRAME_BYTES;
}

export interface SpillOptions {
  /** `maxLength` bounds, in bytes, what of the message stays in memory. Default 8 MiB, 64 levels, 1,000,000 values. */
  readonly limits?: ParseLimits;
  /** Where long strings go. Without it none does, and all of the message has to fit. */
  readonly sink?: SpillSink | undefined;
  /** Told by how many bytes the memory of this parser has grown or shrunk. A promise pauses the source. */
  readonly onMemory?: ((delta: number) => void | Promise<void>) | undefined;
}

/** Why a frame was refused. `sink`: the place where long strings go has failed; `error` is what with. */
export type SpillFault = "not_json" | "too_large" | "too_deep" | "too_many_nodes" | "sink";

export type SpillParse =
  | { readonly ok: true; readonly value: unknown; readonly spills: readonly Spill[] }
  | {
    readonly ok: false;
    readonly reason: SpillFault;
    /** The `id` member, if it stood before everything that is nested and no `method` did. */
    readonly id?: unknown;
    readonly error?: unknown;
  };

/** Members that decide whose a message is or are sent back word by word: they stay whole, or the message is refused. */
const NEVER_SPILLED: ReadonlySet<string> = new Set([
  "1:jsonrpc",
  "1:id",
  "1:method",
  "2:cursor",
  "2:nextCursor",
  "2:requestState",
]);

/**
 * Parses one JSON text that arrives in chunks cut anywhere, without holding its long strings: the value is that of
 * `JSON.parse`, but that
 *
 * - a string of over 64 KiB in the text that is a member's value or an array's item has only its first 64 KiB in the
 *   value; all of it goes to the sink, and `spills` says where it stood. One that is shorter once its escapes are resolved
 *   stays whole. In both a lone surrogate is U+FFFD;
 * - strings in a batch, the few that name a message or are sent back, and those behind the first 32, are never cut;
 * - of a result of which more than the limit would stay, nothing does: all of it goes to the sink, see {@link Spill}. What
 *   follows of it is bounded in depth alone;
 * - integers beyond the safe ones are bigint;
 * - members named `__proto__` are left out, and of a name that comes twice the last counts; what an earlier one spilled is
 *   aborted;
 * - bytes that are no UTF-8 are read as a `TextDecoder` reads them.
 *
 * Depth and number of values are counted as they arrive: a bomb is refused at the byte that makes it one. After a fault
 * nothing more is taken, and everything that was opened has been aborted.
 */
export class SpillParser {
  readonly #maxBytes: number;
  readonly #maxDepth: number;
  readonly #sink: SpillSink | undefined;
  readonly #onMemory: SpillOptions["onMemory"];
  readonly #nonce = newNonce();
  readonly #scan: JsonScan;
  readonly #rest: SpillRest;
  readonly #parts = new SpillParts();
  /** The one of them that is under way. */
  #aside: Aside | undefined;
  #memory = 0;
  #writing: Promise<void> | undefined;
  #refusal: Exclude<SpillParse, { ok: true }> | undefined;
  #isOver = false;

  constructor({ limits = DEFAULT_PARSE_LIMITS, sink, onMemory }: SpillOptions = {}) {
    this.#maxBytes = limits.maxLength;
    this.#maxDepth = limits.maxDepth;
    this.#rest = new SpillRest(limits.maxLength);
    this.#sink = sink;
    this.#onMemory = onMemory;
    this.#scan = new JsonScan({ ...limits, maxString: sink === undefined ? Infinity : SPILL_BYTES });
  }

  /** The text is refused whatever follows; what is pushed is dropped. */
  get isRefused(): boolean {
    return this.#refusal !== undefined;
  }

  /** Takes the next bytes; they may be reused once what is returned has settled. Never throws, never rejects. */
  push(bytes: Uint8Array): void | Promise<void> {
    const chunk = chunkOf(bytes);
    const { result } = this.#parts;
    for (let at = 0; at < bytes.length && !this.#isOver;) {
      at = this.#aside === undefined ? this.#keep(chunk, at) : this.#pass(this.#aside, chunk, at);
    }
    // What a result that has left held before is on its way to the sink until the pause is over.
    if (!this.#isOver && result === this.#parts.result) {
      this.#report(this.#rest.capacity + this.#parts.size * SPILL_BYTES);
    }
    return this.#writing;
  }

  /** The text is complete. Never rejects. */
  end(): SpillParse | Promise<SpillParse> {
    return this.#writing === undefined ? this.#finish() : this.#writing.then(() => this.#finish());
  }

  /** The text will never be complete. Does nothing once it has ended. */
  abort(): void {
    this.#refuse("not_json");
  }

  /** Adds what stays in memory to the rest, up to a string that is long. */
  #keep(chunk: Chunk, from: number): number {
    const scan = this.#scan;
    const room = this.#room();
    if (room <= 0) {
      if (!this.#leaveResult()) this.#refuse("too_large");
      return from;
    }
    const to = Math.min(chunk.bytes.length, from + room);
    const at = scan.scan(chunk, from, to, this.#rest.length - from);
    this.#rest.append(chunk.bytes.subarray(from, at));
    if (scan.fault !== undefined) this.#refuse(scan.fault);
    else if (scan.isLong) this.#leave();
    return at;
  }

  /** Bytes that may still stay. */
  #room(): number {
    const { prefix, isInFirst } = this.#scan;
    // What ends a message needs a little: a result that just fits must not fail for its id.
    const more = prefix > 0 && !isInFirst ? MAX_PREFIX : 0;
    return this.#maxBytes + more - this.#rest.length - this.#parts.size * SPILL_BYTES;
  }

  /** The string under way has become long: it goes aside, if it may. */
  #leave(): void {
    const scan = this.#scan;
    const place = scan.placeOfString(this.#rest);
    if (place !== undefined && NEVER_SPILLED.has(place)) return void this.#refuse("too_large");
    if (place === undefined || this.#parts.size === MAX_LONG) return scan.keepString();
    scan.leaveString();
    const beginning = chunkOf(this.#rest.cut(scan.stringFrom));
    const long = new LongString({ ...this.#asideOptions(), headBytes: SPILL_BYTES });
    this.#mark(this.#parts.add(long, this.#rest.length));
    this.#aside = long;
    this.#pass(long, beginning, 0);
  }

  /** What has been kept is too much: if it is a result, all of it goes aside. */
  #leaveResult(): boolean {
    const scan = this.#scan;
    const { prefix } = scan;
    if (this.#sink === undefined || !scan.isInFirst || this.#rest.at(prefix) !== OPENING_BRACE) return false;
    if (this.#envelope()?.["result"] !== null) return false;
    scan.leaveFirst();
    const result = new LongResult({ ...this.#asideOptions(), maxDepth: this.#maxDepth - 1 });
    const name = this.#parts.addResult(result, prefix);
    this.#aside = result;
    let from = prefix;
    for (const { at, length, text } of this.#parts.notes()) {
      this.#pass(result, chunkOf(this.#rest.view(from, at)), 0);
      this.#pass(result, chunkOf(new TextEncoder().encode(JSON.stringify(text).slice(1, -1))), 0);
      from = at + this.#nonce.length + length;
    }
    this.#pass(result, chunkOf(this.#rest.view(from)), 0);
    if (this.#isOver) return true;
    this.#rest.shrink(prefix);
    this.#rest.append(new TextEncoder().encode('"'));
    this.#mark(name);
    return true;
  }

  /** Closes a string in the rest that stands for something else. */
  #mark(name: string): void {
    this.#rest.append(new TextEncoder().encode(`${this.#nonce}${name}"`));
  }

  #asideOptions(): AsideOptions {
    return {
      sink: this.#sink!,
      onWait: (writing) => this.#wait(writing, "sink"),
      onFailed: (error) => void this.#refuse("sink", error),
    };
  }

  /** Hands the next bytes to what is under way. */
  #pass(aside: Aside, chunk: Chunk, from: number): number {
    const at = aside.push(chunk, from);
    if (aside.fault !== undefined) this.#refuse(aside.fault);
    else if (aside.isEnded) this.#aside = undefined;
    return at;
  }

  #finish(): SpillParse {
    if (this.#refusal !== undefined) return this.#refusal;
    if (this.#scan.isInString || this.#aside !== undefined) return this.#refuse("not_json");
    const text = new TextDecoder().decode(this.#rest.view(0));
    const spills: Spill[] = [];
    let value: unknown;
    try {
      value = this.#read(text, spills);
    } catch {
      // The parser's own message quotes the input and differs between runtimes.
      return this.#refuse("not_json");
    }
    this.#isOver = true;
    const taken = new Set(spills.map(({ writer }) => writer));
    abortSpills(this.#parts.writers().filter(({ writer }) => !taken.has(writer)));
    this.#letGo();
    return { ok: true, value, spills };
  }

  #read(text: string, spills: Spill[]): unknown {
    const marked = hasLongNumber(text) ? markLongIntegers(text, this.#nonce + INTEGER) : text;
    const value: unknown = JSON.parse(marked);
    if (text.includes("__proto__") || text.includes("\\u")) dropPrototypeKeys(value);
    if (marked === text && this.#parts.size === 0 && this.#parts.result === undefined) return value;
    return replaceMarked(value, this.#nonce, (mark, path) => {
      if (mark.startsWith(INTEGER)) return BigInt(mark.slice(INTEGER.length));
      const taken = this.#parts.take(mark, pointerOf(path));
      spills.push(...taken.spills);
      return taken.value;
    });
  }

  #wait(waiting: Promise<void>, reason: "sink" | "too_large"): void {
    const settled = waiting.catch((error: unknown) => {
      this.#refuse(reason, error);
    });
    const all = this.#writing === undefined ? settled : Promise.all([this.#writing, settled]).then(() => undefined);
    this.#writing = all;
    void all.then(() => {
      if (this.#writing === all) this.#writing = undefined;
    });
  }

  #report(bytes: number): void {
    const delta = bytes - this.#memory;
    this.#memory = bytes;
    const waiting = delta === 0 ? undefined : this.#onMemory?.(delta);
    if (waiting !== undefined) this.#wait(waiting, "too_large");
  }

  /** The first reason stays. */
  #refuse(reason: SpillFault, error?: unknown): Exclude<SpillParse, { ok: true }> {
    if (this.#refusal !== undefined || this.#isOver) return this.#refusal ?? { ok: false, reason };
    this.#isOver = true;
    const id = this.#claimedId();
    const found = { ...(id === undefined ? {} : { id }), ...(error === undefined ? {} : { error }) };
    this.#refusal = { ok: false, reason, ...found };
    abortSpills(this.#parts.writers());
    this.#letGo();
    return this.#refusal;
  }

  #letGo(): void {
    this.#rest.clear();
    this.#parts.clear();
    this.#report(0);
  }

  /** The id of a response that was refused, so that its request need not wait for its deadline. */
  #claimedId(): unknown {
    return this.#envelope()?.["id"];
  }

  /** Of a response its members up to the first that is an object or an array, which is null here. */
  #envelope(): Record<string, unknown> | undefined {
    const { prefix } = this.#scan;
    if (prefix === 0 || prefix > MAX_PREFIX || prefix > this.#rest.length) return undefined;
    try {
      const envelope = JSON.parse(`${new TextDecoder().decode(this.#rest.view(0, prefix))}null}`);
      return "method" in envelope ? undefined : envelope;
    } catch {
      // No object, or none that is written like this: whose it was stays unknown.
      return undefined;
    }
  }
}

/** Most strings of one message that leave it; each may be an open file. */
const MAX_LONG = 32;
/** What the mark of an integer begins with, behind the nonce. */
const INTEGER = "#";
const OPENING_BRACE = 123;
/** An envelope is not longer. */
const MAX_PREFIX = 4 << 10;

/** RFC 6901, section 4. */
function pointerOf(path: Path): string {
  return path.map((name) => `/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}
