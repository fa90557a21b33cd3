import { createServer } from "node:http";
import { HostError } from "../../src/kernel/errors.ts";

/** How a person is asked for consent on their own machine. */
export interface LoopbackLoginOptions {
  /**
   * Shows the address to the person, who opens it: prints it, or hands it as one argument to what opens addresses, never to
   * a shell. Nothing is opened here.
   */
  readonly show: (url: URL) => void | Promise<void>;
  /** On 127.0.0.1. Authorization servers know the host by it, so it stays the same. Default 33418. */
  readonly port?: number;
}

/** What `oauth({ interaction })` takes. */
export interface LoopbackLogin {
  readonly redirectUri: string;
  open(ask: { readonly url: URL; readonly signal: AbortSignal }): Promise<string>;
}

const PATH = "/callback";
const PAGE =
  "<!doctype html><meta charset=utf-8><title>Login</title><p>This login has come to its end. You may close this page.";

/**
 * Receives a person who comes back from an authorization server at an address of this machine (RFC 8252, section 7.3). It
 * listens on 127.0.0.1 alone, and only while a login is under way. One login at a time: `ERR_AUTH_FAILED` where the port is
 * taken.
 *
 * @example
 * ```ts
 * import { oauth } from "portcullis/auth";
 * import { loopbackLogin } from "portcullis/node";
 *
 * const auth = [oauth({ interaction: loopbackLogin({ show: (url) => console.log(`Log in at ${url}`) }) })];
 * ```
 */
export function loopbackLogin({ show, port = 33_418 }: LoopbackLoginOptions): LoopbackLogin {
  const redirectUri = `http://127.0.0.1:${port}${PATH}`;
  return {
    redirectUri,
    async open({ url, signal }) {
      const state = url.searchParams.get("state");
      const back = new Promise<string>((resolve, reject) => {
        const server = createServer((request, response) => {
          const target = new URL(request.url ?? "/", redirectUri);
          // Pages of others may send a browser here: only the answer to this login ends it.
          const isOurs = request.method === "GET" && target.pathname === PATH &&
            target.searchParams.get("state") === state;
          const headers = { "content-type": "text/html", "cache-control": "no-store", connection: "close" };
          response.writeHead(isOurs ? 200 : 404, headers).end(isOurs ? PAGE : "");
          if (isOurs) over(() => resolve(target.href));
        });
        const over = (settle: () => void): void => {
          signal.removeEventListener("abort", givenUp);
          server.close();
          settle();
        };
        const givenUp = (): void => {
          server.closeAllConnections();
          over(() => reject(failed("its caller has given up", signal.reason)));
        };
        signal.addEventListener("abort", givenUp);
        server.on("error", (cause: NodeJS.ErrnoException) => {
          over(() =>
            reject(failed(`port ${port} of 127.0.0.1 cannot be listened at (${cause.code ?? cause.name})`, cause))
          );
        });
        server.listen(port, "127.0.0.1", () => {
          if (signal.aborted) return givenUp();
          // Whatever fails here ends the login, and leaves no listener.
          new Promise((done) => done(show(url))).catch((cause: unknown) => {
            over(() => reject(failed("the address could not be shown", cause)));
          });
        });
      });
      return await back;
    },
  };
}

function failed(why: string, cause: unknown): HostError {
  return new HostError("ERR_AUTH_FAILED", `Cannot log in: ${why}`, { cause });
}
