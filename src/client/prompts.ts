import { systemClock } from "../kernel/clock.ts";
import { HostError, unsupported } from "../kernel/errors.ts";
import { nearestWord } from "../kernel/nearest.ts";
import type { Prompt } from "../protocol/model.ts";
import { type FilledPrompt, readFilledPrompt, readPromptPage } from "../protocol/offers.ts";
import type { RequestOptions } from "./client.ts";
import { type FullList, listAllPages, type Requester } from "./pages.ts";
import type { Reply } from "./reply.ts";
import { type ListOptions, resultOf } from "./resources.ts";

/** `prompts/list`, all pages within the limits; empty where the server declares no prompts. Rejects with what a page failed with. */
export async function listPrompts(client: Requester, options: ListOptions = {}): Promise<FullList<Prompt>> {
  if (client.facts.capabilities.prompts === undefined) return { items: [], malformed: [] };
  return await listAllPages(client, options.clock ?? systemClock, "prompts/list", readPromptPage, options);
}

/**
 * `prompts/get`: fills a prompt in. `prompt` is one of {@link listPrompts}; one made by hand lists its `arguments` too, since
 * what it does not list is refused. The arguments are checked as {@link promptArguments} has it, before anything is sent.
 * Rejects with `ERR_INVALID_ARGUMENTS`, with what the request failed with, `ERR_PROTOCOL` for messages of a role that
 * nobody may give a prompt, and `ERR_UNSUPPORTED_HERE` where the server declares no prompts or asks for input first.
 */
export async function getPrompt(
  client: Requester,
  prompt: Prompt,
  args: Readonly<Record<string, unknown>> = {},
  options: RequestOptions = {},
): Promise<FilledPrompt> {
  if (client.facts.capabilities.prompts === undefined) {
    throw unsupported("get a prompt", "this server does not declare any");
  }
  const given = promptArguments(prompt, args);
  return filledOf(await client.request("prompts/get", { name: prompt.name, arguments: given }, options));
}

/** The messages in a reply to `prompts/get`. Throws as {@link getPrompt} rejects. */
export function filledOf(reply: Reply): FilledPrompt {
  const filled = readFilledPrompt(resultOf(reply, "prompts/get"));
  if (typeof filled !== "string") return filled;
  throw new HostError("ERR_PROTOCOL", `Cannot use the answer to prompts/get: ${filled}`);
}

/**
 * The arguments of a prompt as they are sent: texts. Numbers and booleans become texts; an empty text is one; members that
 * are `undefined` are left out. Throws `ERR_INVALID_ARGUMENTS` that names what is missing, unknown or no text.
 */
export function promptArguments(prompt: Prompt, given: Readonly<Record<string, unknown>>): Record<string, string> {
  const blanks = prompt.arguments ?? [];
  const refuse = (why: string): HostError =>
    new HostError(
      "ERR_INVALID_ARGUMENTS",
      `Cannot fill in prompt ${JSON.stringify(prompt.name.slice(0, 100))}: ${why}`,
    );
  const texts: [string, string][] = [];
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined) continue;
    if (!blanks.some((blank) => blank.name === name)) {
      const guess = nearestWord(name, blanks.map((blank) => blank.name));
      const hint = guess === undefined ? "" : `, did you mean ${JSON.stringify(guess)}`;
      throw refuse(`it has no argument ${JSON.stringify(name.slice(0, 100))}${hint}`);
    }
    if (typeof value !== "string" && typeof value !== "number" && typeof value !== "boolean") {
      throw refuse(`${JSON.stringify(name)} is ${value === null ? "null" : `a ${typeof value}`}, wanted a text`);
    }
    texts.push([name, String(value)]);
  }
  const missing = blanks.filter(({ name, required }) => required === true && !texts.some(([given]) => given === name));
  if (missing.length > 0) throw refuse(`${missing.map(({ name }) => JSON.stringify(name)).join(", ")} is missing`);
  // An assignment to some names would set a prototype instead of a member.
  return Object.fromEntries(texts);
}
