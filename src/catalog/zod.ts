/**
 * `portcullis/zod`: local tools whose arguments are described by a zod schema.
 * @module
 */
import * as z from "zod";
import { HostError } from "../kernel/errors.ts";
import type { JsonObject } from "../protocol/model.ts";
import type { LocalTool, LocalToolContext, LocalToolResult } from "./local_tool.ts";
import type { Risk } from "./risk.ts";

/** A local tool whose input is a zod schema. */
export interface ZodToolOptions<S extends z.ZodObject> {
  /** As of {@link LocalTool}. */
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly risk: Risk;
  /** What the arguments have to be. Models are shown what may be written, before defaults and transformations. */
  readonly input: S;
  /** Does the work, with what the schema made of the arguments. */
  run(args: z.output<S>, context: LocalToolContext): LocalToolResult | Promise<LocalToolResult>;
}

/** Longest explanation of what is wrong with arguments. */
const MAX_EXPLANATION = 2_000;

/**
 * Makes a local tool of a zod schema. Arguments that the schema refuses give a result with `isError` that says why, so
 * that a model can correct itself; `run` is not called then.
 *
 * Throws `ERR_CONFIG` when the schema holds what JSON cannot carry, such as a date.
 *
 * @example
 * ```ts
 * import { zodTool } from "portcullis/zod";
 * import * as z from "zod";
 *
 * const add = zodTool({
 *   name: "add",
 *   description: "Adds two numbers",
 *   risk: "read",
 *   input: z.object({ a: z.number(), b: z.number() }),
 *   run: ({ a, b }) => String(a + b),
 * });
 * console.log(add.inputSchema["required"]); // [ "a", "b" ]
 * ```
 */
export function zodTool<S extends z.ZodObject>(options: ZodToolOptions<S>): LocalTool {
  const { name, title, description, risk, input } = options;
  return {
    name,
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
    risk,
    inputSchema: schemaOf(name, input),
    async run(args, context): Promise<LocalToolResult> {
      const parsed = await input.safeParseAsync(args);
      if (parsed.success) return await options.run(parsed.data, context);
      const why = z.prettifyError(parsed.error).slice(0, MAX_EXPLANATION);
      return { isError: true, content: [{ type: "text", text: `Invalid arguments for ${name}:\n${why}` }] };
    },
  };
}

function schemaOf(name: string, input: z.ZodObject): JsonObject {
  try {
    return z.toJSONSchema(input, { io: "input" }) as JsonObject;
  } catch (cause) {
    throw new HostError(
      "ERR_CONFIG",
      `Cannot add local tool ${JSON.stringify(name)}: its input has no JSON Schema, wanted types that JSON can carry`,
      { cause },
    );
  }
}
