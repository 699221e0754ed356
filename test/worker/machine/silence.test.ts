// Tests when a machine counts as silent: by its last report, or by its lease if the node object has no report in
// memory.
import { describe, expect, it, vi } from "vitest";
import type { Phase } from "../../../shared/protocol/answers.ts";
import { failure, success } from "../../../shared/result.ts";
import {
  checkSilence,
  CONTACT_EVERY_MS,
  isOpening,
  keepContact,
  noteOpening,
  SILENCE_CHECK_MS,
} from "../../../worker/machine/silence.ts";
import { keptRecords } from "../support/kept-records.ts";

const NOW_MS = Date.UTC(2026, 0, 1, 12);
const LEASE_MS = 40_000;
const REGISTERED = { registration: { phase: "registered" }, phase: "registered" };
const REGISTERING = { registration: { phase: "registered" }, phase: "registering" };
const AWAY = { registration: { phase: "registered" }, phase: "apiserver unreachable" };
const LATER = NOW_MS + SILENCE_CHECK_MS;

/**
 * Checks a machine for silence. `reportMs`, `renewedMs`, `unusedMs`: milliseconds since the last report, the
 * lease's renewal, and the enrolment of a machine without a report. `renewedMs` is null if the lease has no time,
 * "fails" if the lease cannot be read, "gone" if it does not exist.
 */
async function checked(
  before: object,
  {
    reportMs,
    renewedMs,
    unusedMs,
    heartbeatMs,
    leaseDurationMs = LEASE_MS,
  }: {
    reportMs?: number;
    /** Milliseconds since the last heartbeat on the Node; absent if the Node is gone. */
    heartbeatMs?: number | "fails";
    renewedMs?: number | null | "fails" | "gone";
    unusedMs?: number;
    leaseDurationMs?: number;
  },
) {
  const state = keptRecords(before as Record<string, unknown>);
  const renewTime = (agoMs: number) => new Date(NOW_MS - agoMs).toISOString().replace("Z", "000Z");
  const spec = typeof renewedMs === "number" ? { renewTime: renewTime(renewedMs) } : {};
  const notFound = { kind: "status", status: { code: 404, reason: "NotFound" } };
  const answers = { fails: failure({}), gone: failure(notFound) };
  const answer = typeof renewedMs === "string" ? answers[renewedMs] : success({ spec });
  const getLease = vi.fn(() => Promise.resolve(answer));
  const nodeOf = (agoMs: number) => {
    const lastHeartbeatTime = new Date(NOW_MS - agoMs).toISOString().replace(/\.\d+/, "");
    return { status: { conditions: [{ type: "Ready", lastHeartbeatTime }] } };
  };
  const { gone, fails } = answers;
  const nodeAnswers = { undefined: gone, fails };
  const getNode = () =>
    Promise.resolve(
      typeof heartbeatMs === "number" ? success(nodeOf(heartbeatMs)) : nodeAnswers[`${heartbeatMs}`],
    );
  const again = await checkSilence(state, {
    name: "edge-1",
    leaseDurationMs,
    everyMs: SILENCE_CHECK_MS,
    lastReportMs: reportMs === undefined ? undefined : NOW_MS - reportMs,
    unusedSinceMs: unusedMs === undefined ? null : NOW_MS - unusedMs,
    client: { getLease, getNode } as never,
    nowMs: NOW_MS,
  });
  const { kept, notes } = state;
  const [silentSinceMs, backSinceMs] = [kept.get("silentSinceMs"), kept.get("apiserverBackSinceMs")];
  return { again, silentSinceMs, backSinceMs, noted: notes.length, asked: getLease.mock.calls.length };
}

const silentSince = (agoMs: number) => ({ again: null, silentSinceMs: NOW_MS - agoMs, noted: 1 });
const IN_CONTACT = { again: LATER, silentSinceMs: undefined, noted: 0 };
/** In contact, but late: the next check is at the end of the contact, `leftMs` from now. */
const lateFor = (leftMs: number) => ({ ...IN_CONTACT, again: NOW_MS + leftMs + 1 });

describe("by the last report", () => {
  it.each([
    ["as old as half the lease → in contact", LEASE_MS / 2, IN_CONTACT],
    ["older → late, and checked at the end of the contact", LEASE_MS / 2 + 1, lateFor(LEASE_MS / 2 - 1)],
    ["as old as the lease lasts → late", LEASE_MS, lateFor(0)],
    ["older → silent since then", LEASE_MS + 1, silentSince(LEASE_MS + 1)],
  ])("%s, without a request", async (_, reportMs, expected) => {
    expect(await checked(REGISTERED, { reportMs })).toMatchObject({ ...expected, asked: 0 });
  });
});

describe("by the lease", () => {
  it.each([
    ["as old as it lasts → in contact", REGISTERED, LEASE_MS, lateFor(0)],
    [
      "older, and the shim has restarted without a registration → the same",
      REGISTERING,
      LEASE_MS + 1,
      silentSince(LEASE_MS + 1),
    ],
    ["older → silent since then", REGISTERED, LEASE_MS + 1, silentSince(LEASE_MS + 1)],
    ["that was never renewed → silent since ever", REGISTERED, null, { again: null, silentSinceMs: 0 }],
    [
      "that cannot be read → asked again after a lease's duration",
      REGISTERED,
      "fails",
      { again: NOW_MS + LEASE_MS, noted: 0, backSinceMs: undefined },
    ],
    [
      "that is gone with its Node → asked again when a lease would have ended",
      REGISTERED,
      "gone",
      { again: NOW_MS + LEASE_MS, noted: 0, backSinceMs: NOW_MS },
    ],
    [
      "that has been gone for a moment less than a lease → the same",
      { ...REGISTERED, apiserverBackSinceMs: NOW_MS - LEASE_MS + 1 },
      "gone",
      { again: NOW_MS + 1, noted: 0 },
    ],
    [
      "that has been gone for a lease, and nobody has reported → silent since then",
      { ...REGISTERED, apiserverBackSinceMs: NOW_MS - LEASE_MS },
      "gone",
      silentSince(LEASE_MS),
    ],
    ["in time, of an apiserver that was away → in contact", AWAY, LEASE_MS, lateFor(0)],
    [
      "too old, of an apiserver that was away until now → asked again when a lease would have ended",
      AWAY,
      LEASE_MS + 1,
      { again: NOW_MS + LEASE_MS, noted: 0, backSinceMs: NOW_MS },
    ],
    [
      "too old, of an apiserver that came back lately → the same, since it came back",
      { ...AWAY, apiserverBackSinceMs: NOW_MS - LEASE_MS + 1 },
      LEASE_MS + 1,
      { again: NOW_MS + 1, noted: 0, backSinceMs: NOW_MS - LEASE_MS + 1 },
    ],
    [
      "too old, of an apiserver that has been back for a lease → silent",
      { ...AWAY, apiserverBackSinceMs: NOW_MS - LEASE_MS },
      LEASE_MS + 1,
      silentSince(LEASE_MS + 1),
    ],
    [
      "too old, and a later report did not renew it → silent since that report",
      { ...AWAY, apiserverBackSinceMs: NOW_MS - LEASE_MS, contact: { lastMs: NOW_MS - 10 * LEASE_MS } },
      20 * LEASE_MS,
      silentSince(10 * LEASE_MS),
    ],
  ] as const)("%s", async (_, before, renewedMs, expected) => {
    expect(await checked(before, { renewedMs })).toMatchObject({ ...expected, asked: 1 });
  });
});

const WAITS_FOR_NODE = { again: NOW_MS + LEASE_MS, noted: 0, silentSinceMs: undefined };

describe("by the Node, because a report that writes the whole status does not renew the lease", () => {
  it.each([
    ["a heartbeat in the second that is as old as a lease lasts → in contact", LEASE_MS, lateFor(999)],
    ["older → silent since the end of that second", LEASE_MS + 1000, silentSince(LEASE_MS + 1)],
    ["older than the lease → silent since the lease's renewal", 60_000, silentSince(50_000)],
    ["a Node that cannot be read → asked again after a lease's duration", "fails", WAITS_FOR_NODE],
  ] as const)("%s", async (_, heartbeatMs, expected) => {
    expect(await checked(REGISTERED, { renewedMs: 50_000, heartbeatMs })).toMatchObject(expected);
  });
});

const WAITS = { again: NOW_MS + LEASE_MS, noted: 0, backSinceMs: NOW_MS, asked: 0 };

describe("where no lease decides", () => {
  it.each([
    [
      "a blocked machine, its object awake → by its last report",
      "name taken",
      { reportMs: LEASE_MS + 1 },
      silentSince(LEASE_MS + 1),
    ],
    ["one that reports → in contact", "name taken", { reportMs: LEASE_MS }, { ...lateFor(0), asked: 0 }],
    ["its object evicted → a report is waited for", "name taken", {}, WAITS],
    ["the Node deleted → the same", "node deleted", {}, WAITS],
  ] as const)("%s", async (_, phase, last, expected) => {
    expect(await checked({ registration: { phase }, phase }, last)).toMatchObject({ ...expected, asked: 0 });
  });

  it.each([
    ["clones", "cloned"],
    ["a shim that cannot start", "setup failed"],
  ])("%s, whose lease is not renewed although it reports → a report is waited for", async (_, phase) => {
    expect(await checked({ ...REGISTERED, phase }, {})).toMatchObject(WAITS);
    const waited = { ...REGISTERED, phase, apiserverBackSinceMs: NOW_MS - LEASE_MS };
    expect(await checked(waited, {})).toMatchObject({ ...silentSince(LEASE_MS), asked: 0 });
  });

  it.each([
    ["less than a lease ago → in contact", LEASE_MS, IN_CONTACT],
    ["longer ago → silent since then", LEASE_MS + 1, silentSince(LEASE_MS + 1)],
  ])("enrolled and never reported, %s", async (_, unusedMs, expected) => {
    // The record of a registration is from the machine that had the name before.
    expect(await checked(REGISTERED, { unusedMs })).toMatchObject({ ...expected, asked: 0 });
  });
});

it.each([
  ["of five minutes → asked again then", SILENCE_CHECK_MS],
  ["that is longer → asked again after five minutes", SILENCE_CHECK_MS + 1],
])("a lease that cannot be read, with a duration %s", async (_, leaseDurationMs) => {
  expect(await checked(REGISTERED, { renewedMs: "fails", leaseDurationMs })).toMatchObject({ again: LATER });
});

describe("while the apiserver is away", () => {
  it.each([
    [
      "and does not answer → nobody is silent",
      AWAY,
      { reportMs: LEASE_MS + 1, renewedMs: "fails" },
      { again: NOW_MS + LEASE_MS, noted: 0, asked: 1 },
    ],
    [
      "and answers → a report is waited for",
      AWAY,
      { reportMs: LEASE_MS + 1, renewedMs: LEASE_MS + 1 },
      { again: NOW_MS + LEASE_MS, noted: 0, asked: 1 },
    ],
    [
      "and has answered for a lease → silent since the last report",
      { ...AWAY, apiserverBackSinceMs: NOW_MS - LEASE_MS },
      { reportMs: LEASE_MS + 1, renewedMs: LEASE_MS + 2 },
      { ...silentSince(LEASE_MS + 1), asked: 1 },
    ],
    [
      "of a machine that has no Node → the same: it is asked for a lease that is not there",
      { phase: "apiserver refuses" },
      { renewedMs: "gone" },
      { ...WAITS, asked: 1 },
    ],
  ] as const)("%s", async (_, before, last, expected) => {
    expect(await checked(before, last)).toMatchObject(expected);
  });
});

describe("a machine", () => {
  it("that is already silent → not checked", async () => {
    const before = { ...REGISTERED, silentSinceMs: 7 };
    expect(await checked(before, { reportMs: LEASE_MS + 1 })).toMatchObject({
      again: null,
      noted: 0,
      asked: 0,
    });
  });

  it.each([
    ["nothing", undefined, "it never said anything"],
    ["that all was well", [{ type: "DiskPressure", status: "False" }], "it never said anything"],
    [
      "what was wrong",
      [
        { type: "DiskPressure", status: "False", message: "enough" },
        { type: "MemoryPressure", status: "True", message: "little" },
        { type: "Ready", status: "False" },
      ],
      "MemoryPressure True: little; Ready False: ",
    ],
  ])("that said last %s → its history has it", async (_, decided, said) => {
    const state = keptRecords({ ...REGISTERED, decided });
    const lastReportMs = NOW_MS - LEASE_MS - 1;
    const check = {
      name: "edge-1",
      leaseDurationMs: LEASE_MS,
      everyMs: SILENCE_CHECK_MS,
      lastReportMs,
      unusedSinceMs: null,
      client: {} as never,
      nowMs: NOW_MS,
    };
    await checkSilence(state, check);
    const since = new Date(lastReportMs).toISOString();
    expect(state.notes).toEqual([`silence: silent since ${since}; last said: ${said}`]);
  });
});

describe("a machine that opens a socket", () => {
  const untilMs = (kept: Map<string, unknown>) => (kept.get("opening") as { untilMs: number }).untilMs;

  it.each([
    ["for the first time → two leases", undefined, 2 * LEASE_MS],
    ["again, with a lease and a half left → no row", NOW_MS + 1.5 * LEASE_MS, 1.5 * LEASE_MS],
    ["again, with less left → two leases", NOW_MS + 1.5 * LEASE_MS - 1, 2 * LEASE_MS],
    ["by a clock that was put back → two leases", NOW_MS + 2 * LEASE_MS + 1, 2 * LEASE_MS],
  ])("%s", (_, before, leftMs) => {
    const { records, kept } = keptRecords(before === undefined ? {} : { opening: { untilMs: before } });
    noteOpening(records, LEASE_MS, NOW_MS);
    expect(untilMs(kept) - NOW_MS).toBe(leftMs);
    expect(isOpening(records, NOW_MS + leftMs - 1)).toBe(true);
    expect(isOpening(records, NOW_MS + leftMs)).toBe(false);
  });
});

describe("the time of an applied report", () => {
  /** Returns the stored time after this report. `keptMs`: the age of the time that was stored before. */
  function stored(
    phase: Phase,
    { isRenewed = false, keptMs, records = REGISTERED }: Keeping,
  ): number | undefined {
    const { kept, records: store } = keptRecords({
      ...records,
      ...(keptMs !== undefined && { contact: { lastMs: NOW_MS - keptMs } }),
    });
    keepContact(store, phase, { reportMs: NOW_MS, renewedMs: isRenewed ? NOW_MS : NOW_MS - LEASE_MS });
    const contact = kept.get("contact") as { lastMs: number } | undefined;
    return contact && NOW_MS - contact.lastMs;
  }
  interface Keeping {
    isRenewed?: boolean;
    keptMs?: number;
    records?: object;
  }

  it.each<[situation: string, phase: Phase, keeping: Keeping, agoMs: number | undefined]>([
    [
      "that renewed the lease → not stored, and no earlier one",
      "registered",
      { isRenewed: true, keptMs: 1 },
      undefined,
    ],
    ["that did not, because its requests are used up → stored", "registered", { keptMs: 1 }, 0],
    ["that did not, as the apiserver is away → stored", "apiserver refuses", {}, 0],
    [
      "again, less than 30 s later → the earlier one stays",
      "apiserver unreachable",
      { keptMs: 29_999 },
      29_999,
    ],
    ["again, 30 s later → stored", "apiserver unreachable", { keptMs: CONTACT_EVERY_MS }, 0],
    [
      "again, before a clock that was put back → stored",
      "apiserver unreachable",
      { keptMs: -CONTACT_EVERY_MS },
      0,
    ],
    [
      "of a machine without a Node → not stored",
      "name taken",
      { records: { registration: { phase: "name taken" } } },
      undefined,
    ],
  ])("%s", (_, phase, keeping, agoMs) => {
    expect(stored(phase, keeping)).toBe(agoMs);
  });
});
