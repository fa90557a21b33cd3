/**
 * A program that must end by itself though a process that nobody can reach by its group holds all three pipes, with a
 * write that it never reads. Prints the pid of that process.
 */
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
const write = child.write("x".repeat(5_000_000));
await exit;
child.release();
await write;
console.log(printed.trim());
