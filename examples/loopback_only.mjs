// Loaded before a server that would listen on all interfaces (node --import): makes it listen on 127.0.0.1, on a free
// port, and end when its standard input does. The URL goes to standard output as one line.
import { Server } from "node:net";
import process from "node:process";

const listen = Server.prototype.listen;

Server.prototype.listen = function (...args) {
  this.once("listening", () => {
    process.stdout.write(`listening on http://127.0.0.1:${this.address().port}\n`);
  });
  const ready = args.find((arg) => typeof arg === "function");
  return listen.call(this, 0, "127.0.0.1", ...(ready === undefined ? [] : [ready]));
};

// Whoever started this process holds the other end, and the end comes however that process ends.
process.stdin.on("end", () => process.exit(0)).resume();
