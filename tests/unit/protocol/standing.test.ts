import { describe, expect, test } from "vitest";
import { mayPush } from "../../../src/protocol/handshake.ts";
import { LEGACY_VERSIONS } from "../../../src/protocol/versions.ts";
import type { Dialer } from "../../../src/transport/transport.ts";
import { answer, attempted, failure, ScriptedServer } from "./scripted_server.ts";

describe("stream for what belongs to no request", () => {
  test.each([
    [{}, {}, false],
    [{ tools: {} }, {}, false],
    [{ tools: { listChanged: false } }, {}, false],
    [{ tools: { listChanged: true } }, {}, true],
    [{ prompts: { listChanged: true } }, {}, true],
    [{ resources: { subscribe: true } }, {}, true],
    [{ resources: { listChanged: true } }, {}, true],
    [{ logging: {} }, {}, true],
    [{ tools: null, completions: {} }, {}, false],
    [{}, { elicitation: {} }, true],
    [{}, { sampling: {} }, true],
    [{}, { roots: {} }, true],
    [{}, { extensions: {} }, false],
  ])("of a server with %j, which we told %j, is opened: %s", (capabilities, ours, isOpened) => {
    expect(mayPush(capabilities as Parameters<typeof mayPush>[0], ours)).toBe(isOpened);
  });

  test.each([[{ logging: {} }, true], [{ tools: {} }, false]])("is opened once the conversation stands (%j)", async (
    capabilities,
    isOpened,
  ) => {
    const server = new ScriptedServer({
      "server/discover": failure(-32601),
      "initialize": answer({ protocolVersion: LEGACY_VERSIONS[0], capabilities }),
    }, "web");
    const listened: string[][] = [];
    const dialer: Dialer = {
      ...server.dialer,
      async dial(profile, handlers, signal) {
        const transport = await server.dialer.dial(profile, handlers, signal);
        return Object.assign(transport, { listen: () => listened.push([...server.heard]) });
      },
    };
    const { outcome } = await attempted(dialer);
    expect(outcome?.era.name).toBe("legacy");
    expect(listened).toEqual(isOpened ? [["server/discover", "initialize", "notifications/initialized"]] : []);
    await outcome!.peer.close();
  });
});
