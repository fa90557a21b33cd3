import { parseTemplate } from "url-template";
import { HostError } from "../kernel/errors.ts";

/** Values for the variables of a template; one that is left out is left out of the address too. */
export type TemplateValues = Readonly<
  Record<string, string | number | boolean | readonly string[] | Readonly<Record<string, string>> | undefined>
>;

const MAX_LENGTH = 8192;

/** The names of the variables of a resource template (RFC 6570), in order. Throws `ERR_INVALID_ARGUMENTS` for what is none. */
export function templateVariables(template: string): string[] {
  const rest = template.replace(EXPRESSION, "");
  if (template.length > MAX_LENGTH || /[{}]/.test(rest)) throw notATemplate(template);
  const names = [...template.matchAll(EXPRESSION)].flatMap(([, expression]) =>
    expression!.replace(/^[+#./;?&]/, "").split(",").map((variable) => variable.replace(/(?:\*|:\d+)$/, ""))
  );
  if (names.includes("")) throw notATemplate(template);
  return [...new Set(names)];
}

/**
 * The address that a resource template gives for these values: expanded once by RFC 6570, never encoded a second time.
 * Throws `ERR_INVALID_ARGUMENTS` for a variable that the template has not, and for values that no address can hold.
 */
export function expandTemplate(template: string, values: TemplateValues): string {
  const names = templateVariables(template);
  const unknown = Object.keys(values).find((name) => !names.includes(name));
  if (unknown !== undefined) {
    throw new HostError(
      "ERR_INVALID_ARGUMENTS",
      `Cannot fill in a template: it has no variable ${JSON.stringify(unknown.slice(0, 100))}, wanted ${
        names.length === 0 ? "none" : names.join(", ")
      }`,
    );
  }
  // Without a prototype: a variable may be called like a member that every object has.
  const own = Object.assign(Object.create(null) as Record<string, unknown>, values);
  try {
    return parseTemplate(template).expand(own as Parameters<ReturnType<typeof parseTemplate>["expand"]>[0]);
  } catch (cause) {
    // Half a surrogate pair has no encoding.
    throw new HostError("ERR_INVALID_ARGUMENTS", "Cannot fill in a template: found a value that is no text", { cause });
  }
}

const EXPRESSION = /\{([^{}]+)\}/g;

function notATemplate(template: string): HostError {
  const found = template.length > MAX_LENGTH ? `${template.length} characters` : JSON.stringify(template.slice(0, 100));
  return new HostError(
    "ERR_INVALID_ARGUMENTS",
    `Cannot read a template: found ${found}, wanted a URI template of at most ${MAX_LENGTH} characters`,
  );
}
