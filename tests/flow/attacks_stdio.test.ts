import { describe, expect, test } from "vitest";
import { FakeClock } from "../fixtures/fake_clock.ts";
import { peakGrowth } from "../fixtures/held_memory.ts";
import { programHere } from "../run/adapter.ts";
import { attackedBy, PATH, run, type Scene, surviveAll, warnings } from "./attacks.ts";
import { STDIO_SERVER } from "./field_reports.ts";

surviveAll();

const MIB = 1 << 20;
const [command, ...before] = programHere;
/** Processes take their time on a busy machine. */
const PATIENT = { startTimeoutMs: 60_000, probeTimeoutMs: 60_000, stopGraceMs: 500, restart: { auto: false } };

const fixture = (flags: readonly string[], config: object = {}): Promise<Scene> =>
  attackedBy({ command, args: [...before, STDIO_SERVER, ...flags], env: { PATH } }, {}, { ...PATIENT, ...config });

/** The fixture behind a shell script that says something first; `"$@"` is its command line. */
const behind = (script: string, flags: readonly string[] = []): Promise<Scene> =>
  attackedBy(
    { command: "sh", args: ["-c", script, "sh", ...programHere, STDIO_SERVER, ...flags], env: { PATH } },
    {},
    PATIENT,
  );

const echo = (scene: Scene, message = "hi"): ReturnType<Scene["session"]["tool"]> =>
  scene.session.tool("mcp.hostile.echo", { message });

describe("A-12 endless line", () => {
  test("A-12 ends its server at the limit, unbuffered, and the call that waits for it", async () => {
    const scene = await fixture(["--on=tools/call", "--from=2", "--endless-line=128"]);
    expect((await echo(scene)).output).toBe("hi");
    const growth = await peakGrowth(async () => {
      // The call was made, and nobody knows what came of it.
      expect(await echo(scene)).toMatchObject({ status: "unknown", error: { code: "ERR_FRAME_TOO_LARGE" } });
    });
    expect(growth).toBeLessThan(24 * MIB);
    expect(await scene.events("mcp.server.crashed")).toMatchObject([
      { payload: { server: "hostile", reason: "frame_too_large", inFlight: 1 } },
    ]);
    expect(await echo(scene)).toMatchObject({ status: "failed" });
  });

  test("A-12 from the start on is a failed start with that reason", async () => {
    const scene = await behind("head -c 33554432 /dev/zero | tr '\\0' a");
    const [report] = await scene.host.ready({ servers: ["hostile"] });
    expect(report).toMatchObject({ state: "permanently_failed" });
    expect(await scene.events("mcp.server.crashed")).toMatchObject([{ payload: { reason: "frame_too_large" } }]);
  });
});

describe("A-14 noise on standard output", () => {
  test("A-14 of every kind is skipped and counted, and the messages between are delivered", async () => {
    const banner = String.raw`printf '\033[1;31mnpm\033[0m notice\n{"half":\n\n   \n\r\n'; exec "$@"`;
    const scene = await behind(banner, ["--era=legacy", "--blank-lines", "--on=tools/call", "--noise=6"]);
    expect((await echo(scene)).output).toBe("hi");
    expect((await echo(scene)).output).toBe("hi");
    expect(Object.keys(await warnings(scene))).toEqual(["noise"]);
    // One event for the first; the rest is counted, not logged line by line.
    expect((await scene.events("mcp.server.warning")).length).toBeLessThanOrEqual(3);
    expect(await scene.events("mcp.log")).toEqual([]);
    expect(await scene.events("mcp.server.crashed")).toEqual([]);
  });

  test.each([[99, []], [100, [{ payload: { reason: "noise" } }]]])(
    "A-14 %i lines in a row without a message are a crash from 100 on",
    async (lines, crashes) => {
      const scene = await fixture(["--era=legacy", `--flood=${lines}`]);
      await scene.host.ready({ servers: ["hostile"] });
      expect(await scene.events("mcp.server.crashed")).toMatchObject(crashes);
      expect((await echo(scene)).status).toBe(crashes.length === 0 ? "completed" : "failed");
    },
  );
});

describe("A-15 flood on standard error", () => {
  test("A-15 of 200 MiB blocks nobody, fills no log and holds no memory", async () => {
    const scene = await behind(`head -c 209715200 /dev/zero | tr '\\0' e >&2; exec "$@"`);
    const growth = await peakGrowth(async () => expect((await echo(scene)).output).toBe("hi"), 300);
    expect(growth).toBeLessThan(24 * MIB);
    const before = (await scene.log()).length;
    expect(before).toBeLessThan(20_000);
    await scene.session.tool("mcp.hostile.crash", { code: 3 });
    const [crash] = await scene.events("mcp.server.crashed");
    expect(crash!.payload).toMatchObject({ reason: "exit", exitCode: 3 });
    expect(crash!.payload.stderrTail!.length).toBeLessThanOrEqual(4096);
    expect(crash!.payload.stderrTail).toContain("eeee");
  });
});

describe("A-25 server that is never ready", () => {
  const TEN_MINUTES = 600_000;

  test("A-25 a byte a second keeps no start alive: the deadline is a total one, and others start meanwhile", async () => {
    const clock = new FakeClock();
    const scene = await attackedBy(
      {
        start(pipes) {
          const drip = (): void => {
            void pipes.write(new TextEncoder().encode("x"));
            if (pipes.isAlive) clock.after(1000, drip);
          };
          drip();
        },
        hear: () => null,
      },
      { clock },
      { restart: { auto: false } },
    );
    await clock.advance(0);
    const states = (): string[] => scene.host.globalMcpStatus().map(({ state }) => state);
    expect(states()).toEqual(["starting", "ready"]);
    await clock.advance(29_000);
    expect(states()).toEqual(["starting", "ready"]);
    await clock.advance(1000);
    expect(states()).toEqual(["permanently_failed", "ready"]);
    expect(await scene.events("mcp.server.crashed")).toMatchObject([{ payload: { reason: "start_timeout" } }]);
  });

  test("A-25 an answer to the handshake after ten minutes is none", async () => {
    const clock = new FakeClock();
    const scene = await attackedBy(
      {
        hear({ id, method }, pipes) {
          if (method !== "initialize") return undefined;
          const result = { protocolVersion: "2025-06-18", capabilities: { tools: {} } };
          clock.after(TEN_MINUTES, () => void pipes.say({ id, result }));
          return null;
        },
      },
      { clock },
      { restart: { auto: false } },
    );
    await clock.advance(TEN_MINUTES + 1000);
    expect(scene.host.globalMcpStatus().map(({ state }) => state)).toEqual(["permanently_failed", "ready"]);
    expect(await scene.events("mcp.server.crashed")).toMatchObject([{ payload: { reason: "start_timeout" } }]);
    expect(clock.timers).toBe(0);
  });

  test("A-25 the same holds over HTTP, whose connection is let go", async () => {
    const clock = new FakeClock();
    const signals: AbortSignal[] = [];
    const scene = await attackedBy({ url: "https://mcp.test/mcp" }, {
      clock,
      fetch: (_url, init) => {
        const { signal } = init as { readonly signal: AbortSignal };
        signals.push(signal);
        const drip = new ReadableStream<Uint8Array>({
          start(controller) {
            const next = (): void => {
              if (signal.aborted) return controller.error(signal.reason);
              controller.enqueue(new TextEncoder().encode(" "));
              clock.after(1000, next);
            };
            next();
          },
        });
        return Promise.resolve(new Response(drip, { headers: { "content-type": "application/json" } }));
      },
    }, { restart: { auto: false } });
    await clock.advance(30_000);
    expect(scene.host.globalMcpStatus().map(({ state }) => state)).toEqual(["permanently_failed", "ready"]);
    expect(await scene.events("mcp.server.crashed")).toMatchObject([{ payload: { reason: "start_timeout" } }]);
    expect(signals.length).toBeGreaterThan(0);
    expect(signals.filter(({ aborted }) => !aborted)).toEqual([]);
    expect(await run(scene)).toMatchObject({ status: "failed" });
  });
});
