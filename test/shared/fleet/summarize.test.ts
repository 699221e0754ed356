// Tests the summary of a machine, from the data in its node object.
import { describe, expect, it } from "vitest";
import { type KnownMachine, stateOf, SUMMARY_LIMITS, summarize } from "../../../shared/fleet/summarize.ts";

const SINCE_MS = Date.UTC(2026, 0, 1);
const TIME = "2026-01-01T00:00:00Z";
const condition = (type: string, status: string, message = "m") => ({
  type,
  status,
  reason: "R",
  message,
  lastTransitionTime: TIME as never,
});
const READY = condition("Ready", "True");

const known = (more: Partial<KnownMachine> = {}): KnownMachine => ({
  isRevoked: false,
  isLeaving: false,
  phase: "registered",
  isReady: true,
  node: { status: { conditions: [condition("MemoryPressure", "False"), READY] } },
  decided: [],
  facts: undefined,
  skewMs: 0,
  silentSinceMs: null,
  withheld: "",
  address: "",
  process: "",
  transport: "http",
  rules: [],
  key: { thumbprint: "t", token: "token", pinnedAtMs: SINCE_MS, isUsed: true },
  ...more,
});
const summaryOf = (more: Partial<KnownMachine> = {}) => {
  const machine = known(more);
  return summarize(machine, { state: stateOf(machine), sinceMs: SINCE_MS });
};
const statusesOf = (more: Partial<KnownMachine>) =>
  summaryOf(more).conditions.map(({ type, status }) => `${type}=${status}`);

describe("conditions", () => {
  const node = (...conditions: object[]) => ({ status: { conditions } }) as KnownMachine["node"];
  it.each<[string, Partial<KnownMachine>, string[]]>([
    ["of the Node", {}, ["MemoryPressure=False", "Ready=True"]],
    [
      "decided, and not written yet → the decided one",
      { decided: [condition("Ready", "False")] },
      ["MemoryPressure=False", "Ready=False"],
    ],
    [
      "marked by the node controller → Unknown, whatever was decided before",
      { node: node(condition("Ready", "Unknown")), decided: [READY] },
      ["Ready=Unknown"],
    ],
    [
      "marked by the node controller, and not Ready by its report while the cluster is away → as decided",
      {
        node: node(condition("Ready", "Unknown")),
        decided: [condition("Ready", "False")],
        phase: "apiserver refuses",
      },
      ["Ready=False"],
    ],
    [
      "marked by the node controller, and not Ready → as decided",
      {
        node: node(condition("MemoryPressure", "Unknown"), condition("Ready", "Unknown")),
        decided: [condition("MemoryPressure", "True"), READY],
      },
      ["MemoryPressure=True", "Ready=Unknown"],
    ],
    [
      "an operator's, changed on the Node after the decision → as on the Node",
      {
        node: node({
          ...condition("MaintenanceInProgress", "False"),
          lastTransitionTime: "2026-01-01T00:00:01Z",
        }),
        decided: [condition("MaintenanceInProgress", "True")],
      },
      ["MaintenanceInProgress=False"],
    ],
    [
      "an operator's, ordered and not written yet → as ordered",
      {
        node: node(condition("MaintenanceInProgress", "False")),
        decided: [condition("MaintenanceInProgress", "True")],
      },
      ["MaintenanceInProgress=True"],
    ],
    ["without a Node → the decided ones", { node: undefined, decided: [READY] }, ["Ready=True"]],
    [
      "more decided ones → before Ready, which is the last",
      { node: node(READY), decided: [READY, condition("Custom", "True")] },
      ["Custom=True", "Ready=True"],
    ],
    ["without any data → none", { node: undefined }, []],
  ])("%s", (_, more, statuses) => {
    expect(statusesOf(more)).toEqual(statuses);
  });

  it("more and longer ones than the index may have → cut; Ready stays", () => {
    const many = Array.from({ length: SUMMARY_LIMITS.conditions + 1 }, (_, at) =>
      condition(`C${at}`, "True", "m".repeat(600)),
    );
    const { conditions } = summaryOf({ node: node(...many, READY) });
    expect([conditions.length, conditions.at(-1)?.type]).toEqual([SUMMARY_LIMITS.conditions + 1, "Ready"]);
    expect(conditions[0]).toEqual({
      type: "C0",
      status: "True",
      reason: "R",
      message: "m".repeat(SUMMARY_LIMITS.messageLength),
      sinceMs: SINCE_MS,
    });
  });
});

describe("why it is not ready", () => {
  const notReady = {
    isReady: false,
    node: { status: { conditions: [condition("Ready", "False", "no disk")] } },
  };
  const SHORT = condition("MemoryPressure", "True", "short");
  const unknown: Partial<KnownMachine> = {
    isReady: false,
    node: {
      status: {
        conditions: ["MemoryPressure", "Ready"].map((type) => condition(type, "Unknown", "Kubelet")),
      },
    },
  };
  const unused = { phase: null, node: undefined, key: { ...known().key, isUsed: false } };
  it.each<[string, Partial<KnownMachine>, string, RegExp]>([
    ["ready", {}, "ready", /^$/],
    ["not ready → the condition's message", notReady, "not-ready", /^no disk$/],
    [
      "silent → what to check, and what its last report decided, Ready first",
      { decided: [SHORT, condition("Ready", "False", "no disk")], silentSinceMs: 7 },
      "silent",
      /^no report: .*; its last report: Ready is False: no disk; MemoryPressure is True: short$/,
    ],
    [
      "silent, and the node controller has written the Node → only what its last report decided",
      { ...unknown, decided: [SHORT, READY], silentSinceMs: 7 },
      "silent",
      /^no report: .*; its last report: MemoryPressure is True: short$/,
    ],
    [
      "silent, restarted before, and the node controller has written the Node → no quotation",
      { ...unknown, silentSinceMs: 7 },
      "silent",
      /^no report: .* its shim$/,
    ],
    [
      "reporting, and the Node is still Unknown → no word of the node controller",
      { ...unknown, decided: [READY] },
      "not-ready",
      /^Ready is Unknown in the cluster: the next report corrects it$/,
    ],
    [
      "not ready, and without an apiserver → both",
      { phase: "apiserver unreachable", decided: [condition("Ready", "False", "no disk")] },
      "not-ready",
      /^Ready is False: no disk; besides, the apiserver does not answer/,
    ],
    [
      "under pressure, and without an apiserver → both",
      { phase: "apiserver unreachable", decided: [SHORT, READY] },
      "cluster-unreachable",
      /^MemoryPressure is True: short; besides, the apiserver does not answer/,
    ],
    ["silent, and was well → what to check", { silentSinceMs: 7 }, "silent", /its shim$/],
    ["enrolled lately", unused, "not-ready", /not reported yet$/],
    ["enrolled long ago", { ...unused, silentSinceMs: 7 }, "silent", /never reported/],
    ["cloned", { phase: "cloned" }, "blocked", /trust it$/],
    ["without an apiserver", { phase: "apiserver unreachable" }, "cluster-unreachable", /^the apiserver/],
    ["revoked", { isRevoked: true }, "revoked", /forget it/],
    [
      "being removed, while no apiserver answers",
      { isLeaving: true, phase: "apiserver unreachable", silentSinceMs: 7 },
      "revoked",
      /^it is being removed, and the Worker tries again until its Node is deleted: the apiserver does not answer/,
    ],
    [
      "being removed, after a conflict",
      { isLeaving: true, phase: "registered" },
      "revoked",
      /^it is being removed, and the Worker tries again until its Node is deleted$/,
    ],
  ])("%s", (_, more, state, why) => {
    const summary = summaryOf(more);
    expect(summary.state).toBe(state);
    expect(summary.why).toMatch(why);
  });
});

it("problems with long messages → why is cut", () => {
  const decided = Array.from({ length: 3 }, (_, at) => condition(`C${at}`, "True", "m".repeat(400)));
  const { why } = summaryOf({ decided, silentSinceMs: 7 });
  const [, quoted = ""] = why.split("; its last report: ");
  expect(quoted).toHaveLength(SUMMARY_LIMITS.messageLength);
});

it.each<[situation: string, node: KnownMachine["node"], createdMs: number]>([
  ["a Node → when it was created", { metadata: { creationTimestamp: TIME } }, SINCE_MS],
  ["one without that time → 0", { metadata: {} }, 0],
  ["none → 0", undefined, 0],
])("%s", (_, node, createdMs) => {
  expect(summaryOf({ node }).createdMs).toBe(createdMs);
});

it("has the boot ID, and the beginning of the process's digest", () => {
  const facts = { machine: { bootID: "b-1" }, platform: { os: "linux", architecture: "arm64" } } as never;
  expect(summaryOf({ facts }).boot).toBe("b-1");
  expect(summaryOf({}).boot).toBe("");
  expect(summaryOf({ process: "a".repeat(43) }).process).toBe("a".repeat(SUMMARY_LIMITS.process));
});
