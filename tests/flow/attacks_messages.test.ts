import { describe, expect, test } from "vitest";
import type { ApprovalRequest } from "../../src/permission/request.ts";
import { FakeClock } from "../fixtures/fake_clock.ts";
import { peakGrowth } from "../fixtures/held_memory.ts";
import { type Heard, type HostilePipes, type HostileProgram, MODERN, text } from "../fixtures/hostile_program.ts";
import { until } from "../fixtures/settle.ts";
import { attackedBy, run, type Scene, surviveAll, warnings } from "./attacks.ts";

surviveAll();

/** A program that is well but for what it does on calls. */
const onCall = (answer: (heard: Heard, pipes: HostilePipes) => unknown, more: HostileProgram = {}): HostileProgram => ({
  ...more,
  hear: (heard, pipes) => heard.method === "tools/call" ? answer(heard, pipes) : undefined,
});

/** The text of an answer to a call, whose result may be any text. */
const answered = (id: unknown, result: string): string => `{"jsonrpc":"2.0","id":${String(id)},"result":${result}}`;

async function closings(scene: Scene): Promise<string[]> {
  const started = (await scene.events("tool.started")).map(({ payload }) => payload.toolCallId);
  const ends = [
    ...await scene.events("tool.completed"),
    ...await scene.events("tool.failed"),
    ...await scene.events("tool.cancelled"),
  ].map(({ payload }) => payload.toolCallId);
  expect(ends.sort()).toEqual(started.sort());
  return ends;
}

describe("A-29 depth", () => {
  const deep = `${"[".repeat(200)}${"]".repeat(200)}`;
  const said: [claim: string, line: string][] = [
    ["notification", `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":${deep}}}`],
    ["question", `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":${deep}}}`],
  ];

  test.each(said)(
    "A-29 a %s that is nested too deeply is no answer to the one call in flight",
    async (_claim, line) => {
      const scene = await attackedBy(onCall(({ id }, pipes) => {
        void pipes.say(line);
        void pipes.say({ id, result: text("paid") });
        return null;
      }));
      expect(await run(scene)).toMatchObject({ status: "completed", output: "paid" });
      await closings(scene);
    },
  );

  test("A-29 an answer that is nested too deeply ends its own call at once, however many are in flight", async () => {
    const waiting: unknown[] = [];
    const scene = await attackedBy(onCall(({ id, params }, pipes) => {
      if ((params["arguments"] as { n: number }).n === 1) waiting.push(id);
      else {
        void pipes.say(`{"jsonrpc":"2.0","id":${String(id)},"result":{"content":[],"structuredContent":${deep}}}`);
        for (const each of waiting) void pipes.say({ id: each, result: text("paid") });
      }
      return null;
    }));
    const [paid, refused] = await Promise.all([run(scene, { n: 1 }), run(scene, { n: 2 })]);
    expect(refused).toMatchObject({ status: "failed", error: { reason: "too_large" } });
    expect(paid).toMatchObject({ status: "completed", output: "paid" });
    await closings(scene);
  });
});

describe("A-17 wrong ids", () => {
  test("A-17 are counted and settle nothing; of the right ones the first counts", async () => {
    const scene = await attackedBy(onCall(({ id }, pipes) => {
      for (const wrong of ["987654", "null", "1.5", `"${String(id)}x"`, "{}", "true"]) {
        void pipes.say(answered(wrong, JSON.stringify(text("forged"))));
      }
      void pipes.say(answered(id, JSON.stringify(text("right"))));
      void pipes.say(answered(id, JSON.stringify(text("too late"))));
      return null;
    }));
    expect((await run(scene)).output).toBe("right");
    expect((await run(scene)).output).toBe("right");
    expect(Object.keys(await warnings(scene)).sort()).toEqual(["duplicate_id", "malformed", "unknown_id"]);
    expect(await closings(scene)).toHaveLength(2);
    expect(await scene.events("mcp.server.crashed")).toEqual([]);
    expect(await scene.log()).not.toContain("forged");
  });

  test("A-17 the text of an id settles its request where nothing else could be meant, with a warning", async () => {
    const scene = await attackedBy(onCall(({ id }, pipes) => {
      void pipes.say(answered(`"${String(id)}"`, JSON.stringify(text("twin"))));
      return null;
    }));
    expect((await run(scene)).output).toBe("twin");
    expect(await warnings(scene)).toEqual({ twin_id: 1 });
  });
});

describe("A-19 server that asks unasked", () => {
  test("A-19 what was not declared gets -32601, has no effect and leaves the call alone", async () => {
    const methods = ["sampling/createMessage", "elicitation/create", "roots/list", "x/unknown"];
    const scene = await attackedBy(onCall(({ id, params }, pipes) => {
      if ("report" in (params["arguments"] as object)) return text(JSON.stringify(pipes.answers));
      // Under the id of our own request too: the directions count for themselves.
      methods.forEach((method, at) => void pipes.say({ id: at === 0 ? id : `ask-${at}`, method, params: {} }));
      return undefined;
    }));
    expect((await run(scene)).status).toBe("completed");
    const replies = JSON.parse((await run(scene, { report: true })).output) as { error: { code: number } }[];
    expect(replies.map(({ error }) => error.code)).toEqual(methods.map(() => -32601));
    expect(await scene.events("mcp.input.requested")).toEqual([]);
    expect(await scene.events("permission.requested")).toHaveLength(2);
  });

  test("A-19 a hundred thousand of them disconnect their server, in bounded memory and few events", async () => {
    let replies: readonly unknown[] = [];
    const scene = await attackedBy(
      onCall((_heard, pipes) => {
        replies = pipes.answers;
        for (let at = 0; at < 100_000; at++) void pipes.say({ id: at, method: "sampling/createMessage", params: {} });
        return null;
      }),
      {},
      { restart: { auto: false } },
    );
    const growth = await peakGrowth(async () => {
      expect(await run(scene)).toMatchObject({ status: "unknown" });
    });
    expect(growth).toBeLessThan(24 << 20);
    expect(await scene.events("mcp.server.crashed")).toMatchObject([{ payload: { reason: "flood" } }]);
    expect(replies.length).toBeLessThanOrEqual(1000);
    expect(await scene.events("mcp.input.requested")).toEqual([]);
    expect((await scene.log()).length).toBeLessThan(50_000);
  });
});

describe("A-20 batch", () => {
  const ping = `{"jsonrpc":"2.0","method":"notifications/none"}`;
  test.each([
    ["2025-06-18", 2],
    ["2025-06-18", 20_000],
    ["2024-11-05", 2],
    ["2025-03-26", 101],
    ["2025-03-26", 100_000],
    [MODERN, 100_000],
  ])("A-20 in %s, of %i members, is one error and nothing else", async (version, members) => {
    let isBatched = false;
    const scene = await attackedBy(onCall(({ id }, pipes) => {
      if (isBatched) return undefined;
      isBatched = true;
      const rest = Array.from({ length: members - 1 }, () => ping);
      void pipes.say(`[${answered(id, JSON.stringify(text("hidden")))},${rest.join(",")}]`);
      return null;
    }, { version }));
    expect(await run(scene)).toMatchObject({ status: "failed" });
    expect(await warnings(scene)).toEqual({ unexpected_batch: 1 });
    expect((await run(scene, { n: 1 })).output).toBe('{"n":1}');
    expect(await scene.events("mcp.server.crashed")).toEqual([]);
    expect(await scene.log()).not.toContain("hidden");
  });
});

describe("A-26 progress", () => {
  const progress = (
    heard: Heard,
    value: unknown,
    token = (heard.params["_meta"] as { progressToken: unknown }).progressToken,
  ) => ({
    method: "notifications/progress",
    params: { progressToken: token, progress: value },
  });

  test("A-26 every 10 ms for ever ends at the hard maximum, and reaches caller and log at a bounded rate", async () => {
    const clock = new FakeClock();
    const maxTotalMs = 20_000;
    let told = 0;
    const scene = await attackedBy(
      onCall((heard, pipes) => {
        let value = 0;
        const next = (): void => {
          void pipes.say(progress(heard, ++value));
          if (value < maxTotalMs / 10 + 100) clock.after(10, next);
        };
        next();
        return null;
      }),
      { clock },
      { timeoutMs: 1000, maxTotalMs },
    );
    await clock.advance(0);
    let isOver = false;
    const call = run(scene, {}, { onProgress: () => told++ }).finally(() => isOver = true);
    await clock.advance(maxTotalMs - 100);
    expect(isOver).toBe(false);
    await clock.advance(200);
    expect(await call).toMatchObject({ status: "unknown", error: { reason: "timeout" } });
    expect(told).toBeLessThanOrEqual(200 * 21);
    expect((await scene.events("mcp.call.progress")).length).toBeLessThanOrEqual(4 * 21);
    // It goes on reporting: a call that is over hears nothing more.
    const before = told;
    await clock.advance(500);
    expect(told).toBe(before);
  });

  test.each<[string, (heard: Heard, at: number) => object]>([
    ["goes down", (heard, at) => progress(heard, 1000 - at)],
    ["stands still", (heard) => progress(heard, 5)],
    ["is of a token never given", (heard, at) => progress(heard, at, "never-given")],
    ["is no number", (heard) => progress(heard, "much")],
  ])("A-26 that %s keeps no call alive", async (_claim, make) => {
    const clock = new FakeClock();
    const scene = await attackedBy(
      onCall((heard, pipes) => {
        let at = 0;
        const next = (): void => {
          void pipes.say(make(heard, ++at));
          if (at < 100) clock.after(100, next);
        };
        next();
        return null;
      }),
      { clock },
      { timeoutMs: 1000 },
    );
    await clock.advance(0);
    const call = run(scene);
    await clock.advance(1200);
    expect(await call).toMatchObject({ error: { reason: "timeout" } });
    await clock.advance(20_000);
  });

  test("A-26 a hundred thousand reports at once are a few for the caller, and the answer comes all the same", async () => {
    let told = 0;
    const scene = await attackedBy(onCall((heard, pipes) => {
      for (let at = 1; at <= 100_000; at++) void pipes.say(progress(heard, at));
      return undefined;
    }));
    const started = performance.now();
    expect((await run(scene, { n: 1 }, { onProgress: () => told++ })).output).toBe('{"n":1}');
    const seconds = Math.ceil((performance.now() - started) / 1000) + 1;
    expect(told).toBeLessThanOrEqual(200 * seconds);
    expect((await scene.events("mcp.call.progress")).length).toBeLessThanOrEqual(4 * seconds);
  });
});

describe("A-29 deep nesting", () => {
  const deep = (levels: number): string => `${"[".repeat(levels)}${"]".repeat(levels)}`;
  test.each([
    ["as a result", (id: unknown) => answered(id, deep(100_000))],
    ["in structured content", (id: unknown) => answered(id, `{"content":[],"structuredContent":${deep(100_000)}}`)],
    ["never closed", (id: unknown) => answered(id, "[".repeat(100_000))],
    ["over a mebibyte", (id: unknown) => answered(id, deep(1_000_000))],
  ])("A-29 %s fails its call and nothing else", async (_claim, make) => {
    let isDone = false;
    const scene = await attackedBy(
      onCall(({ id }, pipes) => {
        if (isDone) return undefined;
        isDone = true;
        void pipes.say(make(id));
        return null;
      }),
      {},
      { timeoutMs: 2000 },
    );
    expect(await run(scene)).toMatchObject({ error: { code: expect.stringMatching(/TOO_LARGE|TIMEOUT/) as string } });
    expect((await run(scene, { n: 1 })).output).toBe('{"n":1}');
    expect(await scene.events("mcp.server.crashed")).toEqual([]);
  });

  test("A-29 64 levels are read, 65 are not", async () => {
    const scene = await attackedBy(onCall(({ id, params }, pipes) => {
      const { levels } = params["arguments"] as { levels: number };
      void pipes.say(answered(id, `{"content":[],"structuredContent":${deep(levels)}}`));
      return null;
    }));
    // The message and its result are two of them.
    expect((await run(scene, { levels: 62 })).status).toBe("completed");
    expect((await run(scene, { levels: 63 })).error?.reason).toBe("too_large");
  });

  test("A-29 arguments of that kind are refused before anything is sent", async () => {
    let calls = 0;
    const scene = await attackedBy(onCall(() => void calls++));
    expect(await run(scene, JSON.parse(`{"a":${deep(5000)}}`))).toMatchObject({
      status: "failed",
      error: { reason: "invalid_arguments" },
    });
    expect(calls).toBe(0);
  });
});

describe("A-30 prototype keys", () => {
  const EVIL = '{"__proto__":{"polluted":1},"constructor":{"prototype":{"p2":1}}}';

  test("A-30 in a configuration are an unknown key, and no prototype", async () => {
    const scene = await attackedBy({}, {}, JSON.parse(`{"__proto__":{"enabled":false,"polluted":1}}`));
    expect(await scene.events("mcp.server.failed")).toMatchObject([
      { payload: { server: "hostile", error: { code: "ERR_CONFIG", message: expect.stringContaining("__proto__") } } },
    ]);
  });

  test("A-30 in arguments, result and metadata change no object, nor what is copied from them", async () => {
    let heard = "";
    const scene = await attackedBy(
      onCall(({ id, line }, pipes) => {
        heard = line;
        void pipes.say(answered(
          id,
          `{"_meta":${EVIL},"content":[{"type":"text","text":"x","_meta":${EVIL}}],"structuredContent":${EVIL},"__proto__":{"polluted":1}}`,
        ));
        return null;
      }, {
        tools: [JSON.parse(`{"name":"run","inputSchema":{"type":"object","properties":${EVIL}},"_meta":${EVIL}}`)],
      }),
    );
    const outcome = await run(scene, JSON.parse(EVIL));
    expect(outcome.status).toBe("completed");
    expect(heard).not.toContain("__proto__");
    const copies = [
      Object.assign({}, outcome),
      Object.assign({}, outcome.structuredContent),
      Object.assign({}, outcome.content[0]),
      Object.assign({}, outcome.content[0]!["_meta"]),
      Object.assign({}, ...scene.session.toolDefinitions().map((definition) => ({ ...definition }))),
      ...(await scene.events("mcp.call.started")).map(({ payload }) => Object.assign({}, payload.args)),
    ] as { polluted?: unknown; p2?: unknown }[];
    expect(copies.map(({ polluted, p2 }) => [polluted, p2])).toEqual(copies.map(() => [undefined, undefined]));
  });
});

describe("A-32 parser differential", () => {
  test("A-32 of a member that stands twice all see the same one, and it is sent once", async () => {
    const asked: ApprovalRequest[] = [];
    let heard = "";
    const scene = await attackedBy(onCall(({ line }) => void (heard = line)), {
      permission: {},
      approve: (request) => {
        asked.push(request);
        return Promise.resolve("allow");
      },
    });
    const outcome = await run(scene, '{"path":"/tmp/a","path":"/etc/passwd","param\u017f":1,"Path":2}');
    const args = { path: "/etc/passwd", "param\u017f": 1, Path: 2 };
    expect(asked.map((request) => request.args)).toEqual([args]);
    expect(JSON.parse(outcome.output)).toEqual(args);
    expect(heard.match(/"path"/g)).toHaveLength(1);
    expect(heard).not.toContain("/tmp/a");
    const [started] = await scene.events("mcp.call.started");
    expect(started!.payload.args).toMatchObject({ arguments: args });
  });

  test("A-32 what the caller does to its arguments after they were shown changes nothing", async () => {
    const args: Record<string, unknown> = { path: "/tmp/a" };
    const scene = await attackedBy({}, {
      permission: {},
      approve: () => {
        args["path"] = "/etc/passwd";
        return Promise.resolve("allow");
      },
    });
    expect((await run(scene, args)).output).toBe('{"path":"/tmp/a"}');
  });

  test.each([
    ["id", `{"jsonrpc":"2.0","Id":ID,"result":{"content":[]}}`, "completed"],
    ["revision", `{"JSONRPC":"2.0","id":ID,"result":{"content":[]}}`, "completed"],
    ["method", `{"jsonrpc":"2.0","id":ID,"Method":"ping"}`, "failed"],
    ["result", `{"jsonrpc":"2.0","id":ID,"re\u017fult":{"content":[]}}`, "failed"],
    ["result in capitals", `{"jsonrpc":"2.0","id":ID,"RESULT":{"content":[]}}`, "failed"],
  ])("A-32 names of members are exact: a %s in other letters is none", async (_what, line, status) => {
    const scene = await attackedBy(onCall(({ id, params }, pipes) => {
      if ("report" in (params["arguments"] as object)) return text(JSON.stringify(pipes.answers));
      void pipes.say(line.replace("ID", String(id)));
      return undefined;
    }));
    const outcome = await run(scene, { n: 1 });
    expect([outcome.status, outcome.content.length > 0]).toEqual([status, status === "completed"]);
    expect((await run(scene, { report: true })).output).toBe("[]");
    expect(Object.values(await warnings(scene)).length).toBeGreaterThan(0);
  });

  test("A-32 a message that is a question and an answer is a question, for every reader of it", async () => {
    const scene = await attackedBy(onCall(({ id }, pipes) => {
      void pipes.say(`{"jsonrpc":"2.0","id":${String(id)},"method":"ping","result":{"content":[]},"method":"ping"}`);
      return undefined;
    }));
    expect((await run(scene, { n: 1 })).output).toBe('{"n":1}');
  });

  test("A-32 of a result that has its content twice, caller and log have the same one", async () => {
    const scene = await attackedBy(onCall(({ id }, pipes) => {
      const [first, second] = ["first", "second"].map((word) => JSON.stringify(text(word).content));
      void pipes.say(answered(id, `{"content":${first},"content":${second}}`));
      return null;
    }));
    expect((await run(scene)).output).toBe("second");
    expect(await scene.events("tool.completed")).toMatchObject([{ payload: { resultPreview: "second" } }]);
    expect(await scene.log()).not.toContain("first");
  });
});

describe("A-33 numbers", () => {
  test("A-33 an id of ours in another notation is itself, and no two ids are one", async () => {
    const scene = await attackedBy(onCall(({ id, params }, pipes) => {
      const n = Number(id);
      for (const wrong of ["9007199254740993", "-9007199254740993", "1e400", "-0", "0", `${n}.5`, `-${n}`, `${n}e1`]) {
        void pipes.say(answered(wrong, JSON.stringify(text("forged"))));
      }
      const { form } = params["arguments"] as { form: string };
      void pipes.say(answered(form === "exponent" ? `${n / 10}e1` : `${n}.0`, JSON.stringify(text("right"))));
      return null;
    }));
    expect((await run(scene, { form: "exponent" })).output).toBe("right");
    expect((await run(scene, { form: "fraction" })).output).toBe("right");
    expect(await scene.log()).not.toContain("forged");
    expect(await closings(scene)).toHaveLength(2);
  });

  test("A-33 a question under an id that a double cannot hold gets no answer under another", async () => {
    const scene = await attackedBy(onCall(({ params }, pipes) => {
      if ("report" in (params["arguments"] as object)) return text(JSON.stringify(pipes.answers.map(({ id }) => id)));
      for (const ask of ["9007199254740993", "1e400", "1.5", "9007199254740991", "-0"]) {
        void pipes.say(`{"jsonrpc":"2.0","id":${ask},"method":"ping"}`);
      }
      return undefined;
    }));
    expect((await run(scene)).status).toBe("completed");
    expect(JSON.parse((await run(scene, { report: true })).output)).toEqual([9007199254740991, 0]);
  });

  test("A-33 a number that is not finite is refused, in arguments and in results", async () => {
    let calls = 0;
    const scene = await attackedBy(onCall(({ id }, pipes) => {
      calls++;
      void pipes.say(answered(id, '{"content":[],"structuredContent":{"n":1e400}}'));
      return null;
    }));
    for (const args of [{ n: Infinity }, { n: NaN }, '{"n":1e400}']) {
      expect(await run(scene, args)).toMatchObject({ status: "failed", error: { reason: "invalid_arguments" } });
    }
    expect(calls).toBe(0);
    expect(await run(scene)).toMatchObject({ status: "failed", error: { reason: "invalid_result" } });
    await until(() => calls === 1);
  });
});
