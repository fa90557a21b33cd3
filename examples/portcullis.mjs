// npm run portcullis -- ...: the command line from its sources.
import process from "node:process";
import { runPortcullis } from "./run.mjs";

await runPortcullis(process.argv.slice(2));
