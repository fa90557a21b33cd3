/** Every code a {@link HostError} can carry. Callers test the code, never the text. */
export type ErrorCode =
  | "ERR_CONFIG"
  | "ERR_ENV_MISSING"
  | "ERR_DUPLICATE_SERVER"
  | "ERR_SERVER_NOT_FOUND"
  | "ERR_SERVER_NOT_CONNECTED"
  | "ERR_SERVER_DISABLED"
  | "ERR_START_FAILED"
  | "ERR_START_TIMEOUT"
  | "ERR_PROTOCOL"
  | "ERR_VERSION"
  | "ERR_FRAME_TOO_LARGE"
  | "ERR_TIMEOUT"
  | "ERR_CANCELLED"
  | "ERR_CONNECTION_LOST"
  | "ERR_AUTH_REQUIRED"
  | "ERR_AUTH_FAILED"
  | "ERR_NAME_COLLISION"
  | "ERR_LOG_CORRUPT"
  | "ERR_LOG_POISONED"
  | "ERR_LOG_LOCKED"
  | "ERR_LOG_VERSION"
  | "ERR_FENCED"
  | "ERR_CURSOR_EXPIRED"
  | "ERR_STORE_UNSUITABLE"
  | "ERR_SANDBOX_UNAVAILABLE"
  | "ERR_UNSUPPORTED_HERE"
  | "ERR_DENIED"
  | "ERR_ALREADY_DECIDED"
  | "ERR_TOOL_NOT_FOUND"
  | "ERR_TOOL_AMBIGUOUS"
  | "ERR_INVALID_ARGUMENTS"
  | "ERR_TOO_LARGE"
  | "ERR_NOT_LOGGED"
  | "ERR_SERVER_PENDING"
  | "ERR_PENDING"
  | "ERR_SESSION_CLOSED"
  | "ERR_CLOSED";

/** Facts that go with an error: sizes, names, places. Never a secret. */
export type ErrorFacts = Readonly<Record<string, unknown>>;

const HOST_ERROR = Symbol.for("portcullis.HostError");
const REMOTE_ERROR = Symbol.for("portcullis.RemoteError");

/**
 * A fault on our side of the wire: configuration, transport, deadline, gate, log or storage.
 *
 * The message names the action that failed, what was found and what was wanted. What led to it is in `cause`.
 */
export class HostError extends Error {
  override readonly name: string = "HostError";
  /** One of a closed union; the only thing to branch on. */
  readonly code: ErrorCode;
  /** Machine-readable particulars of this failure. */
  readonly facts: ErrorFacts;

  constructor(
    code: ErrorCode,
    message: string,
    options: { readonly cause?: unknown; readonly facts?: ErrorFacts } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.facts = options.facts ?? {};
    Object.defineProperty(this, HOST_ERROR, { value: true });
  }
}

/** A JSON-RPC error that the peer answered with (JSON-RPC 2.0, section 5.1). Its text is the peer's: untrusted. */
export class RemoteError extends Error {
  override readonly name: string = "RemoteError";
  /** The integer the peer sent. */
  readonly code: number;
  /** The `data` member as received, if any. */
  readonly data: unknown;

  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.code = code;
    this.data = data;
    Object.defineProperty(this, REMOTE_ERROR, { value: true });
  }
}

/**
 * Tells a {@link HostError} from any other value, also across two copies of this package.
 *
 * @example
 * ```ts
 * import { HostError, isHostError } from "portcullis";
 * const error: unknown = new HostError("ERR_TIMEOUT", "Call timed out");
 * if (isHostError(error, "ERR_TIMEOUT")) console.log(error.message);
 * ```
 */
export function isHostError(value: unknown, code?: ErrorCode): value is HostError {
  if (typeof value !== "object" || value === null || !(HOST_ERROR in value)) return false;
  return code === undefined || (value as { code?: unknown }).code === code;
}

/** Tells a {@link RemoteError} from any other value, also across two copies of this package. */
export function isRemoteError(value: unknown): value is RemoteError {
  return typeof value === "object" && value !== null && REMOTE_ERROR in value;
}

/**
 * Reduces any thrown value to a short code that is the same on every runtime: our own code, the system's (`ENOENT`,
 * `ECONNREFUSED`) or the error's name. Texts made by a runtime differ between runtimes and may quote input.
 */
export function causeCode(value: unknown): string {
  for (let error = value, depth = 0; typeof error === "object" && error !== null && depth < 4; depth++) {
    const { code, cause, name } = error as { code?: unknown; cause?: unknown; name?: unknown };
    if (typeof code === "string" && /^[A-Z][A-Za-z0-9_]{1,40}$/.test(code)) return code;
    if (typeof code === "number" && REMOTE_ERROR in error) return String(code);
    if (cause === undefined) return typeof name === "string" && /^[A-Za-z]{1,40}$/.test(name) ? name : "unknown";
    error = cause;
  }
  return "unknown";
}

/** The error for something that this runtime, build or version cannot do. `wayOut` says what would bring it. */
export function unsupported(action: string, wayOut: string): HostError {
  return new HostError("ERR_UNSUPPORTED_HERE", `Cannot ${action}: not available here; ${wayOut}`);
}
