import { HostError } from "../kernel/errors.ts";
import type { ClientCapabilities, JsonObject } from "./model.ts";

/** A name of metadata: an optional prefix of labels, then a name, which may be empty behind a prefix (basic, `_meta`). */
const META_KEY =
  /^(?:[a-z](?:[a-z\d-]*[a-z\d])?(?:\.[a-z](?:[a-z\d-]*[a-z\d])?)*\/)?(?:[a-z\d](?:[\w.-]*[a-z\d])?|(?<=\/))$/i;
/** That of an extension wants a prefix. */
const EXTENSION_ID = /^(?:[a-z](?:[a-z\d-]*[a-z\d])?(?:\.[a-z](?:[a-z\d-]*[a-z\d])?)*\/)[a-z\d](?:[\w.-]*[a-z\d])?$/i;

/**
 * Metadata for the `_meta` of a request, as it is given. Throws `ERR_INVALID_ARGUMENTS` for a name that the specification
 * does not allow (basic, `_meta`). For names that are made at run time: what a program writes down need not be checked.
 */
export function checkedMeta<T extends JsonObject>(meta: T): T {
  return checked("send metadata", meta, META_KEY);
}

/**
 * Extensions for `ClientCapabilities.extensions`, as they are given. Throws `ERR_INVALID_ARGUMENTS` for a name that is none
 * of an extension. For names that are made at run time, as with {@link checkedMeta}.
 */
export function checkedExtensions(extensions: JsonObject): NonNullable<ClientCapabilities["extensions"]> {
  return checked("declare an extension", extensions, EXTENSION_ID) as NonNullable<ClientCapabilities["extensions"]>;
}

function checked<T extends JsonObject>(action: string, named: T, pattern: RegExp): T {
  const wrong = Object.keys(named).find((name) => !pattern.test(name));
  if (wrong === undefined) return named;
  const found = JSON.stringify(wrong.slice(0, 100));
  throw new HostError(
    "ERR_INVALID_ARGUMENTS",
    `Cannot ${action}: found the name ${found}, wanted one such as "com.example/name"`,
  );
}
