import type { JsonObject } from "../../protocol/model.ts";
import {
  allOf,
  anyOf,
  condition,
  dependencySchemas,
  dependentSchemas,
  dynamicReference,
  not,
  oneOf,
  reference,
} from "./applicators.ts";
import { type DocumentLimits, type Effort, SchemaDocument, type SchemaFlag, Unusable } from "./document.ts";
import { checkEnds, spreadDoubt } from "./graph.ts";
import { contains, items, unevaluatedItems } from "./items.ts";
import {
  constant,
  dependencies,
  dependentRequired,
  enumeration,
  maxItems,
  maxLength,
  maxProperties,
  minItems,
  minLength,
  minProperties,
  pattern,
  required,
  type,
  uniqueItems,
} from "./keywords.ts";
import { members, propertyNames, unevaluatedProperties } from "./members.ts";
import type { Check } from "./node.ts";
import { exclusiveMaximum, exclusiveMinimum, maximum, minimum, multipleOf } from "./number_keywords.ts";
import { Place } from "./place.ts";
import { OutOfSteps, Run, type SchemaError } from "./run.ts";

export interface SchemaLimits extends DocumentLimits {
  /** Most steps of one validation. A step is some tens of nanoseconds. */
  readonly maxSteps: number;
}

/** 32 levels, 2,000 subschemas, 1,000,000 steps. */
export const DEFAULT_SCHEMA_LIMITS: SchemaLimits = Object.freeze({
  maxDepth: 32,
  maxSubschemas: 2000,
  maxSteps: 1_000_000,
});

export type Validation =
  | { readonly valid: true }
  /** At most ten errors. */
  | { readonly valid: false; readonly errors: readonly SchemaError[] };

/** Holds JSON values against one schema. */
export interface SchemaValidator {
  /** Never throws. A value that cannot be checked within the limits is not valid. */
  validate(value: unknown): Validation;
}

export type CompiledSchema =
  & {
    /** What compiling has cost, in subschemas and characters of patterns; some microseconds each. */
    readonly effort: number;
  }
  & (
    | {
      readonly usable: true;
      readonly validator: SchemaValidator;
      /** What the schema asks for and the validator does not check; at most twenty. */
      readonly flags: readonly SchemaFlag[];
      /** What there is to say of a dialect that is not understood, to stand after the name of the schema. */
      readonly dialectNote?: string;
    }
    /** `why` is to stand after the name of the schema: `is nested deeper than 32 levels`. */
    | { readonly usable: false; readonly why: string }
  );

type Builder = (place: Place) => Check | undefined;

/**
 * Who makes the checks, and of which keywords. In this order: what is cheap and tells much first, `unevaluated` after all
 * that may have seen something.
 */
const BUILDERS: readonly (readonly [Builder, ...string[]])[] = [
  [type, "type"],
  [constant, "const"],
  [enumeration, "enum"],
  [minimum, "minimum"],
  [maximum, "maximum"],
  [exclusiveMinimum, "exclusiveMinimum"],
  [exclusiveMaximum, "exclusiveMaximum"],
  [multipleOf, "multipleOf"],
  [minLength, "minLength"],
  [maxLength, "maxLength"],
  [pattern, "pattern"],
  [minItems, "minItems"],
  [maxItems, "maxItems"],
  [minProperties, "minProperties"],
  [maxProperties, "maxProperties"],
  [required, "required"],
  [dependentRequired, "dependentRequired"],
  [dependencies, "dependencies"],
  [uniqueItems, "uniqueItems"],
  [propertyNames, "propertyNames"],
  [members, "properties", "patternProperties", "additionalProperties"],
  [items, "items", "prefixItems", "additionalItems"],
  [contains, "contains", "minContains", "maxContains"],
  [reference, "$ref"],
  [dynamicReference, "$dynamicRef"],
  [allOf, "allOf"],
  [anyOf, "anyOf"],
  [oneOf, "oneOf"],
  [not, "not"],
  [condition, "if"],
  [dependentSchemas, "dependentSchemas"],
  [dependencySchemas, "dependencies"],
  [unevaluatedItems, "unevaluatedItems"],
  [unevaluatedProperties, "unevaluatedProperties"],
];

const REFERENCE_ONLY: readonly (readonly [Builder, ...string[]])[] = [[reference, "$ref"]];

/**
 * Makes a validator of a JSON Schema that somebody else has written: 2020-12, or draft-07 where `$schema` says so. Draft-04,
 * draft-06 and 2019-09 are read by the rules of the nearer of the two; one of any other dialect accepts every value.
 * Nothing is fetched, no code is made out of text, and no schema or value makes it work or recurse without a bound.
 * `format` is an annotation, as both dialects allow. The schema is not changed, and must not be changed afterwards.
 */
export function compileSchema(schema: unknown, options: Partial<SchemaLimits> = {}): CompiledSchema {
  const limits = { ...DEFAULT_SCHEMA_LIMITS, ...options };
  const effort: Effort = { spent: 0 };
  try {
    const document = new SchemaDocument(schema, limits, effort);
    // A reference into a part that no keyword makes a schema adds a node while the others are built.
    for (const [written, node] of document.nodes) {
      const place = new Place(document, node, written as JsonObject);
      const builders = document.ignoresSiblings(written as JsonObject) ? REFERENCE_ONLY : BUILDERS;
      node.checks = builders.flatMap(([build, ...keywords]) => {
        const isAsked = keywords.some((keyword) => Object.hasOwn(written, keyword));
        return (isAsked ? build(place) : undefined) ?? [];
      });
    }
    const nodes = [...document.nodes.values()];
    checkEnds(nodes);
    spreadDoubt(nodes);
    if (document.tracks) { for (const node of nodes) node.tracks = true; }
    const { flags, isForeign, dialectNote } = document;
    const validator = isForeign ? ACCEPTS_ALL : new Validator(document, limits.maxSteps);
    const note = dialectNote === undefined ? {} : { dialectNote };
    return { usable: true, validator, flags, effort: effort.spent, ...note };
  } catch (error) {
    if (error instanceof Unusable) return { usable: false, why: error.message, effort: effort.spent };
    throw error;
  }
}

const ACCEPTS_ALL: SchemaValidator = Object.freeze({ validate: (): Validation => ({ valid: true }) });

class Validator implements SchemaValidator {
  readonly #document: SchemaDocument;
  readonly #maxSteps: number;

  constructor(document: SchemaDocument, maxSteps: number) {
    this.#document = document;
    this.#maxSteps = maxSteps;
  }

  validate(value: unknown): Validation {
    const { root } = this.#document;
    const errors: SchemaError[] = [];
    try {
      if (root.accepts(value, new Run(this.#maxSteps))) return { valid: true };
      // Once more for the reasons: most values are valid, and never pay for them.
      root.accepts(value, new Run(this.#maxSteps, errors));
    } catch (error) {
      if (!(error instanceof OutOfSteps)) throw error;
      const message = `takes more than ${this.#maxSteps} steps to check`;
      if (errors.length === 0) errors.push({ instancePath: "", keyword: "", message });
    }
    return { valid: false, errors };
  }
}
