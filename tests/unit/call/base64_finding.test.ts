import { describe, expect, test } from "vitest";
import { base64Finding } from "../../../src/call/base64_finding.ts";
import type { JsonObject } from "../../../src/protocol/model.ts";
import { growthBeyondLinear } from "../cpu_time.ts";

const image = (data: unknown): JsonObject => ({ content: [{ type: "image", mimeType: "image/png", data }] });

describe("base64 of a result (A-38)", () => {
  test.each(["", "AAEC", "AAE=", "AA==", "AAEC\r\nAAEC\n", " A A E C "])("%j is sound", (data) => {
    expect(base64Finding(image(data))).toBeUndefined();
  });

  test.each<[unknown]>([["A"], ["AAECA"], ["A==="], ["AA=A"], ["AA_-"], ["AAE!"], ["data:image/png;base64,AAEC"], [7], [
    undefined,
  ]])(
    "%j is none",
    (data) => {
      expect(base64Finding(image(data))).toMatchObject({ rule: "invalid_base64", count: 1, preview: "/0/data" });
    },
  );

  test("of many blocks the first are named and all are counted", () => {
    const content = Array.from({ length: 20 }, () => ({ type: "resource", resource: { uri: "x:y", blob: "!" } }));
    expect(base64Finding({ content: [{ type: "text", text: "!" }, ...content] })).toMatchObject({
      count: 20,
      preview: "/1/resource/blob /2/resource/blob /3/resource/blob /4/resource/blob /5/resource/blob",
    });
  });

  test("what was put aside for its length is not looked at", () => {
    const spill = { pointer: "/result/content/0/data", bytes: 1 << 20, tail: "" };
    expect(base64Finding({ ...image("!") }, [spill as never])).toBeUndefined();
  });

  test.each([["white space", " "], ["letters", "A"], ["equals signs", "="]])(
    "takes linear time for %s",
    (_claim, unit) => {
      const prepare = (units: number): () => void => {
        const result = image(`${unit.repeat(units)}!`);
        return () => void base64Finding(result);
      };
      expect(growthBeyondLinear(50_000, prepare)).toBeLessThan(4);
    },
  );
});
