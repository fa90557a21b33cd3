export interface BundleSize {
  readonly bytes: number;
  readonly gzipBytes: number;
  /** What must not be in a bundle for the edge, in words; empty when all is well. */
  readonly faults: readonly string[];
}

export interface SizeBudget {
  /** A file of the project, or else {@link SizeBudget.text}. */
  readonly file?: string;
  /** A program that stands at the project's root. */
  readonly text?: string;
  /** What it is aimed to cost, in bytes after gzip. */
  readonly gzipBytes: number;
  /** The most that a test lets it cost. */
  readonly heldBytes?: number;
}

export const SIZE_BUDGETS: Readonly<Record<string, SizeBudget>>;

/** Measures a file of the project, or a text that stands at its root. */
export function bundleSize(entry: { readonly file: string } | { readonly text: string }): Promise<BundleSize>;
