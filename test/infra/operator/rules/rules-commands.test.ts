// Tests rollcall rules list and get: the rules with their machines, and objects that can be applied again.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { RulesAnswer } from "../../../../shared/protocol/rules.ts";
import { type FakeWorker, fakeWorker, play } from "../played.ts";

const ruleObject = (name: string, labelsTemplate = "a=b") => ({
  apiVersion: "nfd.k8s-sigs.io/v1alpha1",
  kind: "NodeFeatureRule",
  metadata: { name },
  spec: { rules: [{ name: "any", labelsTemplate }] },
});
const PRESENT: RulesAnswer = {
  revision: 8,
  objects: [ruleObject("gpus"), ruleObject("nics", 'a="x\ty\\"\n{{ len .pci.device }}\u202E: # b\n')],
  rollout: { state: "stopped", machines: 1000, done: 400, changed: 100, mayChange: 100, failed: 1 },
  revisions: [
    {
      revision: 8,
      objects: ["gpus", "nics"],
      createdAt: "2026-01-02T00:00:00Z",
      createdBy: "bob",
      backTo: 6,
    },
    { revision: 7, objects: ["gpus"], createdAt: "2026-01-01T00:00:00Z", createdBy: "alice", backTo: null },
    { revision: 6, objects: [], createdAt: "2025-12-01T00:00:00Z", createdBy: "alice", backTo: 4 },
  ],
  matches: [
    { rule: "gpus/any", machines: 12 },
    { rule: "nics/a/b", machines: 0 },
  ],
};

let worker: FakeWorker;
let present: RulesAnswer;
beforeAll(async () => (worker = await fakeWorker(() => ({ body: present }))));
afterAll(() => worker.close());
beforeEach(() => (present = PRESENT));
const rules = (...args: string[]) => play(["rules", ...args], { url: worker.url });

describe("list", () => {
  it("→ the rollout, each rule with its machines, and the earlier revisions", async () => {
    expect(await rules("list")).toEqual({
      code: 0,
      stderr: "",
      stdout: `revision 8: 399 of 1000 machines follow; Nodes changed: 100; without an answer, to follow within a day: 1; the rollout has stopped, since more than 100 Nodes would change: continue it with rollcall rules continue, or go back with rollcall rules undo
brought back from revision 6 by bob at 2026-01-02T00:00:00Z
OBJECT   RULE   MACHINES
gpus     any    12
nics     a/b    0
revision 7 by alice at 2026-01-01T00:00:00Z: gpus
revision 6 by alice at 2025-12-01T00:00:00Z, back to revision 4: no rules
`,
    });
  });

  it("before the first rules → none", async () => {
    present = { revision: 0, objects: [], rollout: null, revisions: [], matches: [] };
    expect(await rules("list")).toMatchObject({ code: 0, stdout: "revision 0: no rules\n" });
  });
});

describe("get", () => {
  const folder = mkdtempSync(join(tmpdir(), "rollcall-rules-"));
  afterAll(() => rmSync(folder, { recursive: true }));

  it.each([[[]], [["-o", "json"]], [["nics"]], [["nics", "-o", "json"]]])(
    "%j → no control character, and apply finds no difference",
    async (args) => {
      const { code, stdout } = await rules("get", ...args);
      expect(code).toBe(0);
      expect(stdout).not.toMatch(/[\t\u202E]/);
      const path = join(folder, "got.yaml");
      writeFileSync(path, stdout);
      const applied = args.includes("nics") ? ["nics"] : ["gpus", "nics"];
      const unchanged = applied.map((name) => `${name} unchanged\n`).join("");
      expect((await rules("apply", path, "--dry-run")).stderr).toContain("the rollout has stopped");
      present = { ...PRESENT, rollout: null };
      expect(await rules("apply", path)).toMatchObject({
        code: 0,
        stdout: `${unchanged}revision 8: no rollout\n`,
      });
    },
  );

  it("YAML → as kubectl prints it, and texts of several lines stay lines", async () => {
    const lines = ruleObject("gpus", "a=b\nc=d\n");
    present = { ...PRESENT, objects: [lines] };
    const { stdout } = await rules("get");
    expect(stdout).toMatch(/^apiVersion: .*\nkind: NodeFeatureRule\nmetadata:/);
    expect(stdout).toContain("labelsTemplate: |\n        a=b\n        c=d\n");
  });

  it.each<[args: string[], code: number]>([
    [["none"], 3],
    [["-o", "csv"], 2],
  ])("%j → %i", async (args, code) => {
    expect(await rules("get", ...args)).toMatchObject({ code, stdout: "" });
  });
});
