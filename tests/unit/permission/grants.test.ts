import { describe, expect, it } from "vitest";
import { createGrants, type Grant } from "../../../src/permission/grants.ts";

const grant = (changes: Partial<Grant> = {}): Grant => ({
  session: "s_1",
  source: "global",
  tool: "mcp.fs.send",
  risk: "network",
  fingerprint: "sha256:1",
  policyVersion: "policy_1",
  ...changes,
});

describe("grants", () => {
  it("cover the very same call", () => {
    const grants = createGrants();
    expect(grants.covers(grant())).toBe(false);
    expect(grants.add(grant())).toBe(true);
    expect(grants.covers(grant())).toBe(true);
  });

  it.each<[string, Partial<Grant>]>([
    ["another session", { session: "s_2" }],
    ["A-98 a look-alike of another source", { source: "private" }],
    ["another tool", { tool: "mcp.fs.send2" }],
    ["another risk", { risk: "credential" }],
    ["a changed definition or configuration", { fingerprint: "sha256:2" }],
    ["a definition without a fingerprint", { fingerprint: undefined }],
    ["changed rules", { policyVersion: "policy_2" }],
  ])("do not cover %s", (_what, changes) => {
    const grants = createGrants();
    grants.add(grant());
    expect(grants.covers(grant(changes))).toBe(false);
  });

  it("fall for good when a tool has changed, also if it changes back", () => {
    const grants = createGrants();
    grants.add(grant());
    grants.covers(grant({ fingerprint: "sha256:2" }));
    expect([grants.covers(grant()), grants.list("s_1")]).toEqual([false, []]);
  });

  it("of a tool outlast a look-alike of another source", () => {
    const grants = createGrants();
    grants.add(grant());
    grants.covers(grant({ source: "private", fingerprint: "sha256:2" }));
    expect(grants.covers(grant())).toBe(true);
  });

  it("are never kept for destructive calls", () => {
    const grants = createGrants();
    expect(grants.add(grant({ risk: "destructive" }))).toBe(false);
    expect(grants.list("s_1")).toEqual([]);
  });

  it("are bounded for each session, and a renewed one takes no more room", () => {
    const grants = createGrants({ maxPerSession: 2 });
    const added = ["a", "b", "c"].map((tool) => grants.add(grant({ tool })));
    expect(added).toEqual([true, true, false]);
    expect(grants.add(grant({ tool: "a", fingerprint: "sha256:2" }))).toBe(true);
    expect(grants.add(grant({ session: "s_2", tool: "c" }))).toBe(true);
    expect(grants.list("s_1")).toHaveLength(2);
  });

  it("end with their session, or when they are taken back", () => {
    const grants = createGrants();
    for (const tool of ["a", "b", "__proto__"]) grants.add(grant({ tool }));
    expect([grants.revoke("s_1", "a"), grants.revoke("s_1", "a"), grants.revoke("s_9", "a")]).toEqual([1, 0, 0]);
    expect([grants.covers(grant({ tool: "a" })), grants.covers(grant({ tool: "__proto__" }))]).toEqual([false, true]);
    grants.endSession("s_1");
    expect([grants.covers(grant({ tool: "b" })), grants.list("s_1")]).toEqual([false, []]);
  });
});
