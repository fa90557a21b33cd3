import type { FetchFunction, Runtime } from "../../src/kernel/runtime.ts";

/** What a worker or page tells the adapter about the place it runs in. */
export interface WorkerdRuntimeOptions {
  /** The worker's `env`. Its texts become the environment; other bindings are left out. */
  readonly bindings?: Readonly<Record<string, unknown>>;
  /** Used instead of the global `fetch`, such as that of a service binding. */
  readonly fetch?: FetchFunction;
  /** Default true in workerd and false elsewhere; see {@link Runtime.contentLengthIsDecoded}. */
  readonly contentLengthIsDecoded?: boolean;
}

/**
 * The adapter for Cloudflare workerd, with or without `nodejs_compat`, and for browsers. There are no processes and no
 * files, and no digest in steps, since the ones at hand answer asynchronously.
 *
 * @example
 * ```ts
 * import { workerdRuntime } from "portcullis/workerd";
 * export default {
 *   fetch(_request: Request, env: Record<string, unknown>): Response {
 *     return new Response(workerdRuntime({ bindings: env }).name);
 *   },
 * };
 * ```
 */
export function workerdRuntime(options: WorkerdRuntimeOptions = {}): Runtime {
  const { navigator } = globalThis as { readonly navigator?: { readonly userAgent?: string } };
  const agent = navigator?.userAgent ?? "unknown";
  const isWorkerd = agent === "Cloudflare-Workers";
  return {
    name: isWorkerd ? "workerd" : "browser",
    version: agent,
    fetch: options.fetch ?? ((input, init) => fetch(input, init)),
    contentLengthIsDecoded: options.contentLengthIsDecoded ?? isWorkerd,
    ...(isWorkerd ? { maxFrameBytes: 16 << 20 } : {}),
    environment: () => textsOf(options.bindings ?? {}),
  };
}

function textsOf(bindings: Readonly<Record<string, unknown>>): Record<string, string> {
  const texts: Record<string, string> = {};
  for (const [name, value] of Object.entries(bindings)) {
    if (typeof value === "string") texts[name] = value;
  }
  return texts;
}
