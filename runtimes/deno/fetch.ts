import type { FetchFunction } from "../../src/kernel/runtime.ts";
import { blockedPort } from "../node/blocked_port.ts";
import { refusalOf } from "./permission.ts";

/**
 * Deno (2.9) sends a request again by itself when the kept connection that it went out on breaks, whether or not the
 * server has acted on it. A body that can be read only once keeps it from doing so; that of a blob still has a length.
 * Where Deno may not reach the server, a blob keeps the process alive for good: there a text fails as it should.
 */
export const fetchOnce: FetchFunction = async (url, init) => {
  try {
    const isText = typeof init?.body === "string" && isGranted(url);
    return await fetch(url, isText ? { ...init, body: readOnce(init.body as string) } : init);
  } catch (error) {
    throw blockedPort(error, url) ?? withCode(refusalOf(error, `send a request to ${new URL(url).host}`));
  }
};

/** Asking Deno costs a third of what a request does. What is taken away later is refused by `fetch` all the same. */
const granted = new Set<string>();
const MAX_GRANTED = 1000;

function isGranted(url: string): boolean {
  if (granted.has(url)) return true;
  const { protocol, hostname, port } = new URL(url);
  const host = `${hostname}:${port || (protocol === "https:" ? 443 : 80)}`;
  if (Deno.permissions.querySync({ name: "net", host }).state !== "granted") return false;
  if (granted.size >= MAX_GRANTED) granted.clear();
  granted.add(url);
  return true;
}

let asksBlobs: boolean | undefined;

function readOnce(text: string): Blob {
  asksBlobs ??= isAsking(Deno.version.deno);
  return asksBlobs ? new TextBody(text) : new Blob([text]);
}

/**
 * True up to 2.9: for later versions no test shows that `fetch` asks a blob for its size and stream, as it does against
 * the letter of Fetch.
 */
function isAsking(version: string): boolean {
  const [major, minor] = version.split(".").map(Number) as [number, number];
  return major < 2 || (major === 2 && minor <= 9);
}

/** A blob of one text that is not handed over to Deno's store of blobs, which costs more than to send it. */
class TextBody extends Blob {
  readonly #bytes: Uint8Array<ArrayBuffer>;

  constructor(text: string) {
    super();
    this.#bytes = encoder.encode(text);
  }

  override get size(): number {
    return this.#bytes.byteLength;
  }

  override stream(): ReadableStream<Uint8Array<ArrayBuffer>> {
    return new ReadableStream({
      start: (controller) => {
        controller.enqueue(this.#bytes);
        controller.close();
      },
    });
  }
}

const encoder = new TextEncoder();

/** Deno (2.9) says in words alone what the system answered. */
const CODES: readonly (readonly [words: RegExp, code: string])[] = Object.freeze([
  [/Connection refused|\(os error 111\)/, "ECONNREFUSED"],
  [/dns error/, "ENOTFOUND"],
]);

function withCode(error: unknown): unknown {
  if (!(error instanceof TypeError) || !(error.cause instanceof Error)) return error;
  const { message } = error.cause;
  // The request may have left by the time that any other connection breaks: only what fails to connect is told apart.
  const known = message.includes("client error (Connect)") ? CODES.find(([words]) => words.test(message)) : undefined;
  return known === undefined ? error : Object.assign(error, { code: known[1] });
}
