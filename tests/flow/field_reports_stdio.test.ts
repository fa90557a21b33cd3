import process from "node:process";
import { describe, expect, test } from "vitest";
import { peakGrowth } from "../fixtures/held_memory.ts";
import { programHere } from "../run/adapter.ts";
import { ask, command, echoes, eventually, leaveNothing, stdio, STDIO_SERVER } from "./field_reports.ts";

leaveNothing();

const LIMIT = 8 << 20;
/** Well within what the fixture would stay for, and well beyond what a busy machine may take. */
const SOON_MS = 30_000;
const shell = (script: string): string[] => ["sh", "-c", script, "sh", ...programHere, STDIO_SERVER];

describe("FR-01 noise on standard output", () => {
  test.each(["legacy", "modern"])(
    "FR-01 server that prints a banner and log lines works, and is warned about (%s)",
    async (era) => {
      const server = stdio([`--era=${era}`, "--banner", "--on=tools/call", "--noise=6"]);
      const client = await server.connect();
      await echoes(client);
      await echoes(client);
      const noise = server.warnings.filter(([kind]) => kind === "noise").map(([, excerpt]) => excerpt);
      expect(noise).toHaveLength(14);
      expect(noise).toContain('{"level":"info","msg":"up"}');
      expect(server.ends).toEqual([]);
    },
  );

  test("FR-01 a thousand lines of noise are a crash, not a hang", async () => {
    const server = stdio(["--flood=1000"]);
    await expect(server.connect()).rejects.toMatchObject({ code: "ERR_PROTOCOL" });
    expect(server.children).toHaveLength(1);
  });

  test("FR-01 a line that is not UTF-8 is noise", async () => {
    const server = stdio(["--on=tools/call", "--invalid-utf8"]);
    await echoes(await server.connect());
    expect(server.warnings).toHaveLength(1);
  });
});

describe("FR-02 line ends", () => {
  test("FR-02 lines that end in CR LF, and blank lines between, are no noise", async () => {
    const server = stdio(["--era=legacy", "--crlf", "--blank-lines", "--bom"]);
    const client = await server.connect();
    await echoes(client);
    await echoes(client);
    expect(server.warnings).toEqual([]);
  });

  test("FR-02 a complete last line without its end is delivered at the end of the output", async () => {
    const server = stdio(["--on=tools/call", "--no-newline"]);
    await echoes(await server.connect());
    await eventually("the end is told", () => server.ends.length > 0);
    expect(server.ends[0]).toMatchObject({ reason: "exit", exitCode: 0 });
  });
});

describe("FR-03 longest line", () => {
  test.each([[], ["--trickle=1024"]])("FR-03 the limit is one of length, not of chunks (%s)", async (...flags) => {
    const server = stdio(["--era=legacy", ...flags]);
    const client = await server.connect();
    const small = await client.callTool("echo", { message: "a" });
    const overhead = small.kind === "done" ? small.bytes - 1 : NaN;
    for (const bytes of [LIMIT - 1, LIMIT]) {
      const reply = await client.callTool("echo", { message: "a".repeat(bytes - overhead) });
      expect(reply).toMatchObject({ kind: "done", bytes });
    }
    expect(await client.callTool("echo", { message: "a".repeat(LIMIT + 1 - overhead) })).toMatchObject({
      kind: "failed",
      sent: true,
      error: { code: "ERR_FRAME_TOO_LARGE" },
    });
    expect(server.ends).toMatchObject([{ reason: "frame_too_large", error: { facts: { maxBytes: LIMIT } } }]);
  }, 120_000);
});

describe("FR-04 endless line", () => {
  test("FR-04 what was complete before it is delivered, then the session fails with the limit, in bounded memory (A-12)", async () => {
    const server = stdio(["--on=tools/call", "--from=2", "--endless-line=128"]);
    const other = stdio([]);
    const client = await server.connect();
    const bystander = await other.connect();
    await echoes(client);
    const growth = await peakGrowth(async () => {
      expect(await client.callTool("echo", { message: "x" })).toMatchObject({
        kind: "failed",
        sent: true,
        error: { code: "ERR_FRAME_TOO_LARGE" },
      });
    });
    expect(growth).toBeLessThan(48 << 20);
    expect(server.ends).toMatchObject([{ reason: "frame_too_large" }]);
    await echoes(bystander);
  });

  test("FR-04 200 MB on standard error without a newline leave a tail that says what was dropped (A-15)", async () => {
    const server = command(shell(`head -c 200000000 /dev/zero | tr '\\0' e >&2; exec "$@"`));
    const growth = await peakGrowth(async () => echoes(await server.connect()));
    expect(growth).toBeLessThan(48 << 20);
    server.children[0]!.kill("SIGKILL");
    await eventually("the end is told", () => server.ends.length > 0);
    const tail = server.ends[0]!.stderrTail!;
    const [, dropped, kept] = /^\[(\d+) earlier bytes dropped\]\n(e+)$/.exec(tail) ?? [];
    expect(Number(dropped) + kept!.length).toBe(200_000_000);
    expect(kept!.length).toBeLessThanOrEqual(64 << 10);
  }, 120_000);
});

describe("FR-05 standard error", () => {
  test("FR-05 256 KiB before the answer to initialize, and before each call, block nothing", async () => {
    const server = stdio(["--era=legacy", "--stderr-at-start=256", "--on=tools/call", "--stderr=256"]);
    const client = await server.connect();
    await echoes(client);
    await echoes(client);
  });
});

describe("FR-06 pipe that breaks", () => {
  test.each([["true"], [...programHere, STDIO_SERVER, "--exit-at-start=0"]])(
    "FR-06 command that exits with 0 at once fails the start with that (%s)",
    async (...line) => {
      await expect(command(line).connect()).rejects.toMatchObject({ code: "ERR_START_FAILED", facts: { exitCode: 0 } });
    },
  );

  test("FR-06 command that closes its input and stays fails the start in time", async () => {
    await expect(stdio(["--close-stdin"], { startTimeoutMs: 3000, probeTimeoutMs: 500, stopGraceMs: 500 }).connect())
      // What was written before it closed its input is lost without a word: then only time tells.
      .rejects.toMatchObject({ code: expect.stringMatching(/^ERR_START_(?:FAILED|TIMEOUT)$/) as string });
  });

  test("FR-06 host survives a child that is killed while 5 MB are written", async () => {
    const server = stdio(["--era=legacy"]);
    const client = await server.connect();
    await echoes(client);
    const calls = Array.from({ length: 4 }, () => client.callTool("echo", { message: "x".repeat(5_000_000) }));
    server.children[0]!.kill("SIGKILL");
    for (const call of calls) {
      expect(await call).toMatchObject({
        kind: "failed",
        error: { code: "ERR_CONNECTION_LOST", facts: { signal: "SIGKILL" } },
      });
    }
    expect(await calls[0]).toMatchObject({ sent: true });
    expect(server.ends).toMatchObject([{ reason: "signal", signal: "SIGKILL" }]);
    expect(await client.callTool("echo", {})).toMatchObject({ kind: "failed", sent: false });
  });

  test("FR-06 host survives a child that exits while 5 MB are written", async () => {
    const server = stdio(["--era=legacy", "--on=tools/call", "--exit=3"]);
    const client = await server.connect();
    const [small, big] = [
      client.callTool("echo", { message: "x" }),
      client.callTool("echo", { message: "x".repeat(5_000_000) }),
    ];
    expect(await small).toMatchObject({ kind: "failed", sent: true, error: { code: "ERR_CONNECTION_LOST" } });
    expect(await big).toMatchObject({ kind: "failed" });
    expect(server.ends).toMatchObject([{ reason: "exit", exitCode: 3 }]);
  });
});

describe("FR-07 server that is gone after its first answer", () => {
  test("FR-07 the start fails with its exit, or the end is told: nothing is thrown into nowhere", async () => {
    const server = stdio(["--era=legacy", "--on=initialize", "--exit-after=5"]);
    try {
      const client = await server.connect();
      await eventually("the end is told", () => server.ends.length > 0);
      expect(server.ends).toMatchObject([{ reason: "exit", exitCode: 5 }]);
      client.notify("notifications/roots/list_changed");
    } catch (error) {
      expect(error).toMatchObject({ code: "ERR_START_FAILED", facts: { exitCode: 5 } });
    }
  });

  test("FR-07 notifications to a server that has gone are dropped in silence", async () => {
    const server = stdio(["--era=legacy"]);
    const client = await server.connect();
    server.children[0]!.kill("SIGKILL");
    for (let count = 0; count < 100; count++) client.notify("notifications/roots/list_changed");
    const controller = new AbortController();
    const call = client.callTool("echo", { message: "x" }, { signal: controller.signal });
    controller.abort();
    expect((await call).kind).toBe("failed");
    await eventually("the end is told", () => server.ends.length > 0);
    client.notify("notifications/roots/list_changed");
  });
});

describe("FR-08 what a server has started", () => {
  test("FR-08 the real server behind a launcher goes with it", async () => {
    const server = command(shell(`exec 3<&0; "$@" <&3 & wait`));
    const client = await server.connect();
    await echoes(client);
    await client.close();
    expect(server.children[0]!.groupAlive()).toBe(false);
  });

  test("FR-08 a server that ignores SIGTERM is gone within the grace (A-21)", async () => {
    const server = stdio(["--ignore-sigterm"], { stopGraceMs: 600 });
    const client = await server.connect();
    const start = performance.now();
    await client.close();
    expect(server.children[0]!.groupAlive()).toBe(false);
    expect(performance.now() - start).toBeLessThan(SOON_MS);
    expect(server.ends).toEqual([{ reason: "closed" }]);
  });

  test("FR-08 a grandchild that holds the output neither hides the exit of its wrapper nor outlives it", async () => {
    const server = stdio(["--grandchild=plain"], { stopGraceMs: 600 });
    const client = await server.connect();
    const start = performance.now();
    expect(await client.callTool("crash", { code: 9 })).toMatchObject({
      kind: "failed",
      sent: true,
      error: { code: "ERR_CONNECTION_LOST", facts: { exitCode: 9 } },
    });
    expect(performance.now() - start).toBeLessThan(SOON_MS);
    await eventually("the group is empty", () => !server.children[0]!.groupAlive());
  });

  test("FR-08 a grandchild in a session of its own delays nothing, though it is out of reach (A-21)", async () => {
    const server = stdio(["--grandchild=setsid"], { stopGraceMs: 600 });
    const client = await server.connect();
    const { grandchild } = (await ask(client, "pids")) as { grandchild: number };
    try {
      const start = performance.now();
      await client.close();
      expect(performance.now() - start).toBeLessThan(SOON_MS);
      expect(server.children[0]!.containment).toBe("process_group");
    } finally {
      process.kill(grandchild, "SIGKILL");
    }
  });
});

describe("FR-10 environment", () => {
  test("FR-10 the child has exactly the variables that it is given, and is found through their PATH (A-08)", async () => {
    process.env["FIELD_REPORT_SAMPLE"] = "a sample that no child may see";
    try {
      const env = { PATH: process.env["PATH"] ?? "", API_KEY: "x", EMPTY: "" };
      const server = command(["sh", "-c", 'exec node "$@"', "sh", STDIO_SERVER], { env });
      const found = (await ask(await server.connect(), "env")) as Record<string, string>;
      for (const name of Object.keys(found)) {
        if (/^(PORTCULLIS_FIELD_REPORTS_\d+|PWD|SHLVL|_|OLDPWD)$/.test(name)) delete found[name];
      }
      expect(found).toEqual(env);
    } finally {
      delete process.env["FIELD_REPORT_SAMPLE"];
    }
  });
});

describe("FR-12 probe without an answer", () => {
  test.each([["--silent"], ["--wrong-id"], ["--null-id"]])(
    "FR-12 an older server that meets it with %s is spoken to on the same pipe",
    async (vice) => {
      const server = stdio(["--era=legacy", "--on=server/discover", vice], { probeTimeoutMs: 300 });
      const client = await server.connect();
      expect(client.facts.era).toBe("legacy");
      await echoes(client);
      expect(server.children).toHaveLength(1);
    },
  );

  test("FR-12 an answer to the probe that comes after all is ignored", async () => {
    const server = stdio(["--era=legacy", "--on=server/discover", "--late"], { probeTimeoutMs: 300 });
    const client = await server.connect();
    await echoes(client);
    expect([client.facts.era, server.warnings]).toEqual(["legacy", []]);
  });

  test("FR-12 an older server that exits on the probe is started again, once", async () => {
    const server = stdio(["--era=legacy", "--exit-before-initialize=1"]);
    const client = await server.connect();
    await echoes(client);
    expect(server.children).toHaveLength(2);
    expect(server.children[0]!.groupAlive()).toBe(false);
  });
});

describe("FR-34 ids", () => {
  test("FR-34 ids that come back as texts are taken, with a warning", async () => {
    const server = stdio(["--era=legacy", "--on=tools/call", "--string-id"]);
    await echoes(await server.connect());
    expect(server.warnings).toEqual([["twin_id", undefined]]);
  });

  test.each([["--zero-id"], ["--null-id"], ["--wrong-id"]])(
    "FR-34 an answer under no id of ours (%s) leaves a warning and the connection; the call ends in its time",
    async (vice) => {
      const server = stdio(["--era=legacy", "--on=tools/call", "--times=1", vice]);
      const client = await server.connect();
      expect(await client.callTool("echo", { message: "x" }, { timeoutMs: 500 })).toMatchObject({
        kind: "failed",
        sent: true,
        error: { code: "ERR_TIMEOUT" },
      });
      await eventually("the answer is warned about", () => server.warnings.length > 0);
      await echoes(client);
      expect(server.warnings).toHaveLength(1);
    },
  );

  test("FR-34 of two answers to one id the first counts", async () => {
    const server = stdio(["--era=legacy", "--on=tools/call", "--duplicate"]);
    const client = await server.connect();
    await echoes(client, "the first answer");
    await client.callTool("heard", {});
    expect(server.warnings).toContainEqual(["duplicate_id", undefined]);
  });

  test("FR-34 an answer to a request that was never sent is no answer to another", async () => {
    const server = stdio(["--on=tools/call", "--foreign-id"]);
    await echoes(await server.connect());
    expect(server.warnings).toEqual([["unknown_id", undefined]]);
  });
});

describe("server that does not start", () => {
  test("that never answers fails in its time, with the time waited and the last of its errors", async () => {
    // A shell, which is there at once, however busy the machine is.
    const line = ["sh", "-c", "head -c 131072 /dev/zero | tr '\\0' e >&2; exec sleep 1000"];
    const start = performance.now();
    const error = await command(line, { startTimeoutMs: 3000, probeTimeoutMs: 500 }).connect().catch((cause: unknown) =>
      cause
    );
    expect(error).toMatchObject({
      code: "ERR_START_TIMEOUT",
      facts: { stderrTail: expect.stringContaining("earlier bytes dropped") },
    });
    const { waitedMs } = (error as { facts: { waitedMs: number } }).facts;
    expect(waitedMs).toBeGreaterThanOrEqual(2990);
    expect(waitedMs).toBeLessThanOrEqual(performance.now() - start + 1);
  });

  test("that answers garbage fails in its time", async () => {
    const script = `while read -r line; do echo '{"jsonrpc":"2.0","id":1,"result":{"cont'; done`;
    const server = command(["sh", "-c", script], { startTimeoutMs: 3000, probeTimeoutMs: 500 });
    await expect(server.connect()).rejects.toMatchObject({ code: "ERR_START_TIMEOUT" });
    expect(server.warnings.map(([kind]) => kind)).toContain("noise");
  });

  test("that drips a byte at a time fails in its time: a total deadline, no idle one (A-25)", async () => {
    const server = command(["sh", "-c", "while :; do printf x; sleep 0.05; done"], {
      startTimeoutMs: 1500,
      probeTimeoutMs: 300,
      stopGraceMs: 500,
    });
    await expect(server.connect()).rejects.toMatchObject({ code: "ERR_START_TIMEOUT" });
  });

  test("that exits at once fails with its code and the last of its errors", async () => {
    const server = command(["sh", "-c", "echo first >&2; echo missing module >&2; exit 7"]);
    await expect(server.connect()).rejects.toMatchObject({
      code: "ERR_START_FAILED",
      message: expect.stringContaining("code 7"),
      facts: { exitCode: 7, stderrTail: "first\nmissing module" },
    });
  });

  test("that is killed by a signal fails with that", async () => {
    const server = command(["sh", "-c", "kill -SEGV $$"]);
    await expect(server.connect()).rejects.toMatchObject({ code: "ERR_START_FAILED", facts: { signal: "SIGSEGV" } });
  });

  test.each([["portcullis-no-such-command"], ["/nonexistent/server"]])(
    "that is no command (%s) fails with what was not found",
    async (name) => {
      await expect(command([name]).connect()).rejects.toMatchObject({
        code: "ERR_START_FAILED",
        facts: { cause: "ENOENT", command: name },
      });
    },
  );

  test("that is given up by its caller is stopped", async () => {
    const controller = new AbortController();
    const server = stdio(["--on=server/discover,initialize", "--silent"], { signal: controller.signal });
    const connecting = server.connect();
    await eventually("the server runs", () => server.children.length > 0);
    controller.abort();
    await expect(connecting).rejects.toMatchObject({ code: "ERR_CANCELLED" });
    expect(server.children[0]!.groupAlive()).toBe(false);
  });
});

describe("answer that cannot be read", () => {
  test("nested 100,000 levels deep fails its call, and only that (A-29)", async () => {
    const server = stdio([]);
    const client = await server.connect();
    expect(await client.callTool("deep", { depth: 100_000 })).toMatchObject({
      kind: "failed",
      sent: true,
      error: { code: "ERR_FRAME_TOO_LARGE", facts: { malformed: "too_deep" } },
    });
    await echoes(client);
  });

  test("with prototype keys changes no prototype (A-30)", async () => {
    const result =
      '{"resultType":"complete","content":[],"__proto__":{"polluted":1},"structuredContent":{"\\u005f_proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}}';
    const client = await stdio(["--on=tools/call", `--result=${result}`]).connect();
    const reply = await client.callTool("echo", {});
    expect(reply).toMatchObject({ kind: "done" });
    const copy = Object.assign(
      {},
      reply.kind === "done" ? reply.result : undefined,
      reply.kind === "done" ? reply.result["structuredContent"] : undefined,
    );
    expect([({} as { polluted?: unknown }).polluted, (copy as { polluted?: unknown }).polluted]).toEqual([
      undefined,
      undefined,
    ]);
  });

  test("in an array, where the revision has none, fails its call at once (A-20)", async () => {
    const server = stdio(["--era=legacy", "--on=tools/call", "--times=1", "--batch"]);
    const client = await server.connect();
    expect(await client.callTool("echo", {})).toMatchObject({
      kind: "failed",
      sent: true,
      error: { code: "ERR_PROTOCOL", facts: { malformed: "batch" } },
    });
    expect(server.warnings).toEqual([["unexpected_batch", "batch"]]);
    await echoes(client);
  });

  test("in an array is taken where the revision has them", async () => {
    const server = stdio(["--era=legacy", "--version=2025-03-26", "--on=tools/call", "--batch"]);
    await echoes(await server.connect());
    expect(server.warnings).toEqual([]);
  });
});

describe("server that asks", () => {
  test("under our ids, unasked, disturbs nothing (A-19)", async () => {
    const server = stdio([
      "--era=legacy",
      "--on=tools/call",
      "--ask=sampling/createMessage,elicitation/create,roots/list,ping",
    ]);
    await echoes(await server.connect());
    expect(server.warnings).toEqual([]);
  });

  test("a hundred thousand times is disconnected for it (A-19)", async () => {
    const server = stdio(["--era=legacy", "--on=tools/call", "--ask-flood=100000"], { stopGraceMs: 600 });
    const client = await server.connect();
    expect(await client.callTool("echo", { message: "x" })).toMatchObject({
      kind: "failed",
      sent: true,
      error: { code: "ERR_PROTOCOL" },
    });
    expect(server.ends).toMatchObject([{ reason: "flood" }]);
  });

  test("cancels our call by a notice: the call ends with its reason (FR-39)", async () => {
    const server = stdio(["--on=tools/call", "--cancel-ours"]);
    expect(await (await server.connect()).callTool("echo", {})).toMatchObject({
      kind: "failed",
      error: {
        code: "ERR_CANCELLED",
        facts: { by: "server" },
        message: expect.stringContaining("given up by the server"),
      },
    });
  });
});
