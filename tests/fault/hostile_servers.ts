import fc from "fast-check";
import type { ChildProcess, ProcessHandlers, SpawnFunction } from "../../src/kernel/runtime.ts";
import { cutAnywhere, hostileEvents, hostileText } from "./hostile_messages.ts";

/** A child process that shakes hands properly, says these bytes in the place of the first answer, and exits. */
export function hostileChild(chunks: readonly Uint8Array[]): SpawnFunction {
  return (_plan, handlers) => Promise.resolve(new HostileChild(handlers, chunks));
}

class HostileChild implements ChildProcess {
  readonly pid = 1;
  readonly containment = "process_group";
  readonly #handlers: ProcessHandlers;
  readonly #chunks: readonly Uint8Array[];
  #alive = true;
  #said = false;

  constructor(handlers: ProcessHandlers, chunks: readonly Uint8Array[]) {
    this.#handlers = handlers;
    this.#chunks = chunks;
  }

  write(text: string): void {
    for (const line of text.split("\n")) if (line !== "") this.#hear(JSON.parse(line));
  }

  closeInput(): void {
    this.#exit();
  }

  kill(): void {
    this.#exit();
  }

  groupAlive(): boolean {
    return this.#alive;
  }

  release(): void {
    // There are no pipes.
  }

  #hear({ id, method, params }: { id?: unknown; method?: string; params?: { protocolVersion?: string } }): void {
    if (method === "initialize" || method === "server/discover") {
      const text = `${JSON.stringify({ jsonrpc: "2.0", id, result: introduction(params?.protocolVersion) })}\n`;
      queueMicrotask(() => void this.#handlers.onData(new TextEncoder().encode(text)));
    } else if (!this.#said && method === "tools/call") {
      this.#said = true;
      queueMicrotask(() => void this.#say());
    }
  }

  async #say(): Promise<void> {
    for (const chunk of this.#chunks) await this.#handlers.onData(chunk);
    this.#exit();
  }

  #exit(): void {
    if (!this.#alive) return;
    this.#alive = false;
    this.#handlers.onEnd();
    this.#handlers.onExit({ code: 1, signal: null });
  }
}

function introduction(protocolVersion: string | undefined): object {
  return { protocolVersion, supportedVersions: ["2026-07-28"], capabilities: { tools: {} } };
}

/** What an HTTP server may answer. */
interface HostileAnswer {
  readonly status: number;
  readonly type: string;
  readonly chunks: readonly Uint8Array[];
  /** The connection breaks at the end of the body. */
  readonly breaks: boolean;
}

const status = fc.oneof(
  { weight: 4, arbitrary: fc.constant(200) },
  fc.constantFrom(202, 204, 301, 307, 400, 401, 403, 404, 405, 500, 503),
);
const type = fc.constantFrom(
  "application/json",
  "text/event-stream",
  "text/event-stream; charset=utf-8",
  "text/html",
  "",
);
const text = hostileText.map((written) => new TextEncoder().encode(written));

export const hostileAnswer: fc.Arbitrary<HostileAnswer> = fc.record({
  status,
  type,
  chunks: fc.oneof(cutAnywhere(hostileEvents), cutAnywhere(text)),
  breaks: fc.boolean(),
});

/** Shakes hands properly, and gives these answers in turn once `isOpen` says so. */
export function hostileFetch(
  answers: readonly HostileAnswer[],
  isOpen: () => boolean,
): (url: string, init?: RequestInit) => Promise<Response> {
  let next = 0;
  return (_url, init) => {
    const { id, method, params } = JSON.parse(String(init?.body || "{}"));
    if (isOpen() || init?.method !== "POST") return Promise.resolve(responseOf(answers[next++ % answers.length]!));
    if (id === undefined) return Promise.resolve(new Response(null, { status: 202 }));
    const result = introduction(params?.protocolVersion);
    return Promise.resolve(
      method === undefined ? responseOf(answers[0]!) : Response.json({ jsonrpc: "2.0", id, result }),
    );
  };
}

function responseOf({ status, type, chunks, breaks }: HostileAnswer): Response {
  const headers = { "content-type": type, "mcp-session-id": "s", location: "/elsewhere" };
  if (status === 204) return new Response(null, { status, headers });
  const left = [...chunks];
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const chunk = left.shift();
      if (chunk !== undefined) return controller.enqueue(chunk);
      if (breaks) controller.error(new TypeError("terminated"));
      else controller.close();
    },
  });
  return new Response(body, { status, headers });
}
