import type { JsonObject, Tool } from "../protocol/model.ts";
import { compileSchema, type SchemaValidator } from "./json_schema/compile.ts";

/** Something about a tool's schemas that a person should know; the tool is used all the same. */
export interface SchemaConcern {
  readonly tool: string;
  readonly rule:
    /** The output schema cannot be used: structured content of this tool is not checked. */
    | "output_schema_unusable"
    /** A schema is of a dialect that is not understood: it is read by the rules of another, or not checked at all. */
    | "schema_dialect_unknown"
    /** Parts of a schema are not checked: patterns that may not be run, keywords that mean nothing. */
    | "schema_partly_checked";
  readonly count: number;
  /** Which ones, or why; text of the server, which is to be scrubbed yet. */
  readonly detail: string;
}

/** What is said of the schemas of one definition. */
export interface SchemaReading {
  /** Why the tool cannot be used; absent for one that can. */
  readonly fault?: string;
  readonly concerns: readonly SchemaConcern[];
  /** See {@link compileSchema}. */
  readonly effort: number;
}

/** What is said of a tool whose output schema cannot be used. */
export function outputUnusable(tool: string, why: string): SchemaConcern {
  return { tool, rule: "output_schema_unusable", count: 1, detail: `outputSchema ${why}` };
}

/** Looks whether the schemas of a definition can be used. What is made of them on the way is not kept. */
export function readSchemas({ name, inputSchema, outputSchema }: Tool): SchemaReading {
  const input = compileSchema(inputSchema);
  if (!input.usable) return { fault: `inputSchema ${input.why}`, concerns: [], effort: input.effort };
  const output = outputSchema === undefined ? undefined : compileSchema(outputSchema);
  const concerns: SchemaConcern[] = [];
  const places = input.flags.map(({ where }) => `inputSchema${where}`);
  if (output?.usable) places.push(...output.flags.map(({ where }) => `outputSchema${where}`));
  if (places.length > 0) {
    concerns.push({ tool: name, rule: "schema_partly_checked", count: places.length, detail: places.join(", ") });
  }
  const notes = [["inputSchema", input] as const, ["outputSchema", output] as const].flatMap(([member, compiled]) =>
    compiled?.usable && compiled.dialectNote !== undefined ? [`${member} ${compiled.dialectNote}`] : []
  );
  if (notes.length > 0) {
    concerns.push({ tool: name, rule: "schema_dialect_unknown", count: notes.length, detail: notes.join("; ") });
  }
  if (output?.usable === false) concerns.push(outputUnusable(name, output.why));
  return { concerns, effort: input.effort + (output?.effort ?? 0) };
}

/** Effort that went into what is kept. A typical schema is ten, a thousandth of this at most. */
const MAX_KEPT = 20_000;

interface KeptValidator {
  readonly validator: SchemaValidator | undefined;
  readonly effort: number;
  /** Since somebody last looked for one to let go. */
  isUsed: boolean;
}

/** The validators of one server's tools. Each is made when it is first needed; those not used for long are let go. */
export class SchemaValidators {
  readonly #kept = new Map<JsonObject, KeptValidator>();
  #effort = 0;

  /** `undefined` for a schema that cannot be used. */
  of(schema: JsonObject): SchemaValidator | undefined {
    const known = this.#kept.get(schema);
    if (known !== undefined) {
      known.isUsed = true;
      return known.validator;
    }
    const compiled = compileSchema(schema);
    const validator = compiled.usable ? compiled.validator : undefined;
    const made: KeptValidator = { validator, effort: 1 + compiled.effort, isUsed: false };
    this.#effort += made.effort;
    // One that was used is passed over once, which puts it last; so this ends after two rounds at most.
    for (const [oldest, kept] of this.#kept) {
      if (this.#effort <= MAX_KEPT) break;
      this.#kept.delete(oldest);
      if (kept.isUsed) this.#kept.set(oldest, { ...kept, isUsed: false });
      else this.#effort -= kept.effort;
    }
    this.#kept.set(schema, made);
    return validator;
  }
}
