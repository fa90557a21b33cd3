import {
  answerAsk,
  type AskHandlers,
  faultOfAsk,
  type InputAsk,
  readInputs,
  refusedInput,
  relatedTo,
} from "../client/asks.ts";
import type { RoundAnswers } from "../client/rounds.ts";
import { lookOf } from "../client/url_ask.ts";
import type { EventInput } from "../events/event.ts";
import { untilAborted, whenAborted } from "../kernel/abort.ts";
import { HostError, isRemoteError } from "../kernel/errors.ts";
import type { Ids } from "../kernel/ids.ts";
import type { JsonObject } from "../protocol/model.ts";
import type { CallContext } from "./call.ts";
import { securityFinding } from "./call_events.ts";
import type { CallAsks } from "./host_asks.ts";
import { actionOf, type AskSubject, type Ended, factsOf, idOf, type Input, kindOf, refusalOf } from "./input.ts";
import { type InputFacts, inputRequested, inputResolved } from "./input_events.ts";
import { checkSample, MAX_TOOL_TURNS, toolTurnsOf } from "./samples.ts";
import { secretFields } from "./secret_form.ts";

/** What the calls of a session that reach a server work with. */
export interface ServerCallContext extends CallContext {
  readonly session: string;
  readonly ids: Ids;
}

/** For whose sake a server asks: a call, or the read of something. */
export interface AskOwner {
  /** As handlers and events name it, scrubbed. */
  readonly subject: AskSubject;
  /** As findings name it. */
  readonly name: string;
  /** Fires when nobody waits for its end any more. */
  readonly signal: AbortSignal;
  /** Writes events. Rejects with `ERR_NOT_LOGGED`: what is not in the log must not be acted on. */
  append(events: readonly EventInput[]): void | Promise<void>;
}

/** How long a person may take (the lifetime of an approval that is asked for directly). */
const LIFETIME_MS = 5 * 60_000;

/** Asks that one call or read may bring with it, in whatever way they are asked. */
const MAX_ASKS = 64;

/** What was answered of one round. */
export type AnsweredRound =
  | { readonly kind: "answered"; readonly responses: JsonObject; readonly events: readonly EventInput[] }
  | { readonly kind: "refused"; readonly error: unknown; readonly events: readonly EventInput[] };

/**
 * Puts what a server asks for the sake of one call or read to the host's handlers, and writes both ends of each ask to
 * the log: `mcp.input.requested` before anybody is asked, `mcp.input.resolved` before anything is sent. A server that asks
 * too often gets no more answers, and what it asks for fails.
 */
export class Inputs {
  readonly #owner: AskOwner;
  readonly #server: string;
  readonly #context: ServerCallContext;
  readonly #asks: CallAsks;
  readonly #open = new Set<Input>();
  readonly #controller = new AbortController();
  readonly #leave: () => void;
  #taken = 0;

  /** Has to be left. */
  constructor(owner: AskOwner, server: string, context: ServerCallContext, asks: CallAsks) {
    this.#owner = owner;
    this.#server = server;
    this.#context = context;
    this.#asks = asks;
    this.#leave = whenAborted(owner.signal, () => this.#controller.abort(owner.signal.reason));
    if (owner.signal.aborted) this.#controller.abort(owner.signal.reason);
  }

  /** Fires with that of the owner, and when its server has asked too often. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Nothing is asked for the sake of it any more. */
  leave(): void {
    this.#leave();
  }

  /** Whether addresses can be shown to anybody. */
  get takesUrls(): boolean {
    return this.#asks.handlers.url !== undefined;
  }

  /** How the rounds of a request get their answers. */
  get forRounds(): RoundAnswers {
    return {
      inputs: (inputRequests) => this.answerNow(inputRequests),
      alone: this.answer,
      takesUrls: this.takesUrls,
    };
  }

  /** Answers what a server asks on its own while the request is in flight. */
  readonly answer = async (method: string, params: unknown, signal: AbortSignal): Promise<JsonObject> => {
    this.#count(1);
    // It is not put to anybody; what there is to answer is the same as without a host.
    if (faultOfAsk(this.#asks.handlers, method, params) !== undefined) {
      return await answerAsk(this.#asks.handlers as AskHandlers, method, params, { signal });
    }
    const { input, events } = this.#take({ method, params });
    await this.#owner.append(events);
    const ended = await this.#end(input, signal);
    const closing = this.#close(input, ended);
    if (closing.length > 0) await this.#owner.append(closing);
    if ("error" in ended) throw ended.error;
    return relatedTo(input.params, ended.result);
  };

  /** Takes on what a result asks for; `events` come before anything is answered. Throws for what cannot be answered. */
  begin(inputRequests: JsonObject): { readonly events: readonly EventInput[]; answers(): Promise<AnsweredRound> } {
    const asks = readInputs(this.#asks.handlers, inputRequests);
    this.#count(asks.length);
    const taken = asks.map((ask) => ({ key: ask.key, ...this.#take(ask) }));
    return {
      events: taken.flatMap(({ events }) => events),
      answers: () => this.#answerAll(taken),
    };
  }

  /** Answers what a result or a task asks for. Throws what cannot be answered, and a refusal that has no form of its own. */
  async answerNow(inputRequests: JsonObject): Promise<JsonObject> {
    const begun = this.begin(inputRequests);
    await this.#owner.append(begun.events);
    const answered = await begun.answers();
    if (answered.events.length > 0) await this.#owner.append(answered.events);
    if (answered.kind === "refused") throw answered.error;
    return answered.responses;
  }

  /** Ends what is still open, with that for whose sake it was asked. */
  closing(): EventInput[] {
    const withdrawn = { action: "withdrawn", error: undefined } as const;
    return this.#open.size === 0 ? [] : [...this.#open].flatMap((input) => this.#close(input, withdrawn));
  }

  async #answerAll(taken: readonly { readonly key: string; readonly input: Input }[]): Promise<AnsweredRound> {
    const all = await Promise.all(taken.map(async ({ key, input }) => ({
      key,
      input,
      ended: await this.#end(input, this.#owner.signal),
    })));
    const events = all.flatMap(({ input, ended }) => this.#close(input, ended));
    const failed = all.find(({ ended }) => "error" in ended);
    if (failed !== undefined) {
      const { error, action } = failed.ended as Extract<Ended, { error: unknown }>;
      if (action === "failed") this.#context.onError(error);
      return { kind: "refused", error: refusedInput(failed.input.method, error), events };
    }
    const responses = Object.fromEntries(
      all.map(({ key, ended }) => [key, (ended as Extract<Ended, { result: JsonObject }>).result]),
    );
    return { kind: "answered", responses, events };
  }

  /** Throws, and ends the request that is in flight, where there are too many. */
  #count(asks: number): void {
    this.#taken += asks;
    if (this.#taken <= MAX_ASKS) return;
    const error = tooManyAsks(this.#owner.name);
    this.#controller.abort(error);
    throw error;
  }

  #take({ method, params }: Omit<InputAsk, "key">): { readonly input: Input; readonly events: EventInput[] } {
    const { scrubber, ids } = this.#context;
    const given = (params ?? {}) as JsonObject;
    const kind = kindOf(method, given);
    const facts: InputFacts = { requestId: ids.next("req"), ...idOf(this.#owner.subject), server: this.#server, kind };
    const look = kind === "url" ? lookOf(given["url"] as string) : undefined;
    const events = [inputRequested(facts, given, look?.host, scrubber)];
    const doubts = look?.doubts ?? [];
    if (doubts.length > 0) events.push(this.#finding("deceptive_url", doubts.join(" "), doubts.length));
    const secrets = kind === "form" ? secretFields(given["requestedSchema"] as JsonObject) : [];
    if (secrets.length > 0) {
      events.push(this.#finding("secret_form", scrubber.text(secrets.join(" ")).slice(0, 500), secrets.length));
    }
    const isEndless = kind === "sampling" && toolTurnsOf(given) > MAX_TOOL_TURNS;
    const refused = secrets.length > 0 ? "secret_form" : isEndless ? "too_many_tool_turns" : undefined;
    const input: Input = { ...facts, method, params: given, refused };
    this.#open.add(input);
    return { input, events };
  }

  /** Never rejects. */
  async #end(input: Input, signal: AbortSignal): Promise<Ended> {
    if (input.refused !== undefined) {
      return { action: "decline", reason: input.refused, ...refusalOf(input, "decline") };
    }
    const { clock } = this.#context;
    const controller = new AbortController();
    const leave = whenAborted(signal, () => controller.abort(signal.reason));
    if (signal.aborted) controller.abort(signal.reason);
    const timer = clock.after(LIFETIME_MS, () => controller.abort(tookTooLong(input.method)));
    try {
      const handlers = this.#handlersFor(input, controller.signal);
      const answering = answerAsk(handlers, input.method, input.params, { signal: controller.signal });
      return this.#checked(input, await untilAborted(answering, `Answer to ${input.method}`, controller.signal));
    } catch (error) {
      if (signal.aborted) return { action: "withdrawn", error };
      if (controller.signal.aborted) return { action: "expired", ...refusalOf(input) };
      return isRemoteError(error) ? { action: "decline", error } : { action: "failed", error };
    } finally {
      leave();
      timer.cancel();
    }
  }

  /** An answer is held to the same rule as the arguments of a call: no secret of the host leaves with it. */
  #checked(input: Input, result: JsonObject): Ended {
    if (input.kind === "sampling") checkSample(result);
    if (input.kind === "roots" || !this.#asks.holdsSecret(result)) return { action: actionOf(input, result), result };
    const findings = [this.#finding("secret_in_answer", input.kind, 1)];
    return { action: "decline", reason: "secret_in_answer", findings, ...refusalOf(input) };
  }

  /** Exactly one closing event, whoever comes first. */
  #close(input: Input, { action, reason, findings = [] }: Ended): EventInput[] {
    return this.#open.delete(input) ? [...findings, inputResolved(factsOf(input), action, reason)] : [];
  }

  #handlersFor({ requestId }: Input, signal: AbortSignal): AskHandlers {
    const { form, url, sample, sampleTools, roots } = this.#asks.handlers;
    const { scrubber, session } = this.#context;
    const context = { signal, requestId, server: this.#server, session, ...this.#owner.subject };
    return {
      ...(form === undefined ? {} : {
        form: ({ message, schema }) =>
          form({ message: scrubber.text(message), schema: scrubber.value(schema) }, context),
      }),
      ...(url === undefined ? {} : {
        url: (ask) => url({ ...ask, message: scrubber.text(ask.message) }, context),
      }),
      ...(sample === undefined ? {} : { sample: (params) => sample(scrubber.value(params), context) }),
      ...(sampleTools === undefined ? {} : { sampleTools }),
      ...(roots === undefined ? {} : { roots: () => roots(context) }),
    };
  }

  #finding(rule: string, preview: string, count: number): EventInput {
    return securityFinding({ tool: this.#owner.name }, { rule, where: "ask", severity: "high", count, preview });
  }
}

function tooManyAsks(name: string): HostError {
  return new HostError("ERR_PROTOCOL", `Cannot go on with ${name}: its server asks for more than ${MAX_ASKS} things`, {
    facts: { asks: MAX_ASKS },
  });
}

function tookTooLong(method: string): HostError {
  return new HostError("ERR_TIMEOUT", `Answer to ${method} took longer than ${LIFETIME_MS} ms`);
}
