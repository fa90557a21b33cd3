/** Revisions opened by `initialize`, newest first. */
export const LEGACY_VERSIONS: readonly string[] = Object.freeze([
  "2025-11-25",
  "2025-06-18",
  "2025-03-26",
  "2024-11-05",
]);

/** Revisions in which every request carries its own metadata, most wanted first. */
export const MODERN_VERSIONS: readonly string[] = Object.freeze(["2026-07-28"]);

/** The revision before which there was none. */
export const FIRST_VERSION = "2024-11-05";

/** The one revision whose messages may be arrays. */
export const BATCH_VERSION = "2025-03-26";

/** What servers made before the first revision call it. Spoken where it is asked for by name, and never offered. */
const BEFORE_THE_FIRST = "2024-10-07";

/** The specification's words for the two families of revisions. */
export type EraName = "legacy" | "modern";

/** The era of a revision; `undefined` for one that we do not speak. Dates are names: a later one is not assumed to be alike. */
export function eraOf(version: string): EraName | undefined {
  if (MODERN_VERSIONS.includes(version)) return "modern";
  if (LEGACY_VERSIONS.includes(version) || version === BEFORE_THE_FIRST) return "legacy";
  return undefined;
}
