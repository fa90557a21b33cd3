import type { Run } from "./run.ts";
import { Seen } from "./seen.ts";

/** What one keyword, or a few that belong together, ask of a value. `seen` is absent where nothing needs it. */
export type Check = (value: unknown, run: Run<Resource>, seen: Seen | undefined) => boolean;

/** A schema with an identifier of its own; the whole document is one. */
export interface Resource {
  readonly uri: string;
  readonly schema: object | boolean;
  readonly anchors: Map<string, SchemaNode>;
  readonly dynamicAnchors: Map<string, SchemaNode>;
}

/** One subschema, ready to be applied. It is made before its checks are, since schemas refer to one another. */
export class SchemaNode {
  readonly resource: Resource;
  /** JSON Pointer of its place in the document. */
  readonly at: string;
  checks: readonly Check[] = [];
  /** Schemas that it applies to the same value. */
  readonly here: Set<SchemaNode> = new Set();
  /** Schemas that it applies to parts of the value. */
  readonly inside: Set<SchemaNode> = new Set();
  /**
   * Something in it, or in what it applies, is not checked: it may accept what it should refuse. What would turn that
   * around into a refusal must not rest on it.
   */
  isDoubtful = false;
  /** Some schema of the document asks what others have seen. */
  tracks = false;

  constructor(resource: Resource, at: string) {
    this.resource = resource;
    this.at = at;
  }

  /** Whether a value satisfies it. What it has seen of a value that does is added to `seen`. */
  accepts(value: unknown, run: Run<Resource>, seen?: Seen): boolean {
    return run.within(this.resource, () => {
      const own = this.tracks && typeof value === "object" && value !== null ? new Seen() : undefined;
      let isValid = true;
      for (const check of this.checks) {
        if (check(value, run, own)) continue;
        isValid = false;
        if (!run.goesOn) break;
      }
      if (isValid && own !== undefined) seen?.take(own, run);
      return isValid;
    });
  }
}
