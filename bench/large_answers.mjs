import { Buffer } from "node:buffer";

/** What the texts are made of, as it stands in JSON. */
export const UNITS = {
  plain: "The quick brown fox jumps over the lazy dog. ",
  escapes: "twelve bytes\\n",
  scripts: "Grüße, 世界 и мир 🌍 ",
};

/** The parts of an answer to a call with `bytes` of text in JSON, made of one of the units. */
export function* largeAnswer(id, { bytes, kind = "plain" }) {
  const unit = UNITS[kind];
  const block = Buffer.from(unit.repeat(Math.ceil((256 << 10) / Buffer.byteLength(unit))));
  yield Buffer.from(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"content":[{"type":"text","text":"`);
  const times = Math.ceil(bytes / block.length);
  for (let at = 0; at < times; at++) yield block;
  yield Buffer.from(`"}]}}`);
}
