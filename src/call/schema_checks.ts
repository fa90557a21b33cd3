import type { CatalogEntry } from "../catalog/catalog.ts";
import type { SchemaError } from "../catalog/json_schema/run.ts";
import type { Spill } from "../jsonrpc/spill_sink.ts";
import type { JsonObject } from "../protocol/model.ts";
import type { Scrubber } from "../scrub/scrubber.ts";
import { scrubbedExcerpt } from "../servers/fault.ts";
import type { Finding } from "./outcome.ts";
import type { Output } from "./output.ts";

const MAX_FAULTS_TEXT = 1000;
const MAX_PREVIEW = 500;

/** What is wrong with arguments in the eyes of the tool's own schema; `undefined` when nothing is. */
export function argumentsFault(
  tool: Pick<CatalogEntry, "checkArguments">,
  args: unknown,
  scrubber: Scrubber,
): string | undefined {
  const checked = tool.checkArguments(args);
  return checked.valid ? undefined : scrubbedExcerpt(textOf(checked.errors), scrubber, MAX_FAULTS_TEXT);
}

/**
 * What is wrong with the structured content of a result that is a success: it does not fit the tool's output schema, it
 * is missing although there is one, or it cannot be checked. Looks at the result as it came, before long strings are put
 * back and secrets taken out, which would change what is valid; so its preview is to be scrubbed yet.
 */
export function structuredFinding(
  entry: CatalogEntry,
  result: JsonObject,
  spills: readonly Spill[] = [],
): Finding | undefined {
  if (entry.definition.outputSchema === undefined || result["isError"] === true) return undefined;
  if (spills.some(({ pointer, isWhole }) => isWhole || pointer.startsWith(POINTER))) {
    return finding("structured_content_unchecked", "holds a text that is too long to be checked");
  }
  const checked = entry.checkStructured(result["structuredContent"]);
  if (checked === undefined) return undefined;
  if (!Object.hasOwn(result, "structuredContent")) return finding("structured_content_missing", "is missing");
  return checked.valid
    ? undefined
    : finding("structured_content_invalid", textOf(checked.errors), checked.errors.length);
}

/** The output with one more finding, scrubbed. */
export function withFinding(output: Output, found: Finding | undefined, scrubber: Scrubber): Output {
  if (found === undefined) return output;
  const preview = scrubbedExcerpt(found.preview ?? "", scrubber, MAX_PREVIEW);
  return { ...output, findings: [...output.findings, { ...found, preview }] };
}

function finding(rule: string, preview: string, count = 1): Finding {
  return { rule, where: "structuredContent", severity: "low", count, preview };
}

const POINTER = "/result/structuredContent";

function textOf(errors: readonly SchemaError[]): string {
  return errors.map(({ instancePath, message }) => `${instancePath} ${message}`.trim()).join("; ");
}
