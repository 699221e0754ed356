// Tests the shim's whole connection to its Worker: reporter, link and socket, against a Worker with a gateway on
// loopback. Time passes only when a test lets it.
import { afterEach, describe, expect, it, test } from "vitest";
import { defaultConfiguration } from "../../../node-shim/config/config.ts";
import { startLoop } from "../../../node-shim/loop/loop.ts";
import type { Facts } from "../../../shared/protocol/facts.ts";
import { eventually } from "../base/eventually.ts";
import type { Vitals } from "../../../shared/protocol/report.ts";
import { settle } from "../base/fake-clock.ts";
import { type Behaviour, fakeGateway, type FakeGateway } from "./fake-gateway.ts";
import { FACTS, linkedMachine, type LinkedMachine, type LinkSituation, vitals } from "./linked-machine.ts";
import { heldTimers } from "../base/timers.ts";

const OTHER_FACTS = { platform: { os: "linux", architecture: "arm64" } } as Facts;

let closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.toReversed()) close();
  closing = [];
});

async function machine(gateway: { port: number }, situation?: LinkSituation): Promise<LinkedMachine> {
  const made = await linkedMachine(gateway, situation);
  closing.push(made.close);
  return made;
}

async function worker(behaviour: Partial<Behaviour> = {}): Promise<FakeGateway> {
  const gateway = await fakeGateway(behaviour);
  closing.push(gateway.close);
  return gateway;
}

/** Waits until the socket that is due has opened. */
async function opens({ clock, link }: LinkedMachine): Promise<void> {
  await clock.pass(0);
  await eventually(() => link.socket()).not.toBeNull();
}

/** Returns a machine with a socket that accepts heartbeats. The gateway's log is cleared. */
async function onSocket(gateway: FakeGateway, situation?: LinkSituation): Promise<LinkedMachine> {
  const made = await machine(gateway, situation);
  await made.report();
  await opens(made);
  await made.report();
  gateway.log.length = 0;
  return made;
}

describe("HTTP first", () => {
  it("requests a socket, opens it, reports over it, and then sends heartbeats", async () => {
    const gateway = await worker();
    const edge = await machine(gateway);
    expect(await edge.report()).toMatchObject({ ok: true, value: { reportInMs: 9600 } });
    expect(edge.asked()).toBe(0);
    await opens(edge);
    // The link asks for a report as soon as a socket is open.
    expect(edge.asked()).toBe(1);
    await edge.report();
    expect(await edge.report(90)).toEqual({
      ok: true,
      value: { phase: "registered", ready: true, ticket: "t2", reportInMs: 9600 },
    });
    gateway.behaviour.nextInMs = 9500;
    expect(await edge.report(80)).toMatchObject({ value: { reportInMs: 9500 } });
    expect(gateway.log).toEqual(["http wanted +facts", "upgrade t=1", "report", "beat 1", "beat 2"]);
    expect(gateway.beats.map(({ at, available }) => [at, available[0]])).toEqual([
      [Date.UTC(2026, 0, 1), 90],
      [Date.UTC(2026, 0, 1), 80],
    ]);
    const [byHttp, bySocket] = gateway.reports;
    expect(byHttp?.claims).toMatchObject({ ticket: "", n: 1 });
    expect(byHttp?.claims.session).toBeUndefined();
    expect(bySocket?.claims).toMatchObject({ ticket: "t1", n: 1 });
    expect(edge.lines).toEqual(["info reports go over a socket"]);
    expect(edge.seen.map(({ via }) => via)).toEqual(["http", "socket"]);
  });

  it("reports continue by HTTP until the socket is open, and none waits for it", async () => {
    const gateway = await worker({ upgrade: "nothing" });
    const edge = await machine(gateway);
    await edge.report();
    await edge.clock.pass(0);
    await eventually(() => gateway.log).toEqual(["http wanted +facts", "upgrade t=1"]);
    await edge.report();
    await edge.report();
    expect(gateway.log.slice(2)).toEqual(["http", "http"]);
  });

  it.each([
    ["at the earliest", 0, 0],
    ["half-way", 0.5, 1000],
    ["at the latest", 1, 2000],
  ])("opened at a random time: %s", async (_, random, inMs) => {
    const gateway = await worker({ offer: { withinMs: 2000 } });
    const edge = await machine(gateway, { random });
    await edge.report();
    if (inMs > 0) await edge.clock.pass(inMs - 1);
    await settle();
    if (inMs > 0) expect(gateway.log).toHaveLength(1);
    await edge.clock.pass(1);
    await eventually(() => gateway.log).toHaveLength(2);
  });

  it("with the path of the newest answer", async () => {
    const gateway = await worker({ offer: { withinMs: 20_000 } });
    const edge = await machine(gateway, { random: 1 });
    await edge.report();
    await edge.clock.pass(9600);
    await edge.report();
    await edge.clock.pass(10_400);
    await eventually(() => gateway.log.at(-1)).toBe("upgrade t=2");
  });

  it.each<[string, object]>([
    ["another origin", { path: "//127.0.0.2/v1/gateways/7/nodes/edge-1" }],
    ["another origin's URL", { path: "https://evil.example/v1" }],
    ["a path with a fragment", { path: "/v1/gateways/7/nodes/edge-1?t=1#t=2" }],
    ["no path", { path: 7 }],
    ["no time", { path: "/v1/gateways/7/nodes/edge-1", withinMs: "soon" }],
    ["a time before now", { withinMs: -1 }],
  ])("an offer of %s → ignored, and the report counts", async (_, offer) => {
    const gateway = await worker({ offer: { withinMs: 0, ...offer } });
    const edge = await machine(gateway);
    expect(await edge.report()).toMatchObject({ ok: true });
    await edge.clock.pass(60_000);
    expect(gateway.log).toEqual(["http wanted +facts"]);
    // The link reported only one transport: the link opened no socket at another address either.
    expect(edge.seen).toHaveLength(1);
    expect(edge.link.headers()).toEqual({ "rollcall-transport": "socket" });
  });

  it("--transport http → none is requested", async () => {
    const gateway = await worker();
    const edge = await machine(gateway, { choice: "http" });
    await edge.report();
    await edge.clock.pass(60_000);
    await edge.report();
    expect(gateway.log).toEqual(["http +facts", "http"]);
    expect(edge.seen).toEqual([{ via: "http", choice: "http", fault: null, againInMs: null }]);
  });

  it("a report during the opening of the socket → still one request at a time", async () => {
    const gateway = await worker();
    const edge = await machine(gateway);
    await edge.report();
    const underWay = edge.report();
    await opens(edge);
    await underWay;
    await edge.report();
    await edge.report();
    // The upgrade may arrive before or after the report, so the lines are sorted.
    expect(gateway.log.map((line) => line.replace(" wanted", "")).toSorted()).toEqual(
      ["http +facts", "http", "upgrade t=1", "report", "beat 1"].toSorted(),
    );
    expect(gateway.log.slice(-2)).toEqual(["report", "beat 1"]);
    expect(gateway.underWay.most).toBe(1);
  });
});

describe("reports in place of heartbeats", () => {
  it("for other facts, for an error, and after a report that was not accepted", async () => {
    const gateway = await worker();
    const edge = await onSocket(gateway);
    await edge.report(100, OTHER_FACTS);
    await edge.report(100, OTHER_FACTS);
    await edge.reportVitals({ ...vitals(100), errors: { network: ["no CNI"] } });
    expect(gateway.log).toEqual(["report +facts", "beat 1", "report +facts"]);
  });

  it("again → a report over the socket in the same call, and heartbeats continue from 1", async () => {
    const gateway = await worker({ beat: { type: "again", reason: "over" } });
    const edge = await onSocket(gateway);
    expect(await edge.report()).toMatchObject({ ok: true });
    gateway.behaviour.beat = "answer";
    await edge.report();
    expect(gateway.log).toEqual(["beat 1", "report", "beat 1"]);
    expect(gateway.underWay.most).toBe(1);
  });

  it("no lease was lent → reports over the socket", async () => {
    const gateway = await worker({ lends: false });
    const edge = await onSocket(gateway);
    await edge.report();
    await edge.report();
    expect(gateway.log).toEqual(["report", "report"]);
  });

  it("report-now → a request, and the next message is a report", async () => {
    const gateway = await worker();
    const edge = await onSocket(gateway);
    const before = edge.asked();
    gateway.say({ type: "report-now" });
    await eventually(edge.asked).toBe(before + 1);
    await edge.report();
    await edge.report();
    expect(gateway.log).toEqual(["report", "beat 1"]);
  });

  it("a report that is challenged over the socket → answered over the socket", async () => {
    const gateway = await worker();
    const edge = await onSocket(gateway);
    gateway.behaviour.problem = { status: 409, reason: "ticket-stale" };
    const outcome = await edge.report(100, OTHER_FACTS);
    expect(outcome).toMatchObject({ error: { problem: { reason: "ticket-stale", status: 409 } } });
    expect(gateway.log).toEqual(["report +facts", "report +facts", "report +facts"]);
    expect(edge.link.socket()).not.toBeNull();
  });

  it("too large for a frame → by HTTP, and the socket stays for later ones", async () => {
    const gateway = await worker();
    const edge = await onSocket(gateway);
    const large = { ...FACTS, padding: "x".repeat(300_000) } as Facts;
    expect(await edge.report(100, large)).toMatchObject({ ok: true });
    await edge.report(100, large);
    await edge.report(100, large);
    expect(gateway.log).toEqual(["http +facts", "report", "beat 1"]);
  });
});

describe("the loss of a socket", () => {
  it.each<[string, Behaviour["beat"], string]>([
    ["is cut while a heartbeat is under way", "cut", "the connection was closed"],
    [
      "is closed while a heartbeat is under way",
      { type: "closing", reason: "replaced", comeBackInMs: 0 },
      "the gateway has closed it: this machine has opened another one",
    ],
  ])("%s → the same call reports by HTTP", async (_, beat, why) => {
    const gateway = await worker({ beat });
    const edge = await onSocket(gateway);
    expect(await edge.report()).toMatchObject({ ok: true });
    expect(gateway.log.filter((line) => !line.startsWith("closed"))).toEqual(["beat 1", "http wanted"]);
    expect(edge.lines.at(-1)).toBe(`info reports go by HTTP; no socket: ${why}`);
    // The time without an answer was too short to be reported.
    expect(gateway.reports.at(-1)?.report.noAnswerSeconds).toBeUndefined();
  });

  it("is cut during a report → the same report by HTTP, with a new signature", async () => {
    const gateway = await worker();
    const edge = await onSocket(gateway);
    gateway.behaviour.report = "cut";
    expect(await edge.report(100, OTHER_FACTS)).toMatchObject({ ok: true });
    expect(gateway.log.filter((line) => !line.startsWith("closed"))).toEqual([
      "report +facts",
      "http wanted +facts",
    ]);
    const [over, by] = gateway.reports.slice(-2);
    expect([over?.claims.n, by?.claims.n]).toEqual([1, 2]);
    expect(by?.claims.session).toBeUndefined();
  });

  it("a heartbeat without an answer, and a ping neither → HTTP, with the time without answers since it was sent", async () => {
    const gateway = await worker();
    const edge = await onSocket(gateway);
    gateway.behaviour.beat = "nothing";
    const report = edge.report();
    await eventually(() => gateway.log).toEqual(["beat 1"]);
    await edge.clock.pass(9000 + 4499);
    expect(gateway.log).toEqual(["beat 1"]);
    await edge.clock.pass(1);
    expect(await report).toMatchObject({ ok: true });
    expect(gateway.log).toContain("http wanted");
    expect(edge.lines.at(-1)).toBe("info reports go by HTTP; no socket: no answer within 9 s");
  });

  it("between two heartbeats → HTTP at the next beat, and another socket within the gateway's time", async () => {
    const gateway = await worker({ comeBackWithinMs: 30_000 });
    const edge = await onSocket(gateway, { random: 1 });
    await edge.clock.pass(60_000);
    gateway.sockets[0]?.terminate();
    await eventually(() => edge.link.socket()).toBeNull();
    // No request follows until the next report is due.
    expect(gateway.log).toEqual(["closed 1006"]);
    await edge.report();
    await edge.clock.pass(29_999);
    expect(gateway.log).toEqual(["closed 1006", "http wanted"]);
    await edge.clock.pass(1);
    await eventually(() => gateway.log.at(-1)).toMatch(/^upgrade /);
    await eventually(() => edge.link.socket()).not.toBeNull();
    await edge.report();
    expect(edge.lines.slice(-2)).toEqual([
      "info reports go by HTTP; no socket: the connection was closed",
      "info reports go over a socket",
    ]);
  });

  it("dropped after a suspend → HTTP, no failure, and another socket", async () => {
    const gateway = await worker();
    const edge = await onSocket(gateway);
    edge.link.drop();
    await eventually(() => gateway.log).toEqual(["closed 1006"]);
    await edge.report();
    await opens(edge);
    expect(gateway.log.slice(0, 2)).toEqual(["closed 1006", "http wanted"]);
    expect(edge.lines.at(-1)).toBe("info reports go by HTTP");
  });

  it("dropped while it opens → the resulting one is closed, and does not count", async () => {
    const gateway = await worker();
    const edge = await machine(gateway);
    await edge.report();
    await edge.clock.pass(0);
    await eventually(() => gateway.log.length).toBe(2);
    edge.link.drop();
    await settle();
    expect(edge.link.socket()).toBeNull();
    await edge.report();
    expect(gateway.log.filter((line) => line.startsWith("http"))).toEqual([
      "http wanted +facts",
      "http wanted",
    ]);
  });

  it("left → logged, and the next report is by HTTP", async () => {
    const gateway = await worker();
    const edge = await onSocket(gateway);
    gateway.say({ type: "left" });
    await eventually(() => edge.link.socket()).toBeNull();
    gateway.behaviour.problem = { status: 403, reason: "key-revoked" };
    expect(await edge.report()).toMatchObject({ error: { problem: { reason: "key-revoked" } } });
    expect(edge.lines.at(-1)).toBe(
      "info reports go by HTTP; no socket: this machine has left, or was forgotten",
    );
  });

  it("closed at the end → 1000 after the last report, and no other is opened", async () => {
    const gateway = await worker();
    const edge = await onSocket(gateway);
    await edge.report();
    edge.link.close();
    await eventually(() => gateway.log).toEqual(["beat 1", "closed 1000"]);
    expect(await edge.report()).toMatchObject({ ok: false, error: { reason: "failed" } });
    await edge.clock.pass(60_000);
    expect(gateway.log).toEqual(["beat 1", "closed 1000"]);
  });

  it("closed at the end during a heartbeat → not repeated by HTTP", async () => {
    const gateway = await worker({ beat: "nothing" });
    const edge = await onSocket(gateway);
    const report = edge.report();
    await eventually(() => gateway.log).toEqual(["beat 1"]);
    edge.link.close();
    expect(await report).toMatchObject({ ok: false, error: { reason: "failed" } });
    await eventually(() => gateway.log).toEqual(["beat 1", "closed 1000"]);
  });
});

describe("the time of the next socket", () => {
  it("closing with a time → HTTP until then, without requesting a socket", async () => {
    const gateway = await worker();
    const edge = await onSocket(gateway);
    gateway.say({ type: "closing", reason: "too often", comeBackInMs: 600_000 });
    await eventually(() => edge.link.socket()).toBeNull();
    expect(edge.seen.at(-1)).toEqual({
      via: "http",
      choice: "auto",
      fault: "the gateway has closed it: frames came too often",
      againInMs: 600_000,
    });
    await edge.clock.pass(599_999);
    await edge.report();
    await edge.clock.pass(1);
    await edge.report();
    expect(gateway.log).toEqual(["closed 1000", "http", "http wanted"]);
  });

  it("three refusals in a row → HTTP for ten minutes, then one attempt, and ten minutes again", async () => {
    const gateway = await worker({ upgrade: { status: 403, body: "no" } });
    const edge = await machine(gateway);
    const attempt = async () => {
      const before = edge.seen.length;
      await edge.report();
      await edge.clock.pass(5000);
      await eventually(() => edge.seen.length).toBeGreaterThan(before);
    };
    for (let attempts = 0; attempts < 3; attempts++) await attempt();
    expect(edge.seen.at(-1)?.againInMs).toBe(600_000);
    for (let reports = 0; reports < 60; reports++) {
      await edge.clock.pass(9600);
      await edge.report();
    }
    const upgrades = () => gateway.log.filter((line) => line.startsWith("upgrade")).length;
    expect(upgrades()).toBe(3);
    await edge.clock.pass(24_000);
    await attempt();
    expect(upgrades()).toBe(4);
    expect(edge.seen.at(-1)?.againInMs).toBe(600_000);
    expect(edge.lines).toEqual([
      "info reports go by HTTP; no socket: a proxy on the way does not pass WebSockets on: it answers HTTP 403",
    ]);
  });

  it.each([
    [429, "rate-limited"],
    [503, "busy"],
  ])(
    "refusals with %i %s and a wait, as in a crowd → that wait each time, and no failure",
    async (status, reason) => {
      const problem = { reason, title: "Slow" };
      const gateway = await worker({ upgrade: { status, problem, headers: { "retry-after": "12" } } });
      const edge = await machine(gateway);
      for (let attempts = 1; attempts <= 4; attempts++) {
        await edge.report();
        await edge.clock.pass(5000);
        await eventually(() => gateway.log.filter((line) => line.startsWith("upgrade"))).toHaveLength(
          attempts,
        );
        await eventually(() => edge.seen.at(-1)?.againInMs).toBe(12_000);
        await edge.clock.pass(12_000);
      }
    },
  );

  it("the upgrade states until when the machine waits", async () => {
    const gateway = await worker();
    await onSocket(gateway, { until: () => ({ "rollcall-until": "1767225609000" }) });
    expect(gateway.untils).toEqual(["1767225609000"]);
  });

  it("three that end within a minute → the same, though each had an accepted report", async () => {
    const gateway = await worker();
    const edge = await machine(gateway);
    for (let attempts = 0; attempts < 3; attempts++) {
      await edge.report();
      await opens(edge);
      await edge.report();
      await edge.clock.pass(5000);
      gateway.sockets.at(-1)?.terminate();
      await eventually(() => edge.link.socket()).toBeNull();
    }
    expect(edge.seen.at(-1)).toMatchObject({ via: "http", againInMs: 600_000 });
    await edge.report();
    expect(gateway.log.at(-1)).toBe("http");
  });

  it.each<[situation: string, upgrade: Behaviour["upgrade"], why: string, againInMs: number | null]>([
    [
      "503 try-another → the next answer's path",
      { status: 503, problem: { reason: "try-another", title: "Full" }, headers: { "retry-after": "1" } },
      "its gateway has no room: the next answer names another one",
      1000,
    ],
    [
      "429 → its own wait",
      { status: 429, problem: { reason: "rate-limited", title: "Slow" }, headers: { "retry-after": "300" } },
      "the Worker asks this machine to wait",
      300_000,
    ],
    [
      "401",
      { status: 401, problem: { reason: "unauthenticated", title: "Not authenticated" } },
      "the Worker refuses it: Not authenticated (unauthenticated)",
      null,
    ],
    [
      "426: a proxy has removed the upgrade",
      { status: 426, problem: { reason: "upgrade-required", title: "Upgrade required" } },
      "a proxy on the way does not pass WebSockets on: it takes the upgrade out of the request",
      null,
    ],
    ...[403, 405, 501, 200].map((status): [string, Behaviour["upgrade"], string, null] => [
      `a proxy's ${status}`,
      { status, body: "<html>" },
      `a proxy on the way does not pass WebSockets on: it answers HTTP ${status}`,
      null,
    ]),
  ])("refused with %s", async (_, upgrade, fault, againInMs) => {
    const gateway = await worker({ upgrade });
    const edge = await machine(gateway);
    await edge.report();
    await edge.clock.pass(0);
    await eventually(() => edge.seen.at(-1)).toEqual({ via: "http", choice: "auto", fault, againInMs });
  });

  it("an upgrade without an answer → given up at its deadline, and HTTP continues", async () => {
    const gateway = await worker({ upgrade: "nothing" });
    const edge = await machine(gateway);
    const pass = heldTimers();
    await edge.report();
    await edge.clock.pass(0);
    await eventually(() => gateway.log.at(-1)).toMatch(/^upgrade/);
    pass(9000);
    await eventually(() => edge.seen.at(-1)?.fault).toBe(
      "no answer within 9 s to the upgrade: a proxy on the way may hold it back",
    );
    expect(await edge.report()).toMatchObject({ ok: true });
  });
});

test("--transport socket → its faults are warnings", async () => {
  const gateway = await worker({ upgrade: { status: 403, body: "" } });
  const edge = await machine(gateway, { choice: "socket" });
  await edge.report();
  await edge.clock.pass(0);
  await eventually(() => edge.lines).toEqual([
    "warn reports go by HTTP; no socket: a proxy on the way does not pass WebSockets on: it answers HTTP 403",
  ]);
});

describe("with the loop", () => {
  const SETTINGS = { hostname: "edge-1", ...defaultConfiguration() };

  /** Starts the loop of a machine. `next` lets time pass, and waits for the gateway's log to match. */
  function looping(gateway: FakeGateway, edge: LinkedMachine) {
    const stop = new AbortController();
    closing.push(() => stop.abort());
    const now: { vitals: Vitals } = { vitals: vitals(100) };
    let underWay = 0;
    const loop = startLoop({
      gather: async () => ({ facts: FACTS, vitals: now.vitals }),
      report: async (facts, vitals) => {
        underWay++;
        return edge.reportNow(facts, vitals).finally(() => underWay--);
      },
      settings: SETTINGS,
      clock: edge.clock,
      stop: stop.signal,
      random: () => 0,
      reconnect: () => edge.link.drop(),
      pace: edge.pace,
      listen: (asked) => edge.link.listen(asked),
      log: () => undefined,
    });
    const next = async (ms: number, expected: string[]) => {
      await edge.clock.pass(ms);
      const lines: string[] = [];
      await eventually(() => {
        lines.push(...gateway.log.splice(0));
        return lines;
      }).toEqual(expected);
      // The running request must have its answer before time passes.
      await eventually(() => underWay).toBe(0);
      await settle();
    };
    return { loop, stop, now, next };
  }

  it("HTTP once, then heartbeats at their time; a flip, a shutdown and the Worker's request at once; 1000 at the end", async () => {
    const gateway = await worker();
    const edge = await machine(gateway);
    const { loop, stop, now, next } = looping(gateway, edge);
    await next(0, ["http wanted +facts"]);
    await next(0, ["upgrade t=1", "report"]);
    for (let beats = 1; beats <= 60; beats++) await next(9600, [`beat ${beats}`]);
    expect(gateway.underWay.most).toBe(1);
    gateway.say({ type: "report-now" });
    await next(0, ["report"]);
    now.vitals = { ...vitals(100), errors: { network: ["no CNI"] } };
    loop.see({ errors: { network: ["no CNI"] } });
    await next(0, ["report"]);
    await next(9600, ["beat 1"]);
    now.vitals = { ...now.vitals, shuttingDown: true };
    loop.see({ shuttingDown: true });
    await next(0, ["report"]);
    expect(gateway.reports.at(-1)?.report.vitals.shuttingDown).toBe(true);
    stop.abort();
    await loop.done;
    edge.link.close();
    await next(0, ["closed 1000"]);
  });

  it("a lost socket → the next beat by HTTP, in its time; the one after over another socket", async () => {
    const gateway = await worker();
    const edge = await machine(gateway);
    const { next } = looping(gateway, edge);
    await next(0, ["http wanted +facts"]);
    await next(0, ["upgrade t=1", "report"]);
    await next(9600, ["beat 1"]);
    await edge.clock.pass(5000);
    gateway.sockets[0]?.terminate();
    await next(0, ["closed 1006"]);
    await next(4600, ["http wanted"]);
    await next(0, [expect.stringMatching(/^upgrade /) as string, "report"]);
    await next(9600, ["beat 1"]);
  });

  it("suspended → the socket is dropped, and a report goes by HTTP at once", async () => {
    const gateway = await worker();
    const edge = await machine(gateway);
    const { loop, next } = looping(gateway, edge);
    await next(0, ["http wanted +facts"]);
    await next(0, ["upgrade t=1", "report"]);
    edge.clock.suspend(3_600_000);
    loop.resumed();
    await eventually(() => gateway.log.toSorted()).toEqual(["closed 1006", "http wanted"]);
  });
});
