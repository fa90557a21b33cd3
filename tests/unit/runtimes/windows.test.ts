import { describe, expect, test } from "vitest";
import { windowsLaunch } from "../../../runtimes/node/windows.ts";

const env = { Path: "C:\\bin;D:\\tools\\", PATHEXT: ".COM;.EXE;.BAT;.CMD", ComSpec: "C:\\Windows\\system32\\cmd.exe" };

/** A disk with these files, in the letter case they are asked for. */
const disk = (...files: string[]) => (path: string): boolean => files.includes(path.toLowerCase());

const batchLine = (line: string): unknown => ({
  command: "C:\\Windows\\system32\\cmd.exe",
  args: ["/d", "/s", "/v:off", "/c", `"${line}"`],
  verbatim: true,
});

describe("start on Windows", () => {
  test("program with an extension is started as it is, with its arguments untouched", () => {
    const plan = { command: "C:\\x\\server.exe", args: ["a b & calc", '"%PATH%"'], env };
    expect(windowsLaunch(plan, disk("c:\\x\\server.exe"))).toEqual({
      command: plan.command,
      args: plan.args,
      verbatim: false,
    });
  });

  test("program is looked for along PATH, with the extensions of PATHEXT in their order", () => {
    const plan = { command: "node", args: ["server.js"], env };
    expect(windowsLaunch(plan, disk("d:\\tools\\node.exe", "d:\\tools\\node.cmd")).command).toBe(
      "D:\\tools\\node.EXE",
    );
    expect(windowsLaunch(plan, disk("c:\\bin\\node.cmd", "d:\\tools\\node.exe"))).toEqual(
      batchLine('"C:\\bin\\node.CMD" "server.js"'),
    );
  });

  test("program that is not found is left to the system, which will say so", () => {
    const plan = { command: "missing", args: ["x"], env };
    expect(windowsLaunch(plan, disk())).toEqual({ command: "missing", args: ["x"], verbatim: false });
  });

  test("path without an extension is completed without a look at PATH", () => {
    const plan = { command: ".\\run", args: [], env };
    expect(windowsLaunch(plan, disk(".\\run.bat", "c:\\bin\\run.exe"))).toEqual(batchLine('".\\run.BAT"'));
  });

  test("plan without PATHEXT and COMSPEC uses those of a fresh Windows", () => {
    const launch = windowsLaunch({ command: "npx", args: [], env: { PATH: "C:\\bin" } }, disk("c:\\bin\\npx.cmd"));
    expect(launch.command).toBe("cmd.exe");
  });

  test("batch file gets each argument in quotes, so that a metacharacter stays in its argument: FR-09", () => {
    const npx = disk("c:\\bin\\npx.cmd");
    const plan = { command: "npx", args: ["-y", "pkg", "--flag", "a b & calc"], env };
    expect(windowsLaunch(plan, npx)).toEqual(batchLine('"C:\\bin\\npx.CMD" "-y" "pkg" "--flag" "a b & calc"'));
    const odd = ["", "|", ">out", "^", "a&&b", "(x)", "!y!", "ěšč"];
    expect(windowsLaunch({ ...plan, args: odd }, npx)).toEqual(
      batchLine('"C:\\bin\\npx.CMD" "" "|" ">out" "^" "a&&b" "(x)" "!y!" "ěšč"'),
    );
  });

  test("backslashes before the closing quote are doubled and others are not", () => {
    const plan = { command: "npx", args: ["C:\\dir\\", "a\\b", "\\\\"], env };
    expect(windowsLaunch(plan, disk("c:\\bin\\npx.cmd"))).toEqual(
      batchLine('"C:\\bin\\npx.CMD" "C:\\dir\\\\" "a\\b" "\\\\\\\\"'),
    );
  });

  test.each(['say "hi"', "%PATH%", "100%", "a\nb", "a\rb", "a\0b"])(
    "batch file refuses an argument that cmd.exe would read: %j",
    (argument) => {
      const plan = { command: "npx", args: ["ok", argument], env };
      expect(() => windowsLaunch(plan, disk("c:\\bin\\npx.cmd"))).toThrow(
        expect.objectContaining({ code: "EINVAL", message: expect.stringContaining("batch file") }),
      );
    },
  );
});
