import { causeCode, type ErrorCode } from "../kernel/errors.ts";
import { fileFault } from "../kernel/file_fault.ts";
import { isSecretName, type KnownSecret } from "../kernel/secrets.ts";

/** Where placeholders get their values from. */
export interface ExpandSources {
  /** Variables by name, such as those of the process; `undefined` is as good as left out. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Reads `${file:path}`; the path comes as it is written. Absent: such a placeholder is `ERR_UNSUPPORTED_HERE`. */
  readonly readFile?: ((path: string) => Promise<string>) | undefined;
  /** Finds `${secret:name}`; `undefined` for a name it does not know. Absent: `ERR_UNSUPPORTED_HERE`. */
  readonly secrets?: ((name: string) => Promise<string | undefined> | string | undefined) | undefined;
}

/** What became of one text. */
export interface Expansion {
  readonly text: string;
  readonly secrets: readonly KnownSecret[];
  readonly faults: readonly { readonly code: ErrorCode; readonly detail: string }[];
  /** True when the text held a placeholder of any kind. */
  readonly expanded: boolean;
}

/** Most characters that one `${file:path}` may bring. */
export const MAX_SECRET_FILE_LENGTH = 65_536;

/** What every child process may see anyway. */
const PUBLIC_VARIABLES = new Set(
  ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "LANG", "TZ", "PWD", "TMPDIR", "TEMP", "TMP", "USERPROFILE"],
);

const SYNTAX = "${NAME}, ${NAME:-default}, ${file:path} or ${secret:name}";

/**
 * Replaces `${NAME}`, `${NAME:-default}` (for a variable that is unset or empty), `${file:path}` (without the line end
 * that editors add) and `${secret:name}`. `$${` stands for `${` itself; a `$` before anything else for itself.
 *
 * Values are not looked into again. All faults of the text are reported; a placeholder with a fault is left as it is.
 * Never rejects.
 */
export async function expandText(text: string, sources: ExpandSources): Promise<Expansion> {
  const secrets: KnownSecret[] = [];
  const faults: { code: ErrorCode; detail: string }[] = [];
  let result = "";
  let at = 0;
  let expanded = false;
  while (true) {
    const start = text.indexOf("${", at);
    if (start < 0) break;
    expanded = true;
    if (start > at && text[start - 1] === "$") {
      result += text.slice(at, start - 1) + "${";
      at = start + 2;
      continue;
    }
    const end = text.indexOf("}", start);
    if (end < 0) {
      faults.push({
        code: "ERR_CONFIG",
        detail: 'found "${" without "}", wanted ' + SYNTAX + ', or "$${" for the characters themselves',
      });
      break;
    }
    const found = await lookUp(text.slice(start + 2, end), sources);
    if ("fault" in found) faults.push(found.fault);
    else if (found.label !== undefined) secrets.push({ label: found.label, value: found.value });
    result += text.slice(at, start) + ("fault" in found ? text.slice(start, end + 1) : found.value);
    at = end + 1;
  }
  return { text: result + text.slice(at), secrets, faults, expanded };
}

type Found =
  /** `label` is set when the value is a secret. */
  | { readonly value: string; readonly label: string | undefined }
  | { readonly fault: { readonly code: ErrorCode; readonly detail: string } };

async function lookUp(body: string, sources: ExpandSources): Promise<Found> {
  const variable = /^([A-Za-z_][A-Za-z0-9_]*)(?::-([^]*))?$/.exec(body);
  if (variable !== null) return readVariable(variable[1]!, variable[2], sources.env);
  const [, kind, name] = /^(file|secret):([^]+)$/.exec(body) ?? [];
  if (kind === "file") return await readFile(name!, sources.readFile);
  if (kind === "secret") return await readSecret(name!, sources.secrets);
  const meant = /^env:([A-Za-z_][A-Za-z0-9_]*)$/.exec(body)?.[1];
  const hint = meant === undefined ? "" : `, did you mean \${${meant}}`;
  return failed("ERR_CONFIG", `found the placeholder ${quote(`\${${body}}`)}, wanted ${SYNTAX}${hint}`);
}

function readVariable(name: string, fallback: string | undefined, env: ExpandSources["env"]): Found {
  const value = Object.hasOwn(env, name) ? env[name] : undefined;
  if (fallback !== undefined && (value === undefined || value === "")) return { value: fallback, label: undefined };
  if (value === undefined) {
    return failed("ERR_ENV_MISSING", `environment variable ${name} is not set, wanted a value or \${${name}:-default}`);
  }
  return { value, label: isPublic(name, value) ? undefined : `env.${name}` };
}

/**
 * True for what is no secret: variables that every child has anyway, and places on this machine under names that say
 * nothing of secrets. Taking a project's directory out of everything would leave nothing of its server to use.
 */
function isPublic(name: string, value: string): boolean {
  if (PUBLIC_VARIABLES.has(name) || name.startsWith("LC_")) return true;
  return !isSecretName(name) && /^(?:[A-Za-z]:[\\/]|[\\/])[^=+]*$/.test(value);
}

async function readFile(path: string, read: ExpandSources["readFile"]): Promise<Found> {
  if (read === undefined) {
    return failed("ERR_UNSUPPORTED_HERE", "${file:...} is not available here; use ${NAME} or ${secret:name}");
  }
  try {
    const text = await read(path);
    if (text.length > MAX_SECRET_FILE_LENGTH) {
      return failed(
        "ERR_CONFIG",
        `file ${quote(path)} has ${text.length} characters, wanted at most ${MAX_SECRET_FILE_LENGTH}`,
      );
    }
    return { value: text.replace(/\r?\n$/, ""), label: `file.${path}` };
  } catch (error) {
    return failed("ERR_ENV_MISSING", `file ${quote(path)} cannot be read: ${fileFault(error)}`);
  }
}

async function readSecret(name: string, provide: ExpandSources["secrets"]): Promise<Found> {
  if (provide === undefined) {
    return failed(
      "ERR_UNSUPPORTED_HERE",
      "${secret:...} is not available here; hand a secrets provider to loadConfig, or use ${NAME}",
    );
  }
  try {
    const value = await provide(name);
    if (value !== undefined) return { value, label: `secret.${name}` };
    return failed("ERR_ENV_MISSING", `the secrets provider has no ${quote(name)}, wanted a secret that it knows`);
  } catch (error) {
    return failed("ERR_ENV_MISSING", `the secrets provider failed for ${quote(name)} (${causeCode(error)})`);
  }
}

function failed(code: ErrorCode, detail: string): Found {
  return { fault: { code, detail } };
}

function quote(text: string): string {
  return JSON.stringify(text.length > 64 ? `${text.slice(0, 64)}...` : text);
}
