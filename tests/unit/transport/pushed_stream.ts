/** A body that a test writes by hand. */
export interface PushedStream {
  readonly response: Response;
  /** Does nothing once it is over. */
  push(text: string): void;
  end(): void;
  break(code: string): void;
  /** True once its reader has let go of it. */
  isCancelled(): boolean;
}

/** A stream of events in the hands of a test. It breaks when `signal` fires, as that of a real fetch does. */
export function pushedStream(signal?: AbortSignal): PushedStream {
  let controller!: ReadableStreamDefaultController<Uint8Array>;
  let over = false;
  const body = new ReadableStream<Uint8Array>({
    start: (given) => void (controller = given),
    cancel: () => void (over = true),
  });
  const fail = (error: unknown): void => {
    if (over) return;
    over = true;
    controller.error(error);
  };
  signal?.addEventListener("abort", () => fail(signal.reason), { once: true });
  return {
    response: new Response(body, { headers: { "content-type": "text/event-stream" } }),
    push: (text) => {
      if (!over) controller.enqueue(new TextEncoder().encode(text));
    },
    end: () => {
      over = true;
      controller.close();
    },
    break: (code) => fail(Object.assign(new Error("x"), { code })),
    isCancelled: () => over,
  };
}
