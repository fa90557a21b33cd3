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
