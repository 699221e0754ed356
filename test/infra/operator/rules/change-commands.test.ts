// Tests rollcall rules apply, diff, delete, undo and continue: what is tried, asked and sent, and how a rollout ends.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it, test } from "vitest";
import type { RulesAnswer, RulesRollout, RulesTrial } from "../../../../shared/protocol/rules.ts";
import { type Answered, type FakeWorker, fakeWorker, play, type Played } from "../played.ts";

const folder = mkdtempSync(join(tmpdir(), "rollcall-rules-"));
afterAll(() => rmSync(folder, { recursive: true }));

const ruleObject = (name: string, label = "gpu", rules = ["any"]) => ({
  apiVersion: "nfd.k8s-sigs.io/v1alpha1",
  kind: "NodeFeatureRule",
  metadata: { name },
  spec: { rules: rules.map((rule) => ({ name: rule, labels: { [label]: "true" } })) },
});

let files = 0;
function file(...objects: unknown[]): string {
  const path = join(folder, `${++files}.yaml`);
  writeFileSync(path, objects.map((object) => JSON.stringify(object)).join("\n---\n"));
  return path;
}

const DONE: RulesRollout = { state: "done", machines: 100, done: 100, changed: 2, mayChange: 10, failed: 0 };
const RUNNING: RulesRollout = { ...DONE, state: "running", done: 40, changed: 1 };
const STOPPED: RulesRollout = { ...DONE, state: "stopped", done: 40, changed: 10 };

const STILL = "revision 8: 40 of 100 machines follow; Nodes changed: 1";

const rulesOf = (revision: number, objects: unknown[], rollout: RulesRollout | null = DONE): RulesAnswer => ({
  revision,
  objects,
  rollout,
  revisions: [],
  matches: [],
});

const label = (name: string, before: string | null = null, after: string | null = "true") => ({
  name,
  changes: [{ kind: "label", key: "feature.node.kubernetes.io/gpu", before, after }],
  refused: [],
});
const names = (count: number) => Array.from({ length: count }, (_, index) => `edge-${index + 100}`);

/** Returns the answer to a trial on 100 machines, of which the last page has these changes. */
const trialOf = (changes: RulesTrial["changes"], failed: RulesTrial["failed"] = []): RulesTrial[] => [
  { machines: 50, changes: [], failed: [], next: "edge-50" },
  { machines: 50, changes, failed, next: null },
];

let worker: FakeWorker;
/** The answers to GET /v1/rules in their order; the last one stays. */
let present: RulesAnswer[];
let trial: RulesTrial[];
let put: Answered;
beforeAll(async () => {
  worker = await fakeWorker(({ method, path }) => {
    if (method === "GET") return { body: present.length > 1 ? present.shift() : present[0] };
    return path === "/v1/rules/try" ? { body: trial.shift() } : put;
  });
});
afterAll(() => worker.close());
beforeEach(() => {
  worker.asked.length = 0;
  present = [rulesOf(7, [ruleObject("gpus")])];
  trial = trialOf([label("edge-7"), label("edge-8")]);
  put = { body: rulesOf(8, []) };
});
const rules = (args: string[], played: Played = {}) =>
  play(["rules", ...args], { url: worker.url, ...played });
const bodyOf = (way: string) => worker.asked.find(({ method, path }) => `${method} ${path}` === way)?.body;
const isPut = () => bodyOf("PUT /v1/rules") !== undefined;

describe("apply", () => {
  it("a new object → tried on all machines with the others, page by page, then put", async () => {
    const nics = ruleObject("nics", "nic");
    const { code, stdout, stderr } = await rules(["apply", "-f", file(nics)]);
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: "nics created\nrevision 8: all 100 machines follow; Nodes changed: 2\n",
    });
    expect(stderr).toBe(
      "NODE     CHANGE\n" +
        "edge-7   + label feature.node.kubernetes.io/gpu=true\n" +
        "edge-8   + label feature.node.kubernetes.io/gpu=true\n" +
        "2 of 100 Nodes would change\n",
    );
    const objects = [ruleObject("gpus"), nics];
    expect(worker.asked.map(({ method, path, body }) => [method, path, body])).toEqual([
      ["GET", "/v1/rules", null],
      ["POST", "/v1/rules/try", { objects, after: "" }],
      ["POST", "/v1/rules/try", { objects, after: "edge-50" }],
      ["PUT", "/v1/rules", { objects, base: 7, mayChange: 10 }],
    ]);
  });

  it("several files, one of kubectl → what kubectl and the apiserver add is left out", async () => {
    const annotations = { "kubectl.kubernetes.io/last-applied-configuration": "{}", owner: "infra" };
    const metadata = { name: "gpus", uid: "1", managedFields: [], annotations, labels: { team: "a" } };
    await rules(["apply", file(ruleObject("z")), "-f", file({ ...ruleObject("gpus"), metadata })]);
    expect(bodyOf("PUT /v1/rules")).toMatchObject({
      objects: [
        {
          ...ruleObject("gpus"),
          metadata: { name: "gpus", annotations: { owner: "infra" }, labels: { team: "a" } },
        },
        ruleObject("z"),
      ],
    });
  });

  test.each<[situation: string, changed: number, failed: number, played: Played, mayChange: number | null]>([
    ["a tenth changes", 10, 0, {}, 10],
    ["one more, without a terminal", 11, 0, {}, null],
    ["one more, by a machine that did not answer", 10, 1, {}, null],
    ["one more, and a person says yes", 10, 1, { types: "y" }, 11],
    ["one more, and a person says no", 11, 0, { types: "n" }, null],
  ])("%s → asked above a tenth", async (_, changed, failed, played, mayChange) => {
    trial = trialOf(
      names(changed).map((name) => label(name)),
      names(failed).map((name) => ({ name, reason: "silent" })),
    );
    const { code, stderr } = await rules(["apply", "-f", file(ruleObject("nics"))], played);
    expect(code).toBe(mayChange === null ? 1 : 0);
    expect(stderr.includes(`${changed + failed} of 100 Nodes may change`)).toBe(changed + failed > 10);
    if (mayChange === null) expect(isPut()).toBe(false);
    else expect(bodyOf("PUT /v1/rules")).toMatchObject({ mayChange });
    if (mayChange === null && played.types === undefined) expect(stderr).toMatch(/pass --yes$/m);
  });

  it("--yes → not asked", async () => {
    trial = trialOf(names(30).map((name) => label(name)));
    expect(await rules(["apply", "-f", file(ruleObject("nics")), "--yes"])).toMatchObject({ code: 0 });
    expect(bodyOf("PUT /v1/rules")).toMatchObject({ mayChange: 30 });
  });

  it("without a difference → unchanged, and only the rules are read", async () => {
    const { code, stdout, stderr } = await rules(["apply", "-f", file(ruleObject("gpus"))]);
    const follow = "revision 7: all 100 machines follow; Nodes changed: 2";
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: `gpus unchanged\n${follow}\n`, stderr: "" });
    expect(worker.asked).toHaveLength(1);
  });

  it("without a difference, but its rollout has stopped → 1 with the next step", async () => {
    present = [rulesOf(7, [ruleObject("gpus")], STOPPED)];
    const ended = await rules(["apply", "-f", file(ruleObject("gpus"))]);
    expect(ended).toMatchObject({ code: 1, stderr: expect.stringContaining("rollcall rules continue") });
  });

  it("another operator was faster → run it again", async () => {
    put = { status: 409, body: { title: "T", reason: "conflict", detail: "revision 9" } };
    const { code, stderr } = await rules(["apply", "-f", file(ruleObject("nics"))]);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringMatching(/another operator has changed the rules .*: run the command again\n$/),
    });
  });

  test.each<[situation: string, objects: () => unknown[], says: RegExp]>([
    [
      "65 objects with the present one",
      () => Array.from({ length: 64 }, (_, index) => ruleObject(`o${index}`)),
      /o63 all rules together have more than 64 objects$/m,
    ],
    [
      "257 rules with the present one",
      () => [
        ruleObject(
          "more",
          "x",
          Array.from({ length: 256 }, (_, index) => `r${index}`),
        ),
      ],
      /more all rules together have more than 256 rules$/m,
    ],
    [
      "more than 224 KiB",
      () => [ruleObject("a", "x".repeat(120_000)), ruleObject("b", "x".repeat(120_000))],
      /b all rules together have more than 229376 bytes in a backup$/m,
    ],
    ["a long name", () => [ruleObject("a", "x", ["r".repeat(127)])], /a\/r+ has more than 128 characters$/m],
  ])("%s → 2 with the file, and nothing is tried", async (_, objects, says) => {
    const path = file(...objects());
    const { code, stderr } = await rules(["apply", path]);
    expect(code).toBe(2);
    expect(stderr).toContain(path);
    expect(stderr).toMatch(says);
    expect(worker.asked).toHaveLength(1);
  });

  it.each([
    ["a page without a machine, and a next one", 0],
    ["a page of more machines than a deployment has, and a next one", 1_000_000],
  ])("the trial has %s → 1, and nothing is put", async (_, machines) => {
    const page = { machines, changes: [], failed: [], next: "edge-50" };
    trial = [page, page];
    const ended = await rules(["apply", "-f", file(ruleObject("nics"))]);
    expect(ended).toMatchObject({ code: 1, stderr: expect.stringContaining("trial does not end") });
    expect(worker.asked.map(({ path }) => path)).toEqual(["/v1/rules", "/v1/rules/try"]);
  });

  it("no file → 2", async () => {
    expect(await rules(["apply"])).toMatchObject({ code: 2, stderr: expect.stringMatching(/which rules\?/) });
  });
});

describe("a rollout", () => {
  const apply = (played: Played = {}, ...more: string[]) =>
    rules(["apply", "-f", file(ruleObject("nics")), ...more], played);
  const begins = (...then: RulesAnswer[]) => {
    present = [rulesOf(7, []), ...then];
    put = { body: rulesOf(8, [], RUNNING) };
  };

  it("→ waited for until its end; Ctrl+C would say that it continues", async () => {
    begins(rulesOf(8, [], RUNNING), rulesOf(8, [], { ...DONE, failed: 3, done: 100 }));
    const lines: string[] = [];
    const { code, stdout } = await apply({ whileWaiting: (line) => lines.push(line) });
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout:
        "nics created\nrevision 8: 97 of 100 machines follow; Nodes changed: 2; without an answer, to follow within a day: 3\n",
    });
    expect(lines).toEqual(Array(2).fill("the rollout of revision 8 continues: rollcall rules list shows it"));
  });

  it.each<[where: string, played: Played, progress: string]>([
    ["on a terminal → a line that each second replaces", { columns: 80 }, `\r\u001B[K${STILL}`.repeat(61)],
    ["in a log → a line each minute", {}, `${STILL}\n`],
  ])("that takes 61 seconds, %s", async (_, played, progress) => {
    begins(...Array<RulesAnswer>(60).fill(rulesOf(8, [], RUNNING)), rulesOf(8, []));
    const { stderr } = await apply(played);
    expect(stderr.slice(stderr.indexOf("would change\n") + "would change\n".length)).toBe(
      progress + (played.columns ? "\r\u001B[K" : ""),
    );
  });

  it("that is not waited for → its state", async () => {
    begins();
    const { code, stdout } = await apply({}, "--no-wait");
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: "nics created\nrevision 8: 40 of 100 machines follow; Nodes changed: 1\n",
    });
  });

  test.each<[situation: string, end: RulesAnswer, says: RegExp]>([
    [
      "that stops",
      rulesOf(8, [], STOPPED),
      /stopped, since more than 10 Nodes .* rollcall rules continue, or .* rollcall rules undo$/m,
    ],
    ["that another change replaces", rulesOf(9, []), /revision 9 has replaced revision 8$/m],
  ])("%s → 1 with the next step", async (_, end, says) => {
    begins(end);
    expect(await apply()).toMatchObject({ code: 1, stdout: "", stderr: expect.stringMatching(says) });
  });
});

describe("diff, apply --dry-run and delete --dry-run → nothing is put", () => {
  test.each<[args: () => string[], code: number, first: string]>([
    [() => ["diff", "-f", file(ruleObject("nics"))], 1, "nics would be created"],
    [() => ["diff", "-f", file(ruleObject("gpus", "other"))], 1, "gpus would be configured"],
    [() => ["diff", "-f", file(ruleObject("gpus"))], 0, ""],
    [() => ["apply", "--dry-run", file(ruleObject("gpus", "other"))], 0, "gpus would be configured"],
    [() => ["delete", "--dry-run", "gpus"], 0, "gpus would be deleted"],
    [() => ["diff", "-f", file("no object")], 2, ""],
    [() => ["diff"], 2, ""],
  ])("%j", async (args, code, first) => {
    const ended = await rules(args());
    expect([ended.code, ended.stdout.split("\n")[0]]).toEqual([code, first]);
    expect(isPut()).toBe(false);
  });

  it("diff with a Worker that fails → not 1", async () => {
    present = [];
    expect(await rules(["diff", "-f", file(ruleObject("nics"))])).toMatchObject({ code: 2 });
  });

  it("25 Nodes, one that did not answer → the first 20, and what each change is; -o json has all", async () => {
    const taint = { kind: "taint", key: "gpu:NoSchedule", before: "a", after: "b" };
    const many: RulesTrial["changes"] = [
      { name: "edge-1", changes: [taint], refused: ["label x: the token does not allow it"] },
      { name: "edge-0", changes: [], refused: ["label y: the token does not allow it"] },
      label("edge-2", "true", null),
      ...names(23).map((name) => label(name)),
    ];
    trial = trialOf(many, [{ name: "edge-9", reason: "no answer" }]);
    const path = file(ruleObject("nics"));
    const { stdout } = await rules(["diff", path]);
    expect(stdout.split("\n").slice(1, 5)).toEqual([
      "NODE       CHANGE",
      "edge-1     ~ taint gpu=b:NoSchedule (was a)",
      "edge-1     ! label x: the token does not allow it",
      "edge-2     - label feature.node.kubernetes.io/gpu=true",
    ]);
    expect(stdout.split("\n").slice(-6)).toEqual([
      "edge-117   + label feature.node.kubernetes.io/gpu=true",
      "6 more machines are in -o json",
      "1 of 100 machines did not answer, and their Nodes may change too: edge-9 (no answer)",
      "2 of 100 Nodes would not get all that the rules ask for",
      "25 of 100 Nodes would change",
      "",
    ]);
    trial = trialOf(many);
    const sent = JSON.parse((await rules(["diff", path, "-o", "json"])).stdout) as object;
    expect(sent).toEqual({
      objects: [{ name: "nics", effect: "created" }],
      machines: 100,
      changes: many,
      failed: [],
    });
  });
});

describe("delete", () => {
  it("a present object → put without it", async () => {
    expect(await rules(["delete", "gpus"])).toMatchObject({ code: 0, stdout: /^gpus deleted\n/ });
    expect(bodyOf("PUT /v1/rules")).toEqual({ objects: [], base: 7, mayChange: 10 });
  });

  it("an unknown object → 3", async () => {
    expect(await rules(["delete", "nics"])).toMatchObject({ code: 3 });
  });
});

describe("undo", () => {
  const revisionOf = (revision: number, createdBy: string, backTo: number | null, ...objects: string[]) => ({
    revision,
    createdBy,
    createdAt: `2026-01-0${revision}T00:00:00Z`,
    objects,
    backTo,
  });
  const APPLIED = [revisionOf(7, "bob", null, "gpus")];
  const UNDONE = [revisionOf(7, "bob", 5), revisionOf(6, "alice", null, "gpus", "nics")];

  test.each<
    [
      situation: string,
      revisions: RulesAnswer["revisions"],
      args: string[],
      played: Played,
      sent: object | null,
    ]
  >([
    ["of an applied set", APPLIED, [], {}, { base: 7 }],
    ["to a revision", APPLIED, ["--to", "5"], {}, { base: 7, to: 5 }],
    ["of an undo, without a terminal", UNDONE, [], {}, null],
    ["of an undo, and a person says no", UNDONE, [], { types: "n" }, null],
    ["of an undo, and a person says yes", UNDONE, [], { types: "y" }, { base: 7, to: 6 }],
    ["of an undo, to a stated revision", UNDONE, ["--to", "6"], {}, { base: 7, to: 6 }],
    ["of an undo of the first set", UNDONE.slice(0, 1), [], { types: "y" }, { base: 7, to: 0 }],
  ])("%s → the revision that was read is the base", async (_, revisions, args, played, sent) => {
    present = [{ ...rulesOf(7, []), revisions }, rulesOf(8, [])];
    const { code, stdout } = await rules(["undo", ...args], played);
    const end = "revision 8: all 100 machines follow; Nodes changed: 2\n";
    expect([code, stdout]).toEqual(sent ? [0, end] : [1, ""]);
    expect(bodyOf("POST /v1/rules/undo")).toEqual(sent ?? undefined);
  });

  it("of an undo → who took back what, and the next step", async () => {
    present = [{ ...rulesOf(7, []), revisions: UNDONE }];
    expect((await rules(["undo"])).stderr).toBe(
      "rollcall: revision 7 by bob at 2026-01-07T00:00:00Z, back to revision 5: no rules. " +
        "Another undo brings back revision 6 by alice at 2026-01-06T00:00:00Z: gpus, nics. " +
        "There is no terminal to ask at: pass --to 6 to do that\n",
    );
  });

  it("nothing to go back to → 1 with the Worker's words", async () => {
    put = { status: 409, body: { title: "Conflict", reason: "conflict", detail: "there are no rules" } };
    const ended = await rules(["undo"]);
    expect(ended).toMatchObject({ code: 1, stderr: expect.stringContaining("there are no rules") });
  });
});

describe("continue", () => {
  it("a stopped rollout → the rest is tried and asked about", async () => {
    present = [rulesOf(7, [ruleObject("gpus")], STOPPED)];
    trial = trialOf(names(30).map((name) => label(name)));
    const { code, stderr } = await rules(["continue"], { types: "y" });
    expect(code).toBe(0);
    expect(stderr).toMatch(/30 of 100 Nodes may change/);
    expect(bodyOf("POST /v1/rules/continue")).toEqual({ mayChange: 40 });
  });

  it("a rollout that has not stopped → 1", async () => {
    expect(await rules(["continue", "--yes"])).toMatchObject({ code: 1 });
    expect(worker.asked).toHaveLength(1);
  });
});
