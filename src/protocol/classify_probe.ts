import { isHostError, isRemoteError } from "../kernel/errors.ts";
import type { Settled } from "../jsonrpc/pending.ts";
import type { Era } from "./era.ts";
import { asObject, type Introduction, readDiscover } from "./results.ts";
import { LEGACY_VERSIONS, MODERN_VERSIONS } from "./versions.ts";

/** What the answer to `server/discover` says about a server. */
export type ProbeVerdict =
  /** It speaks this modern revision. */
  | { readonly kind: "modern"; readonly protocolVersion: string; readonly introduction: Introduction }
  /** It is modern, but wants another revision, which we speak: ask once more with that. */
  | { readonly kind: "ask_again"; readonly protocolVersion: string }
  /** Nothing speaks for the modern era: shake hands. */
  | { readonly kind: "legacy" }
  /** It names its revisions, and none is ours. */
  | { readonly kind: "no_common_version"; readonly supported: readonly string[] }
  /** The connection has ended before an answer. */
  | { readonly kind: "gone"; readonly error: unknown }
  /** The failure says nothing about the era: credentials, network. */
  | { readonly kind: "no_evidence"; readonly error: unknown };

const UNSUPPORTED_VERSION = -32022;
/** Errors that only a modern server answers with (2026-07-28, error codes). */
const MODERN_ERRORS: ReadonlySet<number> = new Set([-32020, -32021]);

/**
 * Judges a first contact (2026-07-28, basic/versioning). Pure. Which one error a legacy server answers with is never
 * the key: in the field it may be any, or none.
 */
export function classifyProbe(settled: Settled, isOpen: boolean): ProbeVerdict {
  if (settled.ok) {
    const introduction = readDiscover(settled.result);
    return introduction === undefined ? { kind: "legacy" } : choose(introduction.supportedVersions, introduction);
  }
  const { error } = settled;
  if (isRemoteError(error)) {
    const supported = asObject(error.data)?.["supported"];
    if (
      error.code === UNSUPPORTED_VERSION && Array.isArray(supported) &&
      supported.every((version) => typeof version === "string")
    ) {
      return choose(supported, undefined);
    }
    return MODERN_ERRORS.has(error.code) ? { kind: "no_evidence", error } : { kind: "legacy" };
  }
  if (!isOpen) return { kind: "gone", error };
  switch (error.code) {
    case "ERR_TIMEOUT":
    case "ERR_PROTOCOL":
    case "ERR_FRAME_TOO_LARGE":
      return error.facts["total"] === true || isRedirect(error.facts["status"])
        ? { kind: "no_evidence", error }
        : { kind: "legacy" };
    case "ERR_CONNECTION_LOST":
      // A stream that ends without an answer is an answer of sorts; a network that fails is none.
      return error.facts["cause"] === undefined ? { kind: "legacy" } : { kind: "no_evidence", error };
    case "ERR_CANCELLED":
      return isHostError(error) && error.facts["by"] === "server" ? { kind: "legacy" } : { kind: "no_evidence", error };
    default:
      return { kind: "no_evidence", error };
  }
}

/** True when a modern server refuses the revision that it spoke before: another one stands in its place. */
export function isOutdated(era: Era, settled: Settled): boolean {
  return !settled.ok && isRemoteError(settled.error) && settled.error.code === UNSUPPORTED_VERSION &&
    era.name === "modern";
}

function isRedirect(status: unknown): boolean {
  return typeof status === "number" && status >= 300 && status < 400;
}

function choose(supported: readonly string[], introduction: Introduction | undefined): ProbeVerdict {
  const modern = MODERN_VERSIONS.find((version) => supported.includes(version));
  if (modern !== undefined) {
    return introduction === undefined
      ? { kind: "ask_again", protocolVersion: modern }
      : { kind: "modern", protocolVersion: modern, introduction };
  }
  return LEGACY_VERSIONS.some((version) => supported.includes(version))
    ? { kind: "legacy" }
    : { kind: "no_common_version", supported };
}
