import {
  answering,
  type Client,
  connectClient,
  type ConnectOptions,
  getPrompt,
  httpDialer,
  type JsonObject,
  listPrompts,
  listResources,
  readResource,
  type Reply,
  requestInRounds,
  systemClock,
} from "../../src/client/mod.ts";
import { loggingIn } from "./auth_scenarios.ts";

/** What the suite tells a driver. */
export interface Setting {
  readonly scenario: string;
  readonly url: string;
  /** What the scenario hands over beside its name. */
  readonly context: JsonObject;
}

type Scenario = (setting: Setting) => Promise<void>;

/** Connects as anybody would: without a word about the revision, which is found out. */
function connect({ url }: Setting, options: Omit<ConnectOptions, "dialer"> = {}): Promise<Client> {
  return connectClient({ ...options, dialer: httpDialer({ url, fetch, clock: systemClock }) });
}

/** The result of a reply; throws what it failed with. */
export function resultOf(reply: Reply): JsonObject {
  if (reply.kind === "failed") throw reply.error;
  if (reply.kind !== "done") {
    throw new Error(`found a reply of the kind ${reply.kind}, wanted a result`);
  }
  return reply.result;
}

/** Lists the tools and makes the calls, one after the other. */
function calling(...calls: readonly (readonly [tool: string, args: JsonObject])[]): Scenario {
  return async (setting) => {
    await using client = await connect(setting);
    await client.listTools();
    for (const [tool, args] of calls) {
      resultOf(await client.callTool(tool, args));
    }
  };
}

async function standardHeaders(setting: Setting): Promise<void> {
  await using client = await connect(setting);
  for (const { name } of (await client.listTools()).tools) resultOf(await client.callTool(name, {}));
  for (const { uri } of (await listResources(client)).items) await readResource(client, uri);
  for (const prompt of (await listPrompts(client)).items) await getPrompt(client, prompt);
}

async function customHeaders(setting: Setting): Promise<void> {
  await using client = await connect(setting);
  await client.listTools();
  const calls = setting.context["toolCalls"] as readonly {
    readonly name: string;
    readonly arguments: JsonObject;
  }[];
  for (const { name, arguments: args } of calls) {
    resultOf(await client.callTool(name, args));
  }
}

/** Only a tool that was kept can be called: the suite counts which were. */
async function everyToolThatIsLeft(setting: Setting): Promise<void> {
  await using client = await connect(setting);
  for (const { name } of (await client.listTools()).tools) {
    resultOf(await client.callTool(name, { region: "us-west1" }));
  }
}

async function schemaGivenBack(setting: Setting): Promise<void> {
  await using client = await connect(setting);
  const tool = (await client.listTools()).tools.find(({ name }) => name === "json_schema_2020_12_tool");
  if (tool === undefined) {
    throw new Error("json_schema_2020_12_tool is not listed");
  }
  resultOf(await client.callTool("json_schema_echo", { schema: tool.inputSchema }));
}

/** Can be asked everything; a form is accepted with nothing but its defaults. */
const ASKS = answering({
  form: () => ({ action: "accept" }),
  sample: () => ({ role: "assistant", content: { type: "text", text: "yes" }, model: "none" }),
  roots: () => [],
});

async function metadata(setting: Setting): Promise<void> {
  await using client = await connect(setting, { asks: ASKS });
  await client.listTools();
}

async function elicitation(setting: Setting): Promise<void> {
  await using client = await connect(setting, { asks: ASKS });
  await client.listTools();
  resultOf(await client.callTool("test_client_elicitation_defaults", {}));
}

/** Each call takes as many rounds as its server wants. */
async function rounds(setting: Setting): Promise<void> {
  const asks = answering({ form: () => ({ action: "accept", content: { confirmed: true } }) });
  await using client = await connect(setting, { asks });
  await client.listTools();
  for (const name of ["echo_state", "no_state", "unrelated", "no_result_type"]) {
    const params = { name: `test_mrtr_${name}`, arguments: {} };
    resultOf(await requestInRounds(client, "tools/call", params, { asks }));
  }
}

const justList: Scenario = calling();

/** By the names of the suite. */
export const SCENARIOS: Readonly<Record<string, Scenario>> = {
  "initialize": justList,
  "tools_call": calling(["add_numbers", { a: 5, b: 3 }]),
  "elicitation-sep1034-client-defaults": elicitation,
  "sse-retry": calling(["test_reconnection", {}]),
  "request-metadata": metadata,
  "sep-2322-client-request-state": rounds,
  "http-standard-headers": standardHeaders,
  "http-custom-headers": customHeaders,
  "http-invalid-tool-headers": everyToolThatIsLeft,
  "json-schema-ref-no-deref": justList,
  "json-schema-2020-12-preservation": schemaGivenBack,
};

/** The handler of a scenario; `undefined` for one that is not known. */
export function scenarioOf(name: string): Scenario | undefined {
  if (Object.hasOwn(SCENARIOS, name)) return SCENARIOS[name];
  return name.startsWith("auth/") ? loggingIn : undefined;
}
