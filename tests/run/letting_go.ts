/**
 * A program that must end by itself though a process outside the child's group holds the child's three pipes. As
 * `letting_go.ts writing`, it also leaves a write that nobody reads. Prints the pid of that process.
 */
import process from "node:process";
import { runtimeHere } from "./adapter.ts";

const { spawn, environment } = await runtimeHere();
let printed = "";
let exited = (): void => {};
const exit = new Promise<void>((resolve) => exited = resolve);
const script = "exec 3<&0; setsid sleep 1000 <&3 & echo $!; exit 0";
const child = await spawn!({ command: "sh", args: ["-c", script], env: environment() }, {
  onData: (chunk) => {
    printed += new TextDecoder().decode(chunk);
  },
  onErrorData: () => {},
  onEnd: () => {},
  onExit: () => exited(),
});
const write = process.argv[2] === "writing" ? child.write("x".repeat(5_000_000)) : undefined;
await exit;
child.release();
await write;
console.log(printed.trim());
