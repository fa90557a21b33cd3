// What servers have besides tools: a text to read, a prompt to fill in.
import { createHost, expandTemplate } from "../mod.ts";
import { nodeRuntime } from "../runtimes/node/mod.ts";

const host = await createHost({
  runtime: nodeRuntime(),
  servers: [{ name: "everything", command: "node_modules/.bin/mcp-server-everything", args: ["stdio"] }],
  permission: { rules: [{ server: "everything", uri: "demo://resource/static/*", decision: "allow" }] },
});
await host.ready();
const session = await host.session();

const [first] = await session.resources.list();
console.log(first?.uri);
const read = await session.resources.read("demo://resource/static/document/features.md");
console.log(read.status, read.contentHash === undefined ? "no hash" : "hashed");

// A person has pointed at it: that is allowed unless a rule says otherwise.
const [template] = await session.resources.templates();
const uri = expandTemplate(template?.uriTemplate ?? "", { resourceId: 1 });
const { status, context } = await session.resources.include(uri);
console.log(status, context.split("\n")[0]);

// For anybody but a person, and without a rule, somebody is asked; here there is nobody.
console.log((await session.resources.read(uri, { by: "model" })).error?.reason);

const prompt = await session.prompts.invoke("mcp.everything.args-prompt", { city: "Bern" });
for (const { role, source } of prompt.messages) console.log(role, source.mcp.server, source.mcp.prompt);
await host.close();
