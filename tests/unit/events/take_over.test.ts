import { expect, test } from "vitest";
import type { HostEvent } from "../../../src/events/event.ts";
import { fileStore } from "../../../src/events/file_store.ts";
import { countingIds } from "../../../src/kernel/ids.ts";
import { FakeClock } from "../../fixtures/fake_clock.ts";
import { MemoryFiles } from "../../fixtures/memory_files.ts";

const stream = "session:s";
const event = (seq: number, epoch: number): HostEvent => ({
  v: 1,
  seq,
  id: `evt_${epoch}_${seq}`,
  at: 0,
  stream,
  epoch,
  type: "tool.started",
  payload: {},
});

test("a former owner that writes on within a second leaves the new owner's stream whole", async () => {
  const files = new MemoryFiles();
  const open = (name: string) => {
    const ids = countingIds();
    return fileStore({
      files,
      directory: "log",
      clock: new FakeClock(),
      ids: { next: (prefix) => `${name}${ids.next(prefix)}` },
    });
  };
  const [former, owner] = [open("a"), open("b")];
  const a = await former.open(stream);
  await a.append(0, [event(1, 1)]);
  const b = await owner.open(stream, { takeOver: true });
  await b.append(1, [event(2, 2)]);
  await expect(a.append(1, [event(2, 1)])).rejects.toMatchObject({ code: "ERR_FENCED" });
  await b.append(2, [event(3, 2)]);
  expect((await owner.read(stream, { after: 0, limit: 10 })).map(({ id }) => id)).toEqual([
    "evt_1_1",
    "evt_2_2",
    "evt_2_3",
  ]);
  await Promise.all([a.close(), b.close()]);
  await former.close();
  await owner.close();
  const again = open("c");
  expect((await again.open(stream)).head).toMatchObject({ seq: 3, epoch: 2 });
  await again.close();
});

test("a log whose owner was killed says how long its lock holds yet, and how to take over", async () => {
  const files = new MemoryFiles();
  const clock = new FakeClock();
  const open = (name: string) => {
    const ids = countingIds();
    return fileStore({ files, directory: "log", clock, ids: { next: (prefix) => `${name}${ids.next(prefix)}` } });
  };
  const killed = open("a");
  await killed.open(stream);
  const message = (wait: string) =>
    `Cannot open stream "session:s": another process has the log; close that one; if it is gone, ${wait}open the host with takeOver: true`;
  const beat = (await files.list("log")).find((name) => name.startsWith("beat-"))!;
  const written = await files.readText(files.join("log", beat));
  const other = open("b");
  await expect(other.open(stream)).rejects.toMatchObject({
    code: "ERR_LOG_LOCKED",
    message: message("wait 30 s, after which its lock ends, or "),
    facts: { endsInMs: 30_000 },
  });
  // Its beat stays as it was: nobody writes it any more.
  await clock.advance(7_500);
  expect(await files.readText(files.join("log", beat))).toBe(written);
  await expect(other.open(stream)).rejects.toMatchObject({
    message: message("wait 23 s, after which its lock ends, or "),
  });
  const whole = await files.open(files.join("log", beat), "append");
  await whole.truncate(0);
  await expect(other.open(stream)).rejects.toMatchObject({ message: message("") });
  await whole.close();
  await other.close();
  await killed.close();
});
