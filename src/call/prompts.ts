import type { EventInput } from "../events/event.ts";
import type { KnownEventInput } from "../events/payloads.ts";
import { canonicalJson, sha256Text } from "../kernel/canonical.ts";
import { previewArgs } from "../permission/gate_events.ts";
import type { Caller } from "../permission/request.ts";
import type { ContentBlock, Prompt, PromptMessage } from "../protocol/model.ts";
import { fillOffered, promptArguments } from "../servers/offered.ts";
import type { Server } from "../servers/server.ts";
import { artifactStored } from "./call_events.ts";
import type { Finding } from "./outcome.ts";
import { type Output, readOutput } from "./output.ts";
import type { Passage, Reading, ReadingContext, ReadingOptions, ReadingSubject } from "./reading.ts";
import type { ReadingFailure } from "./reading_failure.ts";
import type { ReadError } from "./resources.ts";

/** How a prompt is used. */
export interface PromptOptions extends ReadingOptions {
  /** What a person has typed, such as `/review pr=456`: written to the log before anything else. */
  readonly typed?: string;
}

/** One message of a prompt, and whose words it really holds. */
export interface PromptOutcomeMessage {
  readonly role: "user" | "assistant";
  readonly content: ContentBlock;
  readonly source: { readonly mcp: { readonly server: string; readonly prompt: string } };
}

/** What became of a prompt. Everything in it was scrubbed. */
export interface PromptOutcome {
  /** `denied` by the gate; `failed` where it could not be had; `cancelled` by the caller. */
  readonly status: "completed" | ReadingFailure["status"];
  readonly server: string;
  /** The name that its server knows it by. */
  readonly prompt: string;
  readonly description?: string;
  /** Never of a system: a server's words do not come before yours. */
  readonly messages: readonly PromptOutcomeMessage[];
  /** What looked suspicious in them. */
  readonly findings: readonly Finding[];
  /** The permission request that it rests on; absent where a person has typed it. */
  readonly requestId?: string;
  readonly durationMs: number;
  readonly error?: ReadError;
}

/** A prompt at the server that a session has found for it. */
export interface PromptTarget {
  readonly server: Server;
  readonly prompt: Prompt;
}

/** What a message is in the events. */
interface ShownMessage {
  readonly message: PromptMessage;
  readonly output: Output;
}

/** Most messages that an event shows. */
const MAX_SHOWN = 50;

/**
 * Fills a prompt in. A person who has typed it has decided; for anybody else the gate is asked, and asked again with the
 * messages to look at before they are `used`: written to the log as what the user says.
 */
export async function fillPrompt(
  reading: Reading,
  target: PromptTarget,
  given: Readonly<Record<string, unknown>>,
  { isUsed, by, typed }: { readonly isUsed: boolean; readonly by: Caller; readonly typed: string | undefined },
  context: ReadingContext,
): Promise<PromptOutcome> {
  const { server, prompt } = target;
  let requestId: string | undefined;
  const end = async (failure: ReadingFailure, before: readonly EventInput[] = []): Promise<PromptOutcome> => {
    const unlogged = await reading.append([...before, ...reading.closing(), promptFailed(target, requestId, failure)]);
    return withoutMessages(target, requestId, unlogged ?? failure, reading.durationMs, context);
  };
  const say = typed === undefined ? [] : [known({ type: "user.message", payload: { role: "user", content: typed } })];
  let before: readonly EventInput[] = say;
  try {
    const args = promptArguments(prompt, given);
    const isTyped = by === "user" && isUsed;
    if (!isTyped) {
      const passage = await pass(reading, target, args, by);
      requestId = passage.requestId;
      before = [...say, ...passage.events];
      if (passage.kind === "denied") return await end(passage.failure, before);
    }
    const invoked = promptInvoked(target, requestId, args, by, context);
    const unlogged = await reading.append([...before, invoked]);
    before = [];
    if (unlogged !== undefined) return withoutMessages(target, requestId, unlogged, reading.durationMs, context);
    const { signal } = reading;
    const offered = await fillOffered(
      server,
      prompt,
      args,
      reading.asking({ server: server.name, prompt: prompt.name }),
    );
    if (offered.kind === "failed") return await end(reading.failureOf(offered));
    const shown = await Promise.all(offered.value.messages.map(async (message): Promise<ShownMessage> => ({
      message,
      output: await readOutput({ content: [message.content] }, context.output, signal),
    })));
    const { durationMs } = reading;
    const expanded = [
      ...reading.closing(),
      ...keptOf(target, shown),
      promptExpanded(target, requestId, shown, durationMs),
    ];
    const messages = shown.map(({ message: { role }, output }): PromptOutcomeMessage => ({
      role,
      content: output.content[0]!,
      source: sourceOf(target),
    }));
    let unwritten = await reading.append(isTyped ? [...expanded, ...userMessages(target, shown)] : expanded);
    if (unwritten === undefined && isUsed && !isTyped) {
      const use = await pass(reading, target, { ...args, messages }, by, "use");
      if (use.kind === "denied") return await end(use.failure, use.events);
      unwritten = await reading.append([...use.events, ...userMessages(target, shown)]);
    }
    if (unwritten !== undefined) return withoutMessages(target, requestId, unwritten, durationMs, context);
    const { description } = offered.value;
    return {
      status: "completed",
      server: server.name,
      prompt: prompt.name,
      ...(description === undefined ? {} : { description: context.scrubber.text(description) }),
      messages,
      findings: shown.flatMap(({ output }) => output.findings),
      ...(requestId === undefined ? {} : { requestId }),
      durationMs,
    };
  } catch (error) {
    return await end(reading.refusalOf(error), before);
  }
}

/** Without a fingerprint nothing is granted: what a person allows to be used is these messages and no others. */
async function pass(
  reading: Reading,
  { server, prompt }: PromptTarget,
  args: Readonly<Record<string, unknown>>,
  by: Caller,
  use?: "use",
): Promise<Passage> {
  const subject: ReadingSubject = { server: server.name, prompt: prompt.name, source: server.source, args };
  if (use !== undefined) return await reading.pass(subject, by);
  const definition = await sha256Text(canonicalJson(prompt));
  return await reading.pass({ ...subject, fingerprint: `${server.fingerprint} prompt ${definition}` }, by);
}

function sourceOf({ server, prompt }: PromptTarget): PromptOutcomeMessage["source"] {
  return { mcp: { server: server.name, prompt: prompt.name } };
}

function withoutMessages(
  { server, prompt }: PromptTarget,
  requestId: string | undefined,
  { status, code, message, reason }: ReadingFailure,
  durationMs: number,
  { scrubber }: ReadingContext,
): PromptOutcome {
  return {
    status,
    server: server.name,
    prompt: scrubber.text(prompt.name),
    messages: [],
    findings: [],
    ...(requestId === undefined ? {} : { requestId }),
    durationMs,
    error: { code: String(code), message, reason },
  };
}

function promptInvoked(
  { server, prompt }: PromptTarget,
  requestId: string | undefined,
  args: Readonly<Record<string, string>>,
  actor: Caller,
  { scrubber }: ReadingContext,
): EventInput {
  // Scrubbed before it is cut.
  const shown = previewArgs(scrubber.value(args));
  return known({
    type: "mcp.prompt.invoked",
    payload: { server: server.name, prompt: prompt.name, arguments: shown, actor, requestId },
  });
}

function promptExpanded(
  { server, prompt }: PromptTarget,
  requestId: string | undefined,
  shown: readonly ShownMessage[],
  durationMs: number,
): EventInput {
  return known({
    type: "mcp.prompt.expanded",
    payload: {
      server: server.name,
      prompt: prompt.name,
      requestId,
      messages: shown.slice(0, MAX_SHOWN).map(({ message: { role }, output }) => ({ role, content: output.preview })),
      messageCount: shown.length,
      findings: shown.reduce((count, { output }) => count + output.findings.length, 0),
      durationMs,
    },
  });
}

function promptFailed(
  { server, prompt }: PromptTarget,
  requestId: string | undefined,
  { reason, code, message }: ReadingFailure,
): EventInput {
  return known({
    type: "mcp.prompt.failed",
    payload: { server: server.name, prompt: prompt.name, requestId, reason, error: { code, message } },
  });
}

function userMessages(target: PromptTarget, shown: readonly ShownMessage[]): EventInput[] {
  return shown.map(({ message: { role }, output: { preview, artifact } }) =>
    known({ type: "user.message", payload: { role, content: preview, source: sourceOf(target), artifact } })
  );
}

function keptOf({ prompt }: PromptTarget, shown: readonly ShownMessage[]): EventInput[] {
  return shown.flatMap(({ output: { artifact } }) =>
    artifact === undefined ? [] : [artifactStored({ tool: prompt.name, toolCallId: prompt.name }, artifact)]
  );
}

function known(event: KnownEventInput): EventInput {
  return event;
}
