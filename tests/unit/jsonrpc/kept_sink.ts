import type { SpillSink, SpillWriter } from "../../../src/jsonrpc/spill_sink.ts";

/** Keeps what it is given, and how it ended. */
export class Kept implements SpillWriter {
  readonly mediaType: string;
  readonly parts: Uint8Array[] = [];
  ended: "open" | "aborted" = "open";

  constructor(mediaType: string) {
    this.mediaType = mediaType;
  }

  write(utf8: Uint8Array): void {
    if (this.ended !== "open") throw new Error("written after its end");
    this.parts.push(utf8.slice());
  }

  text(): string {
    return new TextDecoder("utf-8", { ignoreBOM: true }).decode(Buffer.concat(this.parts));
  }

  close(): Promise<never> {
    return Promise.reject(new Error("not asked for in these tests"));
  }

  abort(): void {
    if (this.ended !== "open") throw new Error("ended twice");
    this.ended = "aborted";
  }
}

/** Keeps all texts, in the order in which they were opened. */
export class KeptSink implements SpillSink {
  readonly opened: Kept[] = [];

  open(mediaType: string): Kept {
    const writer = new Kept(mediaType);
    this.opened.push(writer);
    return writer;
  }
}

export const encode = (text: string): Uint8Array => new TextEncoder().encode(text);

/** Copies, each in a place of its own. */
export function* cut(bytes: Uint8Array, lengths: readonly number[]): Generator<Uint8Array> {
  for (let at = 0, turn = 0; at < bytes.length; turn++) {
    const length = lengths.length === 0 ? bytes.length : lengths[turn % lengths.length]!;
    yield new Uint8Array(bytes.subarray(at, at + length));
    at += length;
  }
}
