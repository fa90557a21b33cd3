import { HostError } from "../kernel/errors.ts";

/** What the name of a stream leaves to the id of a session. */
const MAX_ID = 192;
const MAX_SHOWN = 64;

/** Throws `ERR_INVALID_ARGUMENTS` for an id that cannot name the stream `session:<id>`. `action` is what fails. */
export function checkSessionId(id: string | undefined, action: string): void {
  if (id === undefined || (id.length <= MAX_ID && /^[\x21-\x7e]+$/.test(id))) return;
  const found = id.length <= MAX_SHOWN ? JSON.stringify(id) : `a string of ${id.length} characters`;
  const wanted = `1 to ${MAX_ID} visible ASCII characters, which a blank is not`;
  throw new HostError("ERR_INVALID_ARGUMENTS", `Cannot ${action}: "id" is ${found}, wanted ${wanted}`);
}
