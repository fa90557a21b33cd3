/** An echo server over standard input and output. It writes once for each chunk that it reads. */
import process from "node:process";
import { answer } from "./echo_answers.mjs";

let partial = "";
process.stdin.setEncoding("utf8");
process.stdin.on("data", (chunk) => {
  const lines = (partial + chunk).split("\n");
  partial = lines.pop();
  let out = "";
  for (const line of lines) {
    const text = answer(JSON.parse(line));
    if (text !== undefined) out += `${text}\n`;
  }
  if (out !== "") process.stdout.write(out);
});
process.stdin.on("end", () => process.exit(0));
