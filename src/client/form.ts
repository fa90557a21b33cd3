import { HostError } from "../kernel/errors.ts";
import type { JsonObject } from "../protocol/model.ts";
import { asObject } from "../protocol/results.ts";

/** Most fields of one form. */
const MAX_FIELDS = 100;

/**
 * Checks the schema of a form that a server wants filled in: an object of flat fields (client/elicitation). Gives what
 * is wrong with it, or nothing. What a field holds beyond its type is for the one who draws the form.
 */
export function faultOfForm(schema: unknown): string | undefined {
  const root = asObject(schema);
  const fields = asObject(root?.["properties"]);
  if (root?.["type"] !== "object" || fields === undefined) return `its schema is no object with properties`;
  const names = Object.keys(fields);
  if (names.length > MAX_FIELDS) return `its schema has ${names.length} fields, at most ${MAX_FIELDS} allowed`;
  for (const name of names) {
    if (!isField(asObject(fields[name]))) return `field ${quote(name)} is none of text, number, flag and choice`;
  }
  return undefined;
}

/**
 * What goes back for an accepted form: the answers, and the defaults of fields that were left untouched, where those are allowed. Throws
 * `ERR_INVALID_ARGUMENTS` for answers that the form does not allow, so that nothing leaves that the server must refuse.
 */
export function fillForm(schema: JsonObject, answers: JsonObject): JsonObject {
  const fields = asObject(schema["properties"]) ?? {};
  const required: readonly unknown[] = Array.isArray(schema["required"]) ? schema["required"] : [];
  const filled: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(fields)) {
    const shape = asObject(field) ?? {};
    const answer = Object.hasOwn(answers, name) ? answers[name] : undefined;
    const value = answer === undefined ? shape["default"] : answer;
    const wanted = value === undefined ? undefined : wantedOf(shape, value);
    // A default that its own field does not allow is the server's fault, and none that a person can mend.
    if (value === undefined || (wanted !== undefined && answer === undefined)) {
      if (required.includes(name)) throw refused(name, "no answer", "one, since it is required");
      continue;
    }
    if (wanted !== undefined) throw refused(name, kindOf(value), wanted);
    filled[name] = value;
  }
  for (const name of Object.keys(answers)) {
    if (!Object.hasOwn(fields, name)) throw refused(name, "an answer", "none, since the form has no such field");
  }
  return filled;
}

function isField(field: JsonObject | undefined): boolean {
  switch (field?.["type"]) {
    case "string":
    case "number":
    case "integer":
    case "boolean":
      return true;
    case "array":
      return choicesOf(asObject(field["items"]) ?? {}) !== undefined;
  }
  return false;
}

/** What the field wants instead of this value; nothing when it is fine. */
function wantedOf(field: JsonObject, value: unknown): string | undefined {
  switch (field["type"]) {
    case "boolean":
      return typeof value === "boolean" ? undefined : "true or false";
    case "integer":
      return Number.isSafeInteger(value) ? outside(field, value as number) : "a whole number";
    case "number":
      return typeof value === "number" && Number.isFinite(value) ? outside(field, value) : "a number";
    case "array":
      return wantedOfChoices(field, value);
  }
  if (typeof value !== "string") return "a text";
  const choices = choicesOf(field);
  if (choices !== undefined) return choices.includes(value) ? undefined : "one of the choices";
  const { minLength, maxLength } = field;
  // Lengths count characters, not UTF-16 units (JSON Schema validation, section 6.3).
  const length = typeof minLength === "number" || typeof maxLength === "number" ? [...value].length : 0;
  if (typeof minLength === "number" && length < minLength) return `at least ${minLength} characters`;
  if (typeof maxLength === "number" && length > maxLength) return `at most ${maxLength} characters`;
  return undefined;
}

function wantedOfChoices(field: JsonObject, value: unknown): string | undefined {
  const choices = choicesOf(asObject(field["items"]) ?? {}) ?? [];
  if (!Array.isArray(value) || !value.every((each) => choices.includes(each))) return "a list of the choices";
  const { minItems, maxItems } = field;
  if (typeof minItems === "number" && value.length < minItems) return `at least ${minItems} choices`;
  if (typeof maxItems === "number" && value.length > maxItems) return `at most ${maxItems} choices`;
  return undefined;
}

function outside({ minimum, maximum }: JsonObject, value: number): string | undefined {
  if (typeof minimum === "number" && value < minimum) return `at least ${minimum}`;
  if (typeof maximum === "number" && value > maximum) return `at most ${maximum}`;
  return undefined;
}

/** The values that a choice allows, in each of its three spellings. */
function choicesOf(field: JsonObject): readonly unknown[] | undefined {
  if (Array.isArray(field["enum"])) return field["enum"];
  const titled = field["oneOf"] ?? field["anyOf"];
  return Array.isArray(titled) ? titled.map((choice) => asObject(choice)?.["const"]) : undefined;
}

function refused(name: string, found: string, wanted: string): HostError {
  return new HostError(
    "ERR_INVALID_ARGUMENTS",
    `Cannot send the answers to a form: field ${quote(name)} has ${found}, wanted ${wanted}`,
    { facts: { field: name.slice(0, 100) } },
  );
}

function kindOf(value: unknown): string {
  return Array.isArray(value) ? "a list" : value === null ? "null" : `a ${typeof value}`;
}

function quote(name: string): string {
  return JSON.stringify(name.slice(0, 100));
}
