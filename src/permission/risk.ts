import type { GateRequest, Risk } from "./request.ts";

/** What a call is judged to risk. */
export interface Assessment {
  /**
   * Every risk the call has. The first is what its tool has by configuration, or `network`; hints, the tool's name and
   * the arguments add to it and take nothing away.
   */
  readonly risks: readonly Risk[];
  /** A person wants the call, or the user's configuration or code says that its tool only reads. */
  readonly vouched: boolean;
}

const TELLING: ReadonlySet<string> = new Set([
  "delete",
  "drop",
  "remove",
  "destroy",
  "purge",
  "wipe",
  "truncate",
  "revoke",
]);

/** Where a word of a name ends: between letters and digits, in camel case, at whatever is neither. */
const WORD_EDGE =
  /(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[0-9])(?=[A-Za-z])|(?<=[A-Za-z])(?=[0-9])|[^A-Za-z0-9]+/;

/**
 * Judges a call. Nothing that a server says of its tool lowers the risk, unless the user's configuration trusts its
 * hints: then `readOnlyHint: true` makes an otherwise unjudged tool a reading one, and it or `destructiveHint: false`
 * speaks for a telling name. An explicit `destructiveHint: true` always counts. Resources and prompts are read, whatever
 * they are called.
 */
export function assessRisk(
  request: Pick<
    GateRequest,
    "by" | "toolName" | "args" | "annotations" | "configuredRisk" | "trustAnnotations" | "uri" | "prompt"
  >,
  holdsSecret: (args: GateRequest["args"]) => boolean,
): Assessment {
  if ((request.uri ?? request.prompt) !== undefined) {
    return { risks: holdsSecret(request.args) ? ["read", "credential"] : ["read"], vouched: request.by === "user" };
  }
  const { annotations, configuredRisk } = request;
  const trusted = request.trustAnnotations === true;
  const saysReadOnly = trusted && annotations?.readOnlyHint === true;
  const saysHarmless = saysReadOnly || (trusted && annotations?.destructiveHint === false);
  const base = configuredRisk ?? (saysReadOnly ? "read" : "network");
  const risks: Risk[] = [base];
  if (annotations?.destructiveHint === true || (!saysHarmless && hasTellingName(request.toolName))) {
    add(risks, "destructive");
  }
  if (holdsSecret(request.args)) add(risks, "credential");
  return { risks, vouched: request.by === "user" || (base === "read" && (configuredRisk === "read" || saysReadOnly)) };
}

function add(risks: Risk[], risk: Risk): void {
  if (!risks.includes(risk)) risks.push(risk);
}

/** To take a name apart costs more than all the rest of a judgement: what the last ones said is kept. */
const judged = new Map<string, boolean>();
const MAX_JUDGED = 1000;
/** Longer names are rare, and may be many. */
const MAX_KEPT_NAME = 128;

/** True where a word of the name says that something will be gone: `delete_database`, `dropTable`, `HTTPDelete`. */
export function hasTellingName(name: string): boolean {
  const known = judged.get(name);
  if (known !== undefined) return known;
  const isTelling = hasTellingWord(name);
  if (name.length > MAX_KEPT_NAME) return isTelling;
  if (judged.size >= MAX_JUDGED) judged.clear();
  judged.set(name, isTelling);
  return isTelling;
}

function hasTellingWord(name: string): boolean {
  return name.normalize("NFKC").split(WORD_EDGE).some((word) => TELLING.has(word.toLowerCase()));
}
