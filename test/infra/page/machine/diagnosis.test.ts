// Tests the diagnosis of a machine in each state, phase and condition: one sentence, and the remedy.
import { describe, expect, it, test } from "vitest";
import { diagnose, type MachineDiagnosis } from "../../../../infra/page/machine/diagnosis.ts";
import { type MachineNeighbours, neighboursOf } from "../../../../infra/page/machine/neighbours.ts";
import {
  PHASE_EXPLANATIONS,
  REMOVAL_EXPLANATION,
  STATE_EXPLANATIONS,
} from "../../../../shared/fleet/explanations.ts";
import { BEING_REMOVED } from "../../../../shared/fleet/unready.ts";
import { FLEET_STATES, fleetStateOf } from "../../../../shared/fleet/state.ts";
import { FACTS_ONLY_TAINT } from "../../../../shared/node/ownership.ts";
import { PHASES } from "../../../../shared/protocol/answers.ts";
import type { WholeNode } from "../../../../shared/protocol/operator-answers.ts";
import { diagnosisInput, feedMachine, knownMachine } from "./made-up-machine.ts";

type Live = NonNullable<Parameters<typeof feedMachine>[0]>;
type Said = Partial<Omit<MachineDiagnosis, "sentence" | "todo">> & {
  sentence: string | RegExp;
  todo?: string | RegExp;
};

function expectSaid(found: MachineDiagnosis | null, { sentence, todo, ...rest }: Said) {
  expect(found).toMatchObject(rest);
  for (const [said, wanted] of [
    [found?.sentence, sentence],
    [found?.todo, todo],
  ])
    if (typeof wanted === "string") expect(said).toBe(wanted);
    else if (wanted !== undefined) expect(said).toMatch(wanted);
}

const neighbours = (others: number, silent: number): MachineNeighbours => ({
  network: "203.0.113.7",
  others,
  silent,
  outage: null,
});
const OUTAGE = {
  id: 3,
  network: "203.0.113.7",
  startedAt: "",
  endedAt: null,
  machines: 4,
  silent: 4,
  names: [],
  was: "",
};
const notReady = (message: string, status = "False"): Partial<WholeNode> => ({
  isReady: false,
  conditions: [{ type: "Ready", status, message }],
});

describe("by the machine's state", () => {
  test.each<[situation: string, live: Live, whole: Partial<WholeNode>, said: Said]>([
    [
      "ready",
      {},
      {},
      { severity: "good", sentence: "Ready; nothing to do.", todo: "", acts: [], warnings: [] },
    ],
    [
      "revoked",
      { state: "revoked" },
      {},
      { severity: "off", sentence: STATE_EXPLANATIONS.revoked.means, acts: ["forget"] },
    ],
    [
      "being removed: a second removal would change nothing",
      { state: "revoked", why: `${BEING_REMOVED}: the apiserver does not answer` },
      {},
      {
        severity: "off",
        sentence: /^It is being removed.*: the apiserver does not answer\.$/,
        todo: REMOVAL_EXPLANATION.todo,
        acts: [],
      },
    ],
    [
      "the apiserver does not answer",
      { state: "cluster-unreachable", phase: "apiserver unreachable" },
      {},
      {
        severity: "warning",
        sentence: /^Nothing is wrong with this machine, it is the cluster: the Worker cannot reach/,
        link: "deployment",
        todo: PHASE_EXPLANATIONS["apiserver unreachable"].todo,
        details: [{ name: "Its lease lasts until", at: "2026-01-01T12:00:35.000Z" }],
      },
    ],
    [
      "the apiserver does not answer, and the machine is not ready",
      { state: "not-ready", phase: "apiserver unreachable", conditions: { Ready: "False" } },
      { conditions: [{ type: "Ready", status: "False", message: "container runtime is down" }] },
      {
        severity: "bad",
        sentence: /^Not Ready: container runtime is down\. The cluster: the Worker cannot reach/,
        todo: /systemctl status containerd.* For the cluster: `rollcall status`/,
        acts: ["runtime-none"],
        link: "deployment",
      },
    ],
    [
      "the apiserver does not answer, and the machine is under pressure",
      {
        state: "cluster-unreachable",
        phase: "apiserver unreachable",
        conditions: { MemoryPressure: "True" },
      },
      { conditions: [{ type: "MemoryPressure", status: "True", message: "low" }] },
      { severity: "warning", sentence: /^The cluster: the Worker cannot reach/ },
    ],
    [
      "the cluster, in a phase of a newer Worker",
      { state: "cluster-unreachable", phase: "apiserver asleep" },
      {},
      { sentence: /it is the cluster: the machine reports that it is ready, but the Worker cannot write/ },
    ],
    [
      "cloned",
      { state: "blocked", phase: "cloned" },
      {},
      { severity: "warning", sentence: PHASE_EXPLANATIONS.cloned.means, acts: ["believe"], link: "clones" },
    ],
    ["two shims", { state: "blocked", phase: "two shims" }, {}, { sentence: /Two shims/, acts: ["believe"] }],
    [
      "its Node was deleted",
      { state: "blocked", phase: "node deleted" },
      {},
      { sentence: /^The Node was deleted/, acts: ["register", "forget"] },
    ],
    [
      "facts refused, and it is known which",
      { state: "blocked", phase: "facts refused" },
      { factsRefused: { path: "/machine/cores", message: "too small" } },
      {
        sentence: PHASE_EXPLANATIONS["facts refused"].means,
        details: [{ name: "Refused", text: "/machine/cores: too small" }],
        warnings: [],
      },
    ],
    [
      "facts refused, and it is not known which",
      { state: "blocked", phase: "facts refused" },
      {},
      { sentence: /not valid/, details: [] },
    ],
    [
      "blocked in a phase of a newer Worker → the index's words",
      { state: "blocked", phase: "resting", why: "it rests" },
      {},
      { sentence: "it rests", todo: STATE_EXPLANATIONS.blocked.todo, acts: [] },
    ],
    [
      "enrolled, never reported",
      { state: "not-ready", phase: null, isUsed: false },
      { phase: null },
      { severity: "warning", sentence: "It has enrolled and not reported yet.", todo: /node-shim status/ },
    ],
    [
      "registering",
      { state: "not-ready", phase: "registering" },
      {},
      { severity: "warning", sentence: PHASE_EXPLANATIONS.registering.means, link: "history" },
    ],
    [
      "the shim cannot be set up, and its event says why",
      { state: "not-ready", phase: "setup failed" },
      {
        events: [
          {
            type: "Warning",
            reason: "KubeletSetupFailed",
            message: "no cgroups",
            count: 1,
            firstAt: "",
            lastAt: "",
            state: "sent",
          },
        ],
      },
      {
        sentence: PHASE_EXPLANATIONS["setup failed"].means,
        details: [{ name: "Its message", text: "no cgroups" }],
      },
    ],
    [
      "the shim cannot be set up, of an earlier Worker",
      { state: "not-ready", phase: "setup failed" },
      {},
      { details: [], sentence: /ended/ },
    ],
    [
      "a newer Worker's phase",
      { state: "not-ready", phase: "warming", why: "it warms up" },
      {},
      { sentence: "it warms up" },
    ],
    [
      "a newer Worker's state",
      { state: "asleep", why: "it sleeps" },
      notReady("it sleeps"),
      { state: "asleep", sentence: "Not Ready: it sleeps." },
    ],
    [
      "Ready is False",
      { state: "not-ready" },
      notReady("CSI driver missing"),
      {
        severity: "bad",
        sentence: "Not Ready: CSI driver missing.",
        todo: /node-shim doctor/,
        acts: [],
        isConditionWrong: true,
      },
    ],
    [
      "Ready is Unknown",
      { state: "not-ready" },
      notReady("stopped posting", "Unknown"),
      { sentence: "Not Ready (Unknown): stopped posting." },
    ],
    [
      "Ready is False, and only the index says why",
      { state: "not-ready", why: "the disk" },
      notReady(""),
      { sentence: "Not Ready: the disk." },
    ],
    ["nobody says why", { state: "not-ready" }, notReady(""), { sentence: "Not Ready: without a message." }],
    [
      "no condition at all",
      { state: "not-ready", why: "no Node" },
      { conditions: [] },
      { sentence: "no Node.", link: "history" },
    ],
    [
      "the container runtime is gone",
      { state: "not-ready" },
      {
        ...notReady("container runtime is down"),
        vitals: { errors: { runtime: ["no socket"], network: ["no CNI"] } },
      },
      {
        sentence: "Not Ready: container runtime is down.",
        todo: /`systemctl status containerd`/,
        acts: ["runtime-none"],
        details: [
          { name: "Runtime", text: "no socket" },
          { name: "Network", text: "no CNI" },
        ],
      },
    ],
    [
      "a source reports the message of the condition → no detail repeats it",
      { state: "not-ready" },
      {
        ...notReady("container runtime is down"),
        vitals: { errors: { runtime: ["container runtime is down"] } },
      },
      { sentence: "Not Ready: container runtime is down.", acts: ["runtime-none"], details: [] },
    ],
    [
      "the container runtime is gone, which is known to be so",
      { state: "not-ready" },
      { ...notReady("container runtime is down"), runtime: "none" },
      { acts: [], sentence: /runtime/ },
    ],
    [
      "it is shutting down",
      { state: "not-ready" },
      { ...notReady("node is shutting down"), vitals: { shuttingDown: true } },
      { severity: "warning", sentence: "The machine is shutting down: node is shutting down." },
    ],
    [
      "pending",
      { state: "pending" },
      {},
      { severity: "warning", link: "approvals", sentence: STATE_EXPLANATIONS.pending.means },
    ],
  ])("%s", (_, live, whole, said) => {
    expectSaid(diagnose(diagnosisInput({ live: feedMachine(live), whole: knownMachine(whole) })), said);
  });
});

describe("silent", () => {
  const live = feedMachine({ state: "silent", silentSinceMs: 5000 });
  test.each<[situation: string, neighbours: MachineNeighbours | null, said: Said]>([
    [
      "nobody beside it",
      neighbours(0, 0),
      { sentence: /no other machine reports from its address/, link: null },
    ],
    ["nobody knows from where it reports", null, { sentence: /no other machine/, todo: /node-shim status/ }],
    [
      "the other one reports",
      neighbours(1, 0),
      { sentence: "Not reporting, while the other machine behind 203.0.113.7 reports: check this machine." },
    ],
    [
      "all others report",
      neighbours(11, 0),
      {
        sentence: "Not reporting, while all 11 other machines behind 203.0.113.7 report: check this machine.",
      },
    ],
    [
      "some are silent too",
      neighbours(11, 3),
      {
        sentence: "Not reporting, like 3 of 11 other machines behind 203.0.113.7.",
        todo: /node-shim status/,
      },
    ],
    [
      "the other one is silent too",
      neighbours(1, 1),
      {
        sentence: /^Not reporting, and neither is the other machine .*power or network/,
        todo: /power or network/,
      },
    ],
    [
      "all are silent, in an outage",
      { ...neighbours(3, 3), outage: OUTAGE },
      {
        sentence: /^Not reporting, and neither are all 3 other machines/,
        todo: /power or network/,
        link: "outage",
      },
    ],
  ])("%s", (_, beside, said) => {
    expectSaid(diagnose(diagnosisInput({ live, neighbours: beside })), { severity: "bad", ...said });
  });

  it("what it said last, and when", () => {
    const whole = knownMachine({
      conditions: [{ type: "MemoryPressure", status: "True", message: "short" }],
    });
    const said = diagnose(diagnosisInput({ live, whole }));
    expect(said?.details).toEqual([
      { name: "Last report", at: whole.lastReportAt },
      { name: "Last reported", text: "MemoryPressure is True: short" },
      expect.objectContaining({ name: "Its Node" }),
    ]);
    expect(said?.warnings).toEqual([]);
    expect(diagnose(diagnosisInput({ live }))?.details[1]?.text).toBe("no problem");
    const byFeedAlone = diagnose(diagnosisInput({ live, whole: null }));
    expect(byFeedAlone?.details.map(({ name }) => name)).not.toContain("Last reported");
    const conditions = { MemoryPressure: "True", Ready: "Unknown" };
    const byFeed = diagnose(diagnosisInput({ live: { ...live, conditions }, whole: null }));
    expect(byFeed?.details.find(({ name }) => name === "Last reported")?.text).toBe("MemoryPressure is True");
  });

  it.each([
    ["no Node is known", null, "becomes Unknown"],
    ["the Node has the facts-only taint", { taints: [FACTS_ONLY_TAINT] }, "becomes Unknown"],
    [
      "the Node runs pods",
      { taints: [] },
      "becomes Unknown; the cluster evicts its pods once their tolerations run out",
    ],
  ])("%s → what becomes of its Node", (_, spec, text) => {
    const whole = knownMachine({ node: spec && { spec } });
    expect(diagnose(diagnosisInput({ live, whole }))?.details.at(-1)).toEqual({ name: "Its Node", text });
  });

  it("enrolled, and never reported", () => {
    const never = feedMachine({ state: "silent", isUsed: false });
    expect(diagnose(diagnosisInput({ live: never }))).toMatchObject({
      sentence: "It has enrolled and never reported.",
      warnings: [],
    });
  });
});

describe("by the one of feed and object that knows", () => {
  it("neither → nothing is said", () => {
    expect(diagnose(diagnosisInput({ live: null, whole: null }))).toBe(null);
  });

  it("the feed alone → its words", () => {
    const live = feedMachine({ state: "not-ready", why: "no network", conditions: { Ready: "False" } });
    expect(diagnose(diagnosisInput({ live, whole: null }))?.sentence).toBe("Not Ready: no network.");
  });

  test.each<[whole: Partial<WholeNode>, state: string]>([
    [{}, "ready"],
    [{ isReady: false }, "not-ready"],
    [{ phase: "cloned" }, "blocked"],
    [{ silentSince: "2026-01-01T11:50:00Z" }, "silent"],
    [{ key: { ...knownMachine().key, isRefused: true } }, "revoked"],
  ])("the object alone, before the index was told: %o → %s", (whole, state) => {
    expect(diagnose(diagnosisInput({ live: null, whole: knownMachine(whole) }))?.state).toBe(state);
  });

  it("the feed is ahead of the object", () => {
    const live = feedMachine({ state: "blocked", phase: "two shims" });
    expect(diagnose(diagnosisInput({ live }))).toMatchObject({ state: "blocked", acts: ["believe"] });
  });
});

describe("a sentence, and something to do where it is not ready", () => {
  const said = (state: string, phase: string | null) => {
    const isReady = state === "ready";
    const live = feedMachine({ state, phase, conditions: { Ready: isReady ? "True" : "False" } });
    return diagnose(diagnosisInput({ live, whole: knownMachine({ phase, isReady }) }));
  };
  const silence = { isRevoked: false, isSilent: false, isReady: false, hasFault: false };

  test.each([...PHASES, null])("phase %s", (phase) => {
    const found = said(fleetStateOf({ ...silence, phase }), phase);
    expect(found?.sentence).toMatch(/^[A-Z].*[.!?]$/);
    expect(found?.todo).not.toBe("");
  });

  test.each(FLEET_STATES.filter((state) => state !== "ready"))("state %s, in whatever phase", (state) => {
    for (const phase of [...PHASES, null]) {
      const found = said(state, phase);
      expect(found?.sentence).toMatch(/^[A-Z].*[.!?]$/);
      expect(found?.severity).not.toBe("good");
    }
  });
});

it.each([
  [1, "Ready, with one warning."],
  [3, "Ready, with 3 warnings."],
])("ready, and %d warnings → %s", (waiting, sentence) => {
  const live = feedMachine(
    waiting === 1 ? { skewMs: 90_000 } : { skewMs: 90_000, isUnschedulable: true, withheld: "x" },
  );
  expect(diagnose(diagnosisInput({ live }))).toMatchObject({ sentence, severity: "warning" });
});

const outage = (id: number, network: string, endedAt: string | null = null) => ({
  id,
  network,
  startedAt: "",
  endedAt,
  machines: 2,
  silent: 2,
  names: [],
  was: "",
});
const at = (address: string, ...states: string[]) =>
  states.map((state, index) => feedMachine({ name: `${address} ${index}`, address, state }));

test.each([
  [
    "nobody else",
    "203.0.113.7",
    at("203.0.113.8", "silent"),
    { network: "203.0.113.7", others: 0, silent: 0 },
  ],
  [
    "two, of which one is silent",
    "203.0.113.7",
    at("203.0.113.7", "ready", "silent"),
    { others: 2, silent: 1 },
  ],
  [
    "IPv6: the first 64 bits count",
    "2001:db8::1",
    at("2001:db8::2", "silent"),
    { network: "2001:db8::/64", others: 1, silent: 1 },
  ],
  ["nobody knows from where", "", at("", "silent"), { network: "", others: 0, outage: null }],
])("%s", (_, address, others, wanted) => {
  const machine = feedMachine({ address, state: "silent" });
  expect(neighboursOf(machine, [machine, ...others], [])).toMatchObject(wanted);
});

test.each([
  ["none", [], null],
  ["over by now", [outage(1, "203.0.113.7", "x")], null],
  ["another network's", [outage(1, "203.0.113.8")], null],
  ["the latest open one", [outage(1, "203.0.113.7"), outage(4, "203.0.113.7"), outage(2, "203.0.113.7")], 4],
])("its outage: %s", (_, outages, id) => {
  expect(neighboursOf(feedMachine(), [], outages).outage?.id ?? null).toBe(id);
});
