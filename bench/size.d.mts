export interface BundleSize {
  readonly bytes: number;
  readonly gzipBytes: number;
  /** What must not be in a bundle for the edge, in words; empty when all is well. */
  readonly faults: readonly string[];
}

/** The most that each entry may cost, in bytes after gzip. */
export const SIZE_BUDGETS: Readonly<Record<string, { readonly file: string; readonly gzipBytes: number }>>;

/** Measures a file of the project, or a text that stands at its root. */
export function bundleSize(entry: { readonly file: string } | { readonly text: string }): Promise<BundleSize>;
