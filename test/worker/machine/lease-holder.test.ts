// Tests the loan of a machine's lease, and each way in which the loan ends. Checks the calls to the gateway, the result
// for the upkeep, the stored records, and the alarm.
import { describe, expect, it } from "vitest";
import { GATEWAY_LIMITS } from "../../../shared/protocol/limits.ts";
import type { Report } from "../../../shared/protocol/report.ts";
import { Lending, type LendingDependencies } from "../../../worker/machine/lease-holder.ts";
import type { ReturnedLoan } from "../../../worker/machine/lease-loan.ts";
import { keptRecords } from "../support/kept-records.ts";

const NOW_MS = Date.UTC(2026, 0, 31);
const MINUTE_MS = 60_000;
/** The time from a withdrawal without an answer until its loan has expired. */
const LOAN_LASTS_MS = 1000 * GATEWAY_LIMITS.quietSeconds + 15_000;
const GATEWAY = 3;
const ENROLMENT = { id: "enrolment-1", name: "edge-1" };
const LENT = { gateway: GATEWAY, epochsTo: NOW_MS + 1000 };
const LEASE = { metadata: { name: "edge-1", resourceVersion: "7" } };

const returnedLoan = (more: object = {}) =>
  ({
    epoch: NOW_MS,
    lease: LEASE,
    renewedAgoMs: 4000,
    heardAgoMs: 2000,
    vitals: {},
    skewMs: 0,
    samples: {},
    requests: 5,
    baton: {
      enrolment: ENROLMENT.id,
      upkeep: { tick: {}, latestMs: 1, lastReportMs: 1, requests: {} },
      tickets: {},
      samples: {},
    },
    ...more,
  }) as unknown as ReturnedLoan;

interface Situation {
  kept?: Record<string, unknown>;
  /** The number of the gateway that the registry has assigned. */
  assigned?: number | null;
  /** The gateway's answer to a withdrawal; an error if the gateway fails. */
  withdrawn?: ReturnedLoan | null | Error;
  looked?: ReturnedLoan | null | Error;
  reports?: boolean | Error;
}

function answer<T>(what: T | Error): Promise<T> {
  return what instanceof Error ? Promise.reject(what) : Promise.resolve(what);
}

const FAILS = new Error("evicted");

function lendingIn({ kept = {}, assigned = GATEWAY, ...gateway }: Situation = {}) {
  const stored = keptRecords({ enrolment: ENROLMENT, ...kept });
  const done: string[] = [];
  const note = (text: string) => void done.push(text);
  const time = { nowMs: NOW_MS };
  const { withdrawn = returnedLoan(), looked = null, reports = true } = gateway;
  const noApiserver = new Proxy({}, { get: () => () => Promise.reject(new Error("no apiserver")) });
  const dependencies = {
    state: {
      records: stored.records,
      keys: { enrolled: () => ({ thumbprints: ["key-1"] }) },
      facts: { current: () => undefined },
      samples: { takeBack: () => undefined },
      alarm: { atLatest: (atMs: number) => Promise.resolve(note(`alarm +${atMs - NOW_MS}`)) },
    },
    upkeep: {
      takeBack: ({ tick, latestMs }: { tick: { renewedAtMs?: number }; latestMs: number }, lease: unknown) =>
        note(
          `take back: ${lease === LEASE ? "lease" : "no lease"}, renewed ${(tick.renewedAtMs ?? NaN) - NOW_MS}, heard ${latestMs - NOW_MS}`,
        ),
      forgetLent: () => note("forget what was lent"),
      watchOpening: () => Promise.resolve(note("watch until the lease ends")),
      spendMeanwhile: (requests: number) => note(`spend ${requests}`),
      noteContact: (atMs?: number) => note(`contact ${atMs === undefined ? "unknown" : atMs - NOW_MS}`),
      connector: () => () => noApiserver,
      spend: () => undefined,
    },
    requests: { takeBack: () => undefined },
    gateway: (number: number) => ({
      recall(name: string, floor: number) {
        note(`${number}: withdraw ${name} up to ${floor - NOW_MS}`);
        return answer(withdrawn);
      },
      look() {
        note(`${number}: held loan`);
        return answer(looked);
      },
      reportNow() {
        note(`${number}: report now`);
        return answer(reports);
      },
      dismiss: (_: string, why: string) => answer(note(`${number}: dismiss, ${why}`)),
      noteMember: () => answer(true),
    }),
    assigned: () => assigned,
    nowMs: () => time.nowMs,
  } as unknown as LendingDependencies;
  return { ...stored, lending: new Lending(dependencies), done, time };
}

const TAKEN_BACK = ["take back: lease, renewed -4000, heard -2000", "spend 5"];
/**
 * The call that withdraws a loan after the object has slept. Its floor is above the stored bound of epochs, because the
 * object's clock may be behind that bound.
 */
const WITHDRAWN = `${GATEWAY}: withdraw edge-1 up to 1001`;

describe("a withdrawal", () => {
  it.each<[situation: string, Situation, done: string[]]>([
    ["nothing is lent → nothing is asked", {}, []],
    [
      "→ what the gateway has is this object's again",
      { kept: { lent: LENT } },
      [WITHDRAWN, ...TAKEN_BACK, "watch until the lease ends"],
    ],
    [
      "the gateway has lost the loan → it is forgotten, and what was lent is read again",
      { kept: { lent: LENT }, withdrawn: null },
      [WITHDRAWN, "forget what was lent", "watch until the lease ends"],
    ],
    [
      "of an earlier enrolment → it is forgotten",
      { kept: { lent: LENT, enrolment: { ...ENROLMENT, id: "enrolment-2" } } },
      [WITHDRAWN, "forget what was lent", "watch until the lease ends"],
    ],
    [
      "the gateway fails → the lease is to be written here, until it is",
      { kept: { lent: LENT }, withdrawn: FAILS },
      [WITHDRAWN, "forget what was lent", "watch until the lease ends", "alarm +10000", "alarm +10000"],
    ],
  ])("%s", async (_, situation, done) => {
    const withdrawn = lendingIn(situation);
    await withdrawn.lending.withdraw();
    expect(withdrawn.done).toEqual(done);
    expect(withdrawn.kept.has("lent")).toBe(false);
    const untouched = situation.withdrawn === FAILS ? { untilMs: NOW_MS + LOAN_LASTS_MS } : undefined;
    expect(withdrawn.kept.get("untouched")).toEqual(untouched);
  });

  it("of the next loan, with a clock that is behind → an epoch above the one before", async () => {
    const { lending, done, records } = lendingIn({ kept: { lent: LENT } });
    await lending.withdraw();
    records.put("lent", LENT);
    await lending.withdraw();
    expect(done.filter((each) => each.includes("withdraw"))).toEqual([
      WITHDRAWN,
      `${GATEWAY}: withdraw edge-1 up to 1002`,
    ]);
  });

  it("twice at once → one call to the gateway", async () => {
    const { lending, done } = lendingIn({ kept: { lent: LENT } });
    await lending.withdraw();
    const { length } = done;
    await lending.withdraw();
    expect(done).toHaveLength(length);
  });
});

describe("the alarm after a withdrawal", () => {
  const untouched = (untilMs: number) => ({ kept: { untouched: { untilMs } } });

  it.each<[situation: string, Situation, done: string[], isLeft: boolean]>([
    ["the gateway has answered → nothing is done", {}, [], false],
    [
      "the loan may be renewed still, and the apiserver fails → it rings again",
      untouched(NOW_MS + 1),
      ["alarm +10000"],
      true,
    ],
    ["the loan has ended by itself → nothing is asked any more", untouched(NOW_MS), [], false],
  ])("%s", async (_, situation, done, isLeft) => {
    const rung = lendingIn(situation);
    await rung.lending.finish("edge-1");
    expect([rung.done, rung.kept.has("untouched")]).toEqual([done, isLeft]);
  });
});

describe("a report over a socket, which returns the loan", () => {
  it.each<[situation: string, Situation, gateway: number, returned: ReturnedLoan | null, done: string[]]>([
    ["nothing is lent → nothing", {}, GATEWAY, null, []],
    [
      "by the gateway that has it → taken back, without a question",
      { kept: { lent: LENT } },
      GATEWAY,
      returnedLoan(),
      TAKEN_BACK,
    ],
    [
      "by a gateway that has lost it → forgotten",
      { kept: { lent: LENT } },
      GATEWAY,
      null,
      ["forget what was lent"],
    ],
    [
      "by another gateway → withdrawn from the one that has it",
      { kept: { lent: LENT } },
      GATEWAY + 1,
      null,
      [WITHDRAWN, ...TAKEN_BACK, "watch until the lease ends"],
    ],
  ])("%s", async (_, situation, gateway, returned, done) => {
    const taken = lendingIn(situation);
    await taken.lending.takeBack(gateway, returned);
    expect(taken.done).toEqual(done);
  });

  it("no PUT and no heartbeat under the loan → the earlier times stay", async () => {
    const { lending, done } = lendingIn({ kept: { lent: LENT } });
    await lending.takeBack(GATEWAY, returnedLoan({ renewedAgoMs: null, heardAgoMs: null, lease: null }));
    expect(done).toEqual([`take back: no lease, renewed NaN, heard ${1 - NOW_MS}`, "spend 5"]);
  });

  it("each one → another number, so that a report in progress gets no loan", async () => {
    const { lending } = lendingIn();
    const first = await lending.takeBack(GATEWAY, null);
    await lending.withdraw();
    expect(await lending.takeBack(GATEWAY, null)).toBe(first + 2);
  });

  it.each<[situation: string, act: (lending: Lending) => Promise<unknown>]>([
    ["the machine was to report now", (lending) => lending.reportNow()],
    ["a socket has ended", (lending) => lending.socketEnded(GATEWAY, null)],
  ])("%s since the last one → a count of its own as well", async (_, act) => {
    const { lending } = lendingIn({ kept: { transport: "socket" } });
    const first = await lending.takeBack(GATEWAY, null);
    await act(lending);
    expect(await lending.takeBack(GATEWAY, null)).toBe(first + 2);
  });
});

describe("a report over HTTP and one over a socket at the same time", () => {
  const FORGET = "forget what was lent";
  const HANDLED = "the socket's report is handled";
  const ALARM = "watch until the lease ends";

  /** `reachesFirst`: the request that reaches the gateway first, and gets the loan; `answersFirst`: which is back first. */
  it.each<
    [
      situation: string,
      reachesFirst: "withdrawal" | "report",
      answersFirst: "withdrawal" | "report",
      string[],
    ]
  >([
    ["the report returns the loan, and arrives first", "report", "report", [...TAKEN_BACK, HANDLED, ALARM]],
    ["the report returns the loan, and arrives last", "report", "withdrawal", [FORGET, ALARM, HANDLED]],
    ["the withdrawal returns the loan, and arrives last", "withdrawal", "report", [FORGET, HANDLED, ALARM]],
    [
      "the withdrawal returns the loan, and arrives first",
      "withdrawal",
      "withdrawal",
      [...TAKEN_BACK, ALARM, HANDLED],
    ],
  ])(
    "%s → the earlier state is never put over the later one",
    async (_, reachesFirst, answersFirst, done) => {
      const answering = Promise.withResolvers<ReturnedLoan | null>();
      const at = lendingIn({ kept: { lent: LENT }, withdrawn: answering.promise as never });
      const isReports = reachesFirst === "report";
      const withdrawn = at.lending.withdraw();
      const report = async () => {
        await at.lending.takeBack(GATEWAY, isReports ? returnedLoan() : null);
        at.done.push(HANDLED);
      };
      if (answersFirst === "report") await report();
      answering.resolve(isReports ? null : returnedLoan());
      await withdrawn;
      if (answersFirst === "withdrawal") await report();
      expect(at.done).toEqual([WITHDRAWN, ...done]);
    },
  );
});

describe("the end of a socket", () => {
  it.each<
    [
      situation: string,
      gateway: number,
      returned: ReturnedLoan | null,
      heardAgoMs: number | undefined,
      done: string[],
      isLent: boolean,
    ]
  >([
    ["of the gateway that has the lease → taken back", GATEWAY, returnedLoan(), 3000, TAKEN_BACK, false],
    [
      "of that gateway, which has lost the loan → forgotten, except the last contact",
      GATEWAY,
      null,
      3000,
      ["forget what was lent", "contact -3000"],
      false,
    ],
    [
      "of that gateway, which has lost loan and socket → forgotten",
      GATEWAY,
      null,
      undefined,
      ["forget what was lent"],
      false,
    ],
    ["of another gateway → nothing", GATEWAY + 1, null, 3000, [], true],
  ])("%s", async (_, gateway, returned, heardAgoMs, done, isLent) => {
    const ended = lendingIn({ kept: { lent: LENT } });
    await ended.lending.socketEnded(gateway, returned, heardAgoMs);
    expect(ended.done).toEqual(done);
    expect(ended.kept.has("lent")).toBe(isLent);
  });
});

describe("a machine that must report now", () => {
  it.each<[situation: string, Situation, done: string[]]>([
    ["without a socket → nothing is asked", {}, []],
    ["with one → its gateway asks it", { kept: { transport: "socket" } }, [`${GATEWAY}: report now`]],
    [
      "whose lease is lent by an earlier gateway → that one asks it",
      { kept: { transport: "socket", lent: LENT }, assigned: 8 },
      [`${GATEWAY}: report now`],
    ],
    [
      "with a socket, and no gateway → nothing is asked",
      { kept: { transport: "socket" }, assigned: null },
      [],
    ],
    [
      "whose gateway fails → withdrawn",
      { kept: { transport: "socket", lent: LENT }, reports: FAILS },
      [`${GATEWAY}: report now`, WITHDRAWN, ...TAKEN_BACK, "watch until the lease ends"],
    ],
  ])("%s", async (_, situation, done) => {
    const asked = lendingIn(situation);
    await asked.lending.reportNow();
    expect(asked.done).toEqual(done);
  });
});

describe("a machine that leaves", () => {
  it.each<[situation: string, Situation, done: string[]]>([
    ["never had a socket → nothing is asked", {}, []],
    ["with a socket → it is closed", { kept: { transport: "socket" } }, [`${GATEWAY}: dismiss, left`]],
    [
      "with a lease that is lent → withdrawn first",
      { kept: { lent: LENT } },
      [WITHDRAWN, ...TAKEN_BACK, "watch until the lease ends", `${GATEWAY}: dismiss, left`],
    ],
  ])("%s", async (_, situation, done) => {
    const ended = lendingIn(situation);
    await ended.lending.end("left");
    expect(ended.done).toEqual(done);
  });
});

describe("the last contact, before silence is decided", () => {
  it.each<[situation: string, Situation, done: string[]]>([
    ["nothing is lent → known here", {}, []],
    [
      "a heartbeat came → that time",
      { kept: { lent: LENT }, looked: returnedLoan() },
      [`${GATEWAY}: held loan`, "contact -2000"],
    ],
    [
      "no heartbeat came yet → the last report's",
      { kept: { lent: LENT }, looked: returnedLoan({ heardAgoMs: null }) },
      [`${GATEWAY}: held loan`, `contact ${1 - NOW_MS}`],
    ],
    [
      "the gateway fails → not known",
      { kept: { lent: LENT }, looked: FAILS },
      [`${GATEWAY}: held loan`, "contact unknown"],
    ],
  ])("%s", async (_, situation, done) => {
    const learnt = lendingIn(situation);
    await learnt.lending.learnContact();
    expect(learnt.done).toEqual(done);
  });
});

describe("a report over HTTP, of a machine that had a socket", () => {
  it.each<[sinceMs: number, hasTransport: boolean]>([
    [0, true],
    [2 * MINUTE_MS, true],
    [2 * MINUTE_MS + 1, false],
  ])("%j ms after the first one → it counts as one with a socket: %j", (sinceMs, hasTransport) => {
    const { lending, kept, time } = lendingIn({ kept: { transport: "socket" } });
    lending.noteHttp();
    time.nowMs += sinceMs;
    lending.noteHttp();
    expect(kept.has("transport")).toBe(hasTransport);
  });
});

describe("after a report, nothing is lent", () => {
  const connection = { gateway: GATEWAY, session: "s", floor: 0, by: "key-1", endings: 0 };

  it.each<[situation: string, by: string]>([
    ["where more reports have to come here", "key-1"],
    ["where its key has lost the name meanwhile", "key-2"],
  ])("%s", async (_, by) => {
    const { lending, done, kept } = lendingIn();
    expect(await lending.lend({ ...connection, by }, {} as Report)).toBeNull();
    expect([done, kept.has("lent")]).toEqual([[], false]);
  });
});
