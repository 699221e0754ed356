// Tests each step of a report: the machine's answer, the order of the actions, and what is recorded.
import { afterEach, describe, expect, it, vi } from "vitest";
import type { DuplicatePhase } from "../../../shared/node/duplicate-senders.ts";
import type { Report } from "../../../shared/protocol/report.ts";
import { VERSION } from "../../../shared/version.ts";
import { KEY_REVOKED, UNAUTHENTICATED } from "../../../worker/machine/answers.ts";
import type { ReportStep } from "../../../worker/machine/decide-report.ts";
import { duplicateNotice } from "../../../worker/machine/duplicate-senders.ts";
import { ReportExecutor } from "../../../worker/machine/execute-report.ts";
import { RATE_LIMITED } from "../../../worker/machine/fresh-requests.ts";
import type { TickOutcome } from "../../../worker/tick/tick.ts";
import { eventually, setClock, shift } from "../support/clock.ts";
import { keptRecords } from "../support/kept-records.ts";

const NOW_MS = Date.UTC(2026, 0, 31);
const ORIGIN = "https://rollcall.test";
const SENDERS = { turns: [], forks: 0 } as never;
const REGISTERED = { phase: "registered", ready: true } as const;
const FAILS = new Error("evicted");
const BEHIND = "0.0.9";

afterEach(() => {
  vi.restoreAllMocks();
});

interface Situation {
  kept?: Record<string, unknown>;
  report?: Partial<Report>;
  /** true if the registry confirms the key; an error if the registry fails. */
  confirmed?: boolean | Error;
  outcome?: TickOutcome | Error;
  /** The duration of a tick in milliseconds. */
  tickTakes?: number;
  /** The phase of duplicate senders that is known once the tick has run. */
  duplicates?: DuplicatePhase;
  /** true if the last known Node is Ready. */
  isReady?: boolean;
  bounded?: string;
  vitalsCut?: string;
  refused?: { path: string; message: string };
  eventsWait?: boolean;
  shim?: string;
}

function answer<T>(what: T | Error): Promise<T> {
  return what instanceof Error ? Promise.reject(what) : Promise.resolve(what);
}

function executorIn(situation: Situation = {}) {
  const { confirmed = true, outcome = REGISTERED, tickTakes = 0, duplicates, bounded, refused } = situation;
  setClock(NOW_MS);
  vi.spyOn(Math, "random").mockReturnValue(0);
  const stored = keptRecords({ enrolment: { name: "edge-1" }, phase: "registered", ...situation.kept });
  const done: string[] = [];
  const note = (text: string) => void done.push(text);
  const at = (text: string, atMs: number) => note(`${text} +${atMs - NOW_MS}`);
  const alarm = vi.fn((nowMs: number): Promise<void> => Promise.resolve(at("alarm", nowMs)));
  const confirm = vi.fn((origin: string) => {
    note(`confirm ${origin}`);
    return answer(confirmed);
  });
  const state = {
    ...stored,
    outbox: { isEmpty: () => !situation.eventsWait },
    samples: { observe: (_: unknown, nowMs: number) => at("samples", nowMs) },
    facts: {
      take: (_: unknown, __: unknown, nowMs: number) => at("facts", nowMs),
      current: () => situation.shim && { versions: { shim: situation.shim } },
      timing: () => ({ nodeStatusUpdateFrequencyMs: 10_000, nodeLeaseDurationSeconds: 40 }),
      boundsMessage: () => bounded,
      refusal: (digest: string) => refused && { factsRefused: { ...refused, path: digest } },
    },
    senders: {
      update: (_: unknown, nowMs: number) => at("senders", nowMs),
      keep: (nowMs: number) => at("keep senders", nowMs),
      notice: () => duplicates && duplicateNotice(duplicates),
    },
  };
  const upkeep = {
    setAlarm: alarm,
    keepTrue(_: unknown, nowMs: number) {
      at("tick", nowMs);
      shift(tickTakes);
      return answer(outcome);
    },
    noteContact: (nowMs: number) => at("contact", nowMs),
    isReady: () => situation.isReady ?? true,
    giveUpSoon: () => Promise.resolve(note("given up")),
    flush: (name: string) => Promise.resolve(note(`events of ${name || "no name"}`)),
  };
  const requests = { offerTicket: (isLate?: boolean) => (isLate ? "late ticket" : "ticket") };
  const index = { update: (address?: string) => note(`index ${address ?? "without an address"}`) };
  const ruling = { isDue: () => false };
  const parts = [state, requests, { confirm }, upkeep, index, ruling] as unknown[];
  const executor = new ReportExecutor(...(parts as ConstructorParameters<typeof ReportExecutor>));
  const report = {
    startId: "start-1",
    factsDigest: "digest-1",
    machineTime: new Date(NOW_MS).toISOString(),
    vitals: {},
    ...situation.report,
  } as Report;
  const verified = {
    report,
    facts: {} as never,
    vitalsCut: situation.vitalsCut,
    origin: ORIGIN,
    address: "203.0.113.7",
  };
  const execute = (step: ReportStep) => executor.execute(step, verified);
  return { ...stored, execute, done, alarm, confirm };
}

const APPLY = { kind: "apply", senders: SENDERS } as const;
const TAKEN = ["keep senders +0", "facts +0", "samples +0", "alarm +0", "tick +0"];
const APPLIED = ["senders +0", `confirm ${ORIGIN}`, ...TAKEN, "index 203.0.113.7"];
/** The calls that a step makes if it does not apply the report. */
const WITHOUT_TICK = ["keep senders +0", "alarm +0", "events of edge-1"];

/**
 * The fields of the answer for the next report. 9400 is the least result of nextReportInMs for an interval of 10 s.
 */
const NEXT = { reportInMs: 9400, ticket: "ticket" };

describe("a step that changes nothing", () => {
  it.each<[situation: string, ReportStep, answer: object, done: string[]]>([
    ["not enrolled → 401", { kind: "refuse", reason: "unauthenticated" }, UNAUTHENTICATED, []],
    [
      "one too many → 429, and its sender counts",
      { kind: "refuse", reason: "rate-limited", senders: SENDERS },
      RATE_LIMITED,
      ["senders +0"],
    ],
    [
      "a stale ticket → another one",
      { kind: "challenge", reason: "ticket-stale", isLate: false, factsWanted: false, senders: SENDERS },
      { ok: false, error: { reason: "ticket-stale", ticket: "ticket", factsWanted: false } },
      ["senders +0"],
    ],
    [
      "a late one → a ticket for late reports",
      { kind: "challenge", reason: "ticket-stale", isLate: true, factsWanted: true, senders: SENDERS },
      { ok: false, error: { reason: "ticket-stale", ticket: "late ticket", factsWanted: true } },
      ["senders +0"],
    ],
    [
      "facts that are not known → they are asked for",
      { kind: "challenge", reason: "facts-unknown", isLate: false, factsWanted: true, senders: SENDERS },
      { ok: false, error: { reason: "facts-unknown", ticket: "ticket", factsWanted: true } },
      ["senders +0"],
    ],
  ])("%s", async (_, step, expected, done) => {
    const silent = { silentSinceMs: NOW_MS - 60_000 };
    const executed = executorIn({ kept: silent });
    const before = new Map(executed.kept);
    expect(await executed.execute(step)).toEqual(expected);
    expect(executed.done).toEqual(done);
    expect([executed.kept, executed.notes]).toEqual([before, []]);
  });

  it("a repeated request → the same answer", async () => {
    const { execute, done } = executorIn();
    const first = Promise.resolve(RATE_LIMITED);
    expect(execute({ kind: "answer again", answer: first })).toBe(first);
    await first;
    expect(done).toEqual([]);
  });
});

describe("a report that is applied", () => {
  const ACCEPTED = { ...NEXT, ...REGISTERED };
  const TWO_SHIMS = duplicateNotice("two shims");
  const AWAY = { phase: "apiserver unreachable", ready: false } as const;

  it.each<[situation: string, Situation, value: object]>([
    ["→ the phase and the readiness of its tick", {}, ACCEPTED],
    [
      "a tick that sets the next report's time → that one",
      { outcome: { ...REGISTERED, reportInMs: 4000 } },
      { ...ACCEPTED, reportInMs: 4000 },
    ],
    [
      "of one of two shims, the Node is registered → two shims",
      { duplicates: "two shims" },
      { ...ACCEPTED, ...TWO_SHIMS },
    ],
    [
      "of one of two shims, something is wrong with the Node → that",
      { duplicates: "two shims", outcome: { phase: "name taken", ready: false } },
      { ...NEXT, phase: "name taken", ready: false },
    ],
    ["vitals too large → a message", { vitalsCut: "limited" }, { ...ACCEPTED, message: "limited" }],
    ["settings out of bounds → a message", { bounded: "bounded" }, { ...ACCEPTED, message: "bounded" }],
    [
      "a message of the tick's as well → both",
      { bounded: "bounded", outcome: { ...REGISTERED, message: "left out" } },
      { ...ACCEPTED, message: "left out; bounded" },
    ],
    [
      "refused facts → the fault",
      { refused: { path: "", message: "a fault" } },
      { ...ACCEPTED, factsRefused: { path: "digest-1", message: "a fault" } },
    ],
    [
      "a shim that is behind → the Worker's version",
      { shim: BEHIND },
      { ...ACCEPTED, workerVersion: VERSION },
    ],
    ["a shim of the Worker's version → none", { shim: VERSION }, ACCEPTED],
    ["a shim whose version cannot be read → none", { shim: "unknown" }, ACCEPTED],
  ])("%s", async (_, situation, value) => {
    const { execute, done, kept } = executorIn(situation);
    expect(await execute(APPLY)).toEqual({ ok: true, value });
    expect(done).toEqual(APPLIED);
    expect(kept.get("phase")).toBe((value as { phase: string }).phase);
  });

  it("the registry does not confirm the key → revoked, and nothing is stored", async () => {
    const { execute, done, kept } = executorIn({ confirmed: false });
    const before = new Map(kept);
    expect(await execute(APPLY)).toEqual(KEY_REVOKED);
    expect([done, kept]).toEqual([["senders +0", `confirm ${ORIGIN}`, "given up"], before]);
  });

  it("the registry fails → no answer, and nothing is stored", async () => {
    const { execute, done, kept } = executorIn({ confirmed: FAILS });
    const before = new Map(kept);
    await expect(execute(APPLY)).rejects.toBe(FAILS);
    expect([done, kept]).toEqual([["senders +0", `confirm ${ORIGIN}`], before]);
  });

  it("the registry answers late → stored with the time of its answer", async () => {
    const { execute, done, confirm } = executorIn();
    confirm.mockImplementation(() => {
      shift(700);
      return Promise.resolve(true);
    });
    await execute(APPLY);
    expect(done[0]).toBe("senders +0");
    expect(done.slice(1, -1)).toEqual(TAKEN.map((each) => each.replace("+0", "+700")));
  });

  it("→ its sender is stored before the first await", () => {
    const { execute, done } = executorIn();
    void execute(APPLY);
    expect(done).toEqual(["senders +0", `confirm ${ORIGIN}`]);
  });

  it("→ the tick begins without waiting for the alarm, and the answer waits for both", async () => {
    const { execute, done, alarm } = executorIn();
    const set = Promise.withResolvers<void>();
    alarm.mockReturnValueOnce(set.promise);
    let isAnswered = false;
    const answered = execute(APPLY).then(() => (isAnswered = true));
    await eventually(() => expect(done.at(-1)).toBe("index 203.0.113.7"));
    expect([done.includes("tick +0"), isAnswered]).toEqual([true, false]);
    set.resolve();
    expect(await answered).toBe(true);
  });

  it("events are left after the tick → the alarm is set for them", async () => {
    const { execute, done } = executorIn({ eventsWait: true });
    await execute(APPLY);
    expect(done).toEqual([...APPLIED, "alarm +0"]);
  });

  it("the tick fails → no answer, and the phase stays", async () => {
    const { execute, done, kept } = executorIn({ outcome: FAILS });
    await expect(execute(APPLY)).rejects.toBe(FAILS);
    expect(done).toEqual(APPLIED.slice(0, -1));
    expect(kept.get("phase")).toBe("registered");
  });

  it.each<[situation: string, Situation, kept: Record<string, unknown>, notes: string[]]>([
    ["in a steady state → no row", {}, { phase: "registered" }, []],
    [
      "an apiserver that answers nothing → away since it was asked",
      { outcome: AWAY, tickTakes: 3000 },
      { phase: { phase: "apiserver unreachable", sinceMs: NOW_MS } },
      ["apiserver: registered → apiserver unreachable"],
    ],
    [
      "an apiserver that is back → for how long it was away",
      { kept: { phase: { phase: "apiserver unreachable", sinceMs: NOW_MS - 60_000 } }, tickTakes: 3000 },
      { phase: "registered" },
      [
        "apiserver: apiserver unreachable → registered: away from 2026-01-30T23:59:00Z to 2026-01-31T00:00:03Z",
      ],
    ],
    [
      "of a machine that was silent → heard of again, and its processes are compared",
      {
        kept: {
          silentSinceMs: NOW_MS - 600_000,
          facts: { facts: { machine: { bootID: "boot-1" } } },
          process: { startId: "start-0" },
        },
      },
      { silentSinceMs: null },
      ["silence: heard of again after 600 s: the machine kept running for 10 min, its shim was restarted"],
    ],
    [
      "of a machine whose clock is off → so much",
      { report: { machineTime: new Date(NOW_MS + 90_000).toISOString() } },
      { isSkewed: true, skewMs: 90_000 },
      ["clock: the machine's clock is 90 s off"],
    ],
    [
      "of a machine that had no answer → since when",
      { report: { noAnswerSeconds: 55 } },
      { phase: "registered" },
      ["silence: no answer from 2026-01-30T23:59:05Z to 2026-01-31T00:00:00Z"],
    ],
  ])("%s", async (_, situation, changed, notes) => {
    const executed = executorIn(situation);
    await executed.execute(APPLY);
    expect(Object.fromEntries(executed.kept)).toMatchObject(changed);
    expect(executed.notes).toEqual(notes);
  });
});

describe("a report that is not applied", () => {
  const suspended = (phase: DuplicatePhase): ReportStep => ({ kind: "suspend", phase, senders: SENDERS });
  const waits = (untilMs: number): ReportStep => ({ kind: "wait", untilMs, senders: SENDERS });
  const FAILED_SETUP: ReportStep = {
    kind: "record setup failure",
    setupError: "no cgroup",
    senders: SENDERS,
  };
  const CONTACT = ["senders +0", "contact +0"];
  const INDEX = "index without an address";
  const waiting = { ...NEXT, phase: "registering", ready: true, message: expect.stringContaining("certain") };

  it.each<
    [situation: string, ReportStep, Situation, value: object, done: string[], phase: string, notes: string[]]
  >([
    [
      "a clone's → cloned, and not Ready whatever the Node is",
      suspended("cloned"),
      {},
      { ...NEXT, ...duplicateNotice("cloned"), ready: false },
      [...CONTACT, INDEX, "given up", ...WITHOUT_TICK],
      "cloned",
      ["phase: registered → cloned"],
    ],
    [
      "a second shim's → two shims, as Ready as the Node; the trusted one sets the phase",
      suspended("two shims"),
      {},
      { ...NEXT, ...duplicateNotice("two shims"), ready: true },
      [...CONTACT, INDEX, ...WITHOUT_TICK],
      "registered",
      [],
    ],
    [
      "a second shim's, the Node not Ready → not Ready",
      suspended("two shims"),
      { isReady: false },
      { ...NEXT, ...duplicateNotice("two shims"), ready: false },
      [...CONTACT, INDEX, ...WITHOUT_TICK],
      "registered",
      [],
    ],
    [
      "a clone's that was silent → heard of again, and its processes are not compared",
      suspended("cloned"),
      { kept: { phase: "cloned", silentSinceMs: NOW_MS - 60_000, process: { startId: "start-0" } } },
      { ...NEXT, ...duplicateNotice("cloned"), ready: false },
      [...CONTACT, INDEX, ...WITHOUT_TICK],
      "cloned",
      ["silence: heard of again after 60 s"],
    ],
    [
      "facts in doubt → to be repeated once they are not",
      waits(NOW_MS + 1001),
      {},
      { ...waiting, reportInMs: 1001 },
      [...CONTACT, ...WITHOUT_TICK],
      "registered",
      [],
    ],
    [
      "facts in doubt for less than a second → in a second all the same",
      waits(NOW_MS + 999),
      { isReady: false },
      { ...waiting, reportInMs: 1000, ready: false },
      [...CONTACT, ...WITHOUT_TICK],
      "registered",
      [],
    ],
    [
      "a shim that could not set up → an event, and as Ready as the Node",
      FAILED_SETUP,
      {},
      { ...NEXT, phase: "setup failed", ready: true },
      [...CONTACT, INDEX, ...WITHOUT_TICK],
      "setup failed",
      ["KubeletSetupFailed: no cgroup", "phase: registered → setup failed"],
    ],
    [
      "the same where another kubelet has the name → no event on its Node",
      FAILED_SETUP,
      { kept: { registration: { phase: "name taken" }, phase: "name taken" }, isReady: false },
      { ...NEXT, phase: "setup failed", ready: false },
      [...CONTACT, INDEX, ...WITHOUT_TICK],
      "setup failed",
      ["registration: no cgroup", "phase: name taken → setup failed"],
    ],
    [
      "a shim that is behind → the Worker's version",
      suspended("two shims"),
      { shim: BEHIND },
      { ...NEXT, ...duplicateNotice("two shims"), ready: true, workerVersion: VERSION },
      [...CONTACT, INDEX, ...WITHOUT_TICK],
      "registered",
      [],
    ],
    [
      "of a machine that was forgotten meanwhile → events without a name",
      suspended("two shims"),
      { kept: { enrolment: undefined } },
      { ...NEXT, ...duplicateNotice("two shims"), ready: true },
      [...CONTACT, INDEX, ...WITHOUT_TICK.slice(0, -1), "events of no name"],
      "registered",
      [],
    ],
  ])("%s", async (_, step, situation, value, done, phase, notes) => {
    const executed = executorIn(situation);
    expect(await executed.execute(step)).toEqual({ ok: true, value });
    expect([executed.done, executed.notes]).toEqual([done, notes]);
    expect([executed.kept.get("phase"), executed.kept.get("silentSinceMs") ?? null]).toEqual([phase, null]);
  });
});
