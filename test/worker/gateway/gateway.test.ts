// Tests how a gateway handles frames of machines and calls that node objects make to it. The clock belongs to the test;
// the apiserver and the node objects are in memory. Each tolerated fault has a test with its name.
import { describe, expect, it } from "vitest";
import { GATEWAY_LIMITS, LIMITS } from "../../../shared/protocol/limits.ts";
import { LEAST_RENEWAL_MS } from "../../../worker/gateway/heartbeats.ts";
import type { LeasePut } from "../../../worker/gateway/lease.ts";
import { PUTS_AT_ONCE } from "../../../worker/gateway/renewals.ts";
import { REPORT_WITHIN_MS } from "../../../worker/gateway/reports.ts";
import { GATEWAY, INTERVAL_MS, inGateway, LEASE_MS, QUIET_FROM, until } from "../support/made-up-gateway.ts";
import { pass } from "../support/clock.ts";

const AWAY_MS = 1000 * GATEWAY_LIMITS.awaySeconds;
const FAILED: LeasePut = { kind: "failed", isAnswered: true, retryAfterMs: 0 };
const NO_ANSWER: LeasePut = { kind: "failed", isAnswered: false, retryAfterMs: 0 };

describe("heartbeats under a loan", () => {
  it("each renews the lease with one PUT, and wakes no machine's object", () =>
    inGateway(async (made) => {
      const socket = await made.connected("edge-1");
      for (let beats = 0; beats < 6; beats++) expect(await made.beat(socket)).toBe("answer");
      expect([made.puts.length, made.woken]).toEqual([6, ["edge-1 report"]]);
      expect(made.leases.get("edge-1")?.spec?.renewTime).toBe("2026-01-01T00:01:00.000000Z");
    }));

  it("the answer has the next due time and a new nonce", () =>
    inGateway(async (made) => {
      const socket = await made.connected("edge-1");
      const before = socket.nonce;
      await made.beat(socket);
      expect(socket.last).toEqual({ type: "answer", n: 1, nonce: socket.nonce, nextInMs: 9600 });
      expect(socket.nonce).not.toBe(before);
    }));

  it("the loan is returned with the next report, with the renewals under it", () =>
    inGateway(async (made) => {
      const socket = await made.connected("edge-1");
      await made.beat(socket);
      await made.beat(socket, { available: 7e9 });
      made.nowMs += 2000;
      await made.report(socket);
      const [, report] = made.asked;
      expect(report).toMatchObject({
        what: "report",
        returned: {
          epoch: 1,
          lease: { metadata: { resourceVersion: "3" } },
          renewedAgoMs: 2000,
          heardAgoMs: 2000,
          skewMs: 0,
          vitals: { signals: { "memory.available": [7e9, 16e9] } },
          requests: 2,
          baton: { of: "edge-1" },
        },
      });
      expect(await made.beat(socket)).toBe("answer");
    }));

  it("an unquiet heartbeat → again; no renewal until there is another loan", () =>
    inGateway(async (made) => {
      const socket = await made.connected("edge-1");
      expect(await made.beat(socket, { available: QUIET_FROM })).toBe("answer");
      expect(await made.beat(socket, { available: QUIET_FROM - 1 })).toBe("again not quiet");
      expect(await made.beat(socket)).toBe("again over");
      expect(made.puts.length).toBe(1);
      await made.report(socket);
      expect(await made.beat(socket)).toBe("answer");
    }));

  it("the loan has expired → again", () =>
    inGateway(async (made) => {
      made.loan = { quietForMs: 2 * INTERVAL_MS };
      const socket = await made.connected("edge-1");
      expect(await made.beat(socket)).toBe("answer");
      expect(await made.beat(socket)).toBe("again over");
    }));

  it("without a loan → again no session; the report is passed on without a loan", () =>
    inGateway(async (made) => {
      made.onReport = async (report) => ({ ...made.lent(report.request.name), lent: null });
      const socket = await made.connected("edge-1");
      expect(await made.beat(socket)).toBe("again no session");
      expect(socket.frames[0]).toMatchObject({ type: "report-answer", status: 200, comeBackWithinMs: 5000 });
      expect(socket.frames[0]).not.toHaveProperty("session");
    }));
});

describe("a heartbeat that is not fresh", () => {
  it("an old n → again, no renewal", () =>
    inGateway(async (made) => {
      const socket = await made.connected("edge-1");
      const recorded = await socket.beat(made.nowMs + INTERVAL_MS);
      made.nowMs += INTERVAL_MS;
      await made.receive(socket, recorded);
      made.nowMs += INTERVAL_MS;
      await made.receive(socket, recorded);
      expect([socket.said.slice(1), made.puts.length]).toEqual([["answer", "again not fresh"], 1]);
    }));

  it.each([
    ["an n that leaves one out", { n: 2 }],
    ["another machine's MAC", { key: new Uint8Array(32).fill(8) }],
    ["over another nonce", { nonce: "nonce-9" }],
  ])("%s → again; nothing is renewed", (_, how) =>
    inGateway(async (made) => {
      const socket = await made.connected("edge-1");
      expect(await made.beat(socket, how)).toBe("again not fresh");
      expect(made.puts).toEqual([]);
    }),
  );

  it("of an earlier session → again", () =>
    inGateway(async (made) => {
      const socket = await made.connected("edge-1");
      const { nonce } = socket;
      await made.report(socket);
      expect(await made.beat(socket, { nonce })).toBe("again not fresh");
    }));

  it("two equal ones at once → again for both", () =>
    inGateway(async (made) => {
      const socket = await made.connected("edge-1");
      made.nowMs += INTERVAL_MS;
      const beat = await socket.beat(made.nowMs);
      await Promise.all([made.receive(socket, beat), made.receive(socket, beat)]);
      expect([socket.said.slice(1), made.puts]).toEqual([["again not fresh", "again over"], []]);
    }));

  it("delayed by a proxy beyond a lease duration → no renewal", () =>
    inGateway(async (made) => {
      const socket = await made.connected("edge-1");
      const hoarded = await socket.beat(made.nowMs + INTERVAL_MS);
      made.nowMs += LEASE_MS + 1;
      await made.receive(socket, hoarded);
      expect([socket.said.slice(1), made.puts]).toEqual([["again not fresh"], []]);
    }));

  it("thirty signed ones collected by a proxy: one nonce is valid for one of them", () =>
    inGateway(async (made) => {
      const socket = await made.connected("edge-1");
      const hoarded: string[] = [];
      for (let n = 1; n <= 30; n++) hoarded.push(await socket.beat(made.nowMs + n * INTERVAL_MS));
      for (const beat of hoarded) {
        made.nowMs += INTERVAL_MS;
        await made.receive(socket, beat);
      }
      expect(made.puts.length).toBe(1);
      expect(socket.said.at(-1)).toBe("closing too often");
    }));

  it("the third refusal closes the socket, and the machine is away", () =>
    inGateway(async (made) => {
      const socket = await made.connected("edge-1");
      for (let refused = 0; refused < 3; refused++) await made.beat(socket, { n: 99 });
      expect(socket.said.slice(1)).toEqual(["again not fresh", "again not fresh", "closing too often"]);
      expect(socket.last).toMatchObject({ comeBackInMs: AWAY_MS });
      expect(made.woken).toEqual(["edge-1 report", "edge-1 ended"]);
      expect(await made.open("edge-1")).toBe(`sent away ${GATEWAY_LIMITS.awaySeconds}`);
      made.nowMs += AWAY_MS;
      expect(await made.open("edge-1")).not.toBeTypeOf("string");
    }));

  it("the third refusal also closes the name's sockets without an accepted report: none becomes accepted", () =>
    inGateway(async (made) => {
      const socket = await made.connected("edge-1");
      const [reporting, silent] = [await made.opened("edge-1"), await made.opened("edge-1")];
      const neighbour = await made.connected("edge-2");
      const { promise, resolve } = Promise.withResolvers<void>();
      made.onReport = async ({ request: { name } }) => {
        await promise;
        return made.lent(name);
      };
      const reported = made.report(reporting);
      await made.untilWoken(3);
      for (let refused = 0; refused < 2; refused++) await made.beat(socket, { n: 99, afterMs: 0 });
      const sentAway = made.beat(socket, { n: 99, afterMs: 0 });
      await until(() => socket.readyState !== 1);
      resolve();
      await Promise.all([sentAway, reported]);
      await made.report(silent);
      expect([reporting.said, silent.said]).toEqual([["closing too often"], ["closing too often"]]);
      expect([made.members, made.woken.slice(3)]).toEqual([["edge-2"], ["edge-1 ended"]]);
      expect(neighbour.said).toEqual(["report-answer 200"]);
    }));

  it("on a socket without an accepted report → only that socket closes, and the machine is not away", () =>
    inGateway(async (made) => {
      const beside = await made.opened("edge-1");
      const socket = await made.opened("edge-1");
      for (let beats = 0; beats < 4; beats++) await made.beat(socket, { afterMs: 100 });
      expect(socket.said.at(-1)).toBe("closing too often");
      expect(beside.said).toEqual([]);
      expect(await made.open("edge-1")).not.toBeTypeOf("string");
    }));

  it("two of them and two early heartbeats between two reports → the socket stays", () =>
    inGateway(async (made) => {
      const socket = await made.connected("edge-1");
      for (let reports = 0; reports < 5; reports++) {
        await made.beat(socket);
        await made.beat(socket, { afterMs: 100 });
        await made.beat(socket, { afterMs: 100 });
        await made.beat(socket, { n: 99 });
        await made.beat(socket, { n: 99 });
        await made.report(socket);
      }
      expect(socket.said.filter((what) => what.startsWith("closing"))).toEqual([]);
    }));

  it("heartbeats in place of a requested report → closed", () =>
    inGateway(async (made) => {
      const socket = await made.connected("edge-1");
      made.evict();
      for (let beats = 0; beats < 4; beats++) await made.beat(socket);
      expect(socket.said.slice(1)).toEqual([...Array(3).fill("again no session"), "closing too often"]);
    }));
});

describe("a machine that sends heartbeats too often", () => {
  it("ten a second → no PUT for the early ones, and the third closes the socket", () =>
    inGateway(async (made) => {
      const socket = await made.connected("edge-1");
      await made.beat(socket);
      for (let beats = 0; beats < 10; beats++) await made.beat(socket, { afterMs: 100 });
      expect(socket.said.slice(2)).toEqual(["answer", "answer", "closing too often"]);
      expect([made.puts.length, made.woken]).toEqual([1, ["edge-1 report", "edge-1 ended"]]);
    }));

  it.each([
    ["before half of its time", INTERVAL_MS * 0.48 - 1, 1],
    ["at half of its time", INTERVAL_MS * 0.48, 2],
  ])("%s", (_, afterMs, puts) =>
    inGateway(async (made) => {
      const socket = await made.connected("edge-1");
      await made.beat(socket);
      expect(await made.beat(socket, { afterMs })).toBe("answer");
      expect(made.puts.length).toBe(puts);
    }),
  );

  it.each([
    ["just before", LEAST_RENEWAL_MS - 1, 1],
    ["at", LEAST_RENEWAL_MS, 2],
  ])("whatever its interval is: %s the least time between two renewals", (_, afterMs, puts) =>
    inGateway(async (made) => {
      made.loan = { intervalMs: 1000 };
      const socket = await made.connected("edge-1");
      await made.beat(socket);
      expect(await made.beat(socket, { afterMs })).toBe("answer");
      expect(made.puts.length).toBe(puts);
    }),
  );
});

describe("reports", () => {
  it("a heartbeat during a report → again over, no renewal", () =>
    inGateway(async (made) => {
      const socket = await made.connected("edge-1");
      const { promise, resolve } = Promise.withResolvers<void>();
      made.onReport = async ({ request: { name } }) => {
        await promise;
        return made.lent(name);
      };
      const reported = made.report(socket);
      expect(await made.beat(socket)).toBe("again over");
      resolve();
      await reported;
      expect([made.puts, socket.said.at(-1)]).toEqual([[], "report-answer 200"]);
    }));

  it("a report during a PUT → waits for it, and returns its result", () =>
    inGateway(async (made) => {
      const socket = await made.connected("edge-1");
      const put = Promise.withResolvers<void>();
      made.onPut = (lease) => put.promise.then(() => made.write(lease));
      const beaten = made.beat(socket);
      await made.untilPut(1);
      const reported = made.report(socket);
      expect(made.woken).toEqual(["edge-1 report"]);
      put.resolve();
      await Promise.all([beaten, reported]);
      expect(made.asked[1]).toMatchObject({
        returned: { lease: { metadata: { resourceVersion: "2" } }, requests: 1 },
      });
      expect(socket.said.slice(1)).toEqual(["answer", "report-answer 200"]);
    }));

  it("reports of one machine run one after the other; each returns the loan of the one before", () =>
    inGateway(async (made) => {
      const socket = await made.connected("edge-1");
      await Promise.all([made.report(socket), made.report(socket)]);
      expect(made.asked.map((each) => "returned" in each && (each.returned?.epoch ?? null))).toEqual([
        null,
        1,
        2,
      ]);
    }));

  it("a refusal is answered as over HTTP, and the socket is not accepted", () =>
    inGateway(async (made) => {
      made.onReport = () =>
        Promise.resolve({
          answer: { ok: false, error: { reason: "ticket-stale", ticket: "next" } },
          lent: null,
        });
      const socket = await made.connected("edge-1");
      expect(socket.last).toMatchObject({ status: 409, body: { reason: "ticket-stale", ticket: "next" } });
      expect(await made.gateway.reportNow("edge-1")).toBe(false);
      // An upgrade alone, which may be a replay, writes no row, and its end notifies no node object.
      expect(made.members).toEqual([]);
      await made.lose(socket);
      expect([made.woken, made.members]).toEqual([["edge-1 report"], []]);
    }));

  it("the machine does not get the gateway's number", () =>
    inGateway(async (made) => {
      const { answer, lent } = made.lent("edge-1");
      if (!answer.ok) throw new Error("refused");
      made.onReport = () =>
        Promise.resolve({ answer: { ok: true, value: { ...answer.value, gateway: 7 } }, lent });
      const socket = await made.connected("edge-1");
      expect(socket.last).toMatchObject({ status: 200, body: { phase: "registered", ticket: "t" } });
      expect(socket.last).not.toHaveProperty("body.gateway");
    }));

  it("the machine's object fails → 500, and the loan counts as lost", () =>
    inGateway(async (made) => {
      const socket = await made.connected("edge-1");
      made.onReport = () => Promise.reject(new Error("reset"));
      await made.report(socket);
      expect(socket.last).toMatchObject({ status: 500, body: { reason: "internal" } });
      made.onReport = undefined;
      await made.report(socket);
      expect(made.asked.at(-1)).toMatchObject({ what: "report", returned: null });
    }));

  it("the machine's object does not answer in time → 500", () =>
    inGateway(async (made) => {
      const socket = await made.opened("edge-1");
      made.onReport = () => new Promise(() => undefined);
      const reported = made.report(socket);
      await pass(REPORT_WITHIN_MS - 1);
      expect(socket.said).toEqual([]);
      await pass(1);
      await reported;
      expect(socket.said).toEqual(["report-answer 500"]);
    }));

  it("the socket closes while its object is late, and the object has the member → it is notified of the end", () =>
    inGateway(async (made) => {
      const socket = await made.opened("edge-1");
      made.onReport = async ({ gateway }) => {
        await made.gateway.noteMember("edge-1", gateway);
        return new Promise(() => undefined);
      };
      const reported = made.report(socket);
      await pass(REPORT_WITHIN_MS - 1);
      const lost = made.lose(socket);
      await pass(1);
      await Promise.all([reported, lost]);
      expect([made.asked[1], made.members]).toMatchObject([{ what: "ended", returned: null }, []]);
    }));

  it("the object adds a member long after its socket closed → notified of the end within half a minute", () =>
    inGateway(async (made) => {
      await made.gateway.noteMember("edge-1", 1);
      await made.pass(30_000);
      expect([made.asked[0], made.members]).toMatchObject([{ what: "ended", returned: null }, []]);
    }));

  it("a flood of reports → the object gets a burst up to the limit, then one a second", () =>
    inGateway(async (made) => {
      const { reportsAtOnce } = GATEWAY_LIMITS;
      const socket = await made.opened("edge-1");
      for (let reports = 0; reports < reportsAtOnce; reports++) await made.report(socket);
      made.nowMs += 1000;
      await made.report(socket);
      expect(made.asked.length).toBe(reportsAtOnce + 1);
      await made.report(socket);
      expect(made.woken.slice(reportsAtOnce + 1)).toEqual(["edge-1 ended"]);
      expect(socket.last).toEqual({ type: "closing", reason: "too often", comeBackInMs: AWAY_MS });
    }));

  it("the more machines a gateway has, the later one reconnects", () =>
    inGateway(async (made) => {
      for (let index = 0; index < 100; index++) await made.connected(`edge-${index}`);
      expect(made.sockets.at(-1)?.last).toMatchObject({ comeBackWithinMs: 6000 });
    }));
});

describe("another writer has the lease", () => {
  it("409 or 404 → again lease; the loan is returned without the lease, and the PUT is not repeated", () =>
    inGateway(async (made) => {
      const socket = await made.connected("edge-1");
      made.leases.delete("edge-1");
      expect(await made.beat(socket)).toBe("again lease");
      expect(await made.beat(socket)).toBe("again over");
      await made.report(socket);
      expect(made.puts.length).toBe(1);
      expect(made.asked[1]).toMatchObject({ returned: { lease: null, renewedAgoMs: null, requests: 1 } });
    }));
});

describe("the apiserver fails", () => {
  it("heartbeats are answered without a PUT, except probes; no machine's object is woken", () =>
    inGateway(async (made) => {
      const sockets = [];
      for (let index = 0; index < 500; index++) sockets.push(await made.connected(`edge-${index}`));
      const asked = made.asked.length;
      made.onPut = () => Promise.resolve(FAILED);
      made.nowMs += INTERVAL_MS;
      await Promise.all(sockets.map((socket) => made.beat(socket, { afterMs: 0 })));
      expect([...new Set(sockets.map(({ said }) => said.at(-1)))]).toEqual(["answer"]);
      const atOnce = made.puts.length;
      made.nowMs += INTERVAL_MS;
      await Promise.all(sockets.map((socket) => made.beat(socket, { afterMs: 0 })));
      expect([made.puts.length - atOnce, made.asked.length - asked]).toEqual([1, 0]);
      expect([...new Set(sockets.map(({ said }) => said.at(-1)))]).toEqual(["answer"]);
    }));

  it("the PUTs in progress fail at once, 495 wait → none wakes an object, also once the apiserver is back", () =>
    inGateway(async (made) => {
      const sockets = [];
      for (let index = 0; index < 500; index++) sockets.push(await made.connected(`edge-${index}`));
      const asked = made.asked.length;
      const { promise, resolve } = Promise.withResolvers<LeasePut>();
      made.onPut = () => promise;
      made.nowMs += INTERVAL_MS;
      const beaten = sockets.map((socket) => made.beat(socket, { afterMs: 0 }));
      await made.untilPut(PUTS_AT_ONCE);
      resolve(NO_ANSWER);
      await Promise.all(beaten);
      made.onPut = undefined;
      made.nowMs += INTERVAL_MS;
      for (const socket of sockets) expect(await made.beat(socket, { afterMs: 0 })).toBe("answer");
      expect([made.puts.length, made.asked.length - asked]).toEqual([PUTS_AT_ONCE + 500, 0]);
    }));

  it("one PUT is slow and another's is answered meanwhile → the other continues; Retry-After applies to both", () =>
    inGateway(async (made) => {
      const [slow, neighbour] = [await made.connected("edge-1"), await made.connected("edge-2")];
      const { promise, resolve } = Promise.withResolvers<LeasePut>();
      made.onPut = () => promise;
      made.nowMs += INTERVAL_MS;
      const beaten = made.beat(slow, { afterMs: 0 });
      await made.untilPut(1);
      made.onPut = undefined;
      await made.beat(neighbour, { afterMs: 0 });
      resolve(NO_ANSWER);
      expect([await beaten, made.gateway.status()?.isSuspended]).toEqual(["answer", false]);
      made.onPut = () => Promise.resolve({ ...FAILED, retryAfterMs: 30_000 });
      await made.beat(slow);
      expect(made.gateway.status()?.isSuspended).toBe(true);
    }));

  it("a PUT took effect without an answer → the next PUT shows it, and the loan is returned without the lease", () =>
    inGateway(async (made) => {
      const socket = await made.connected("edge-1");
      made.onPut = (lease) => {
        made.write(lease);
        return Promise.resolve(NO_ANSWER);
      };
      expect(await made.beat(socket)).toBe("answer");
      expect((await made.gateway.heldLoan("edge-1"))?.lease).toBeNull();
      made.onPut = undefined;
      expect(await made.beat(socket)).toBe("again lease");
    }));

  it("each loan ends a lease duration after its last renewal, by its machine's clock", () =>
    inGateway(async (made) => {
      const socket = await made.connected("edge-1");
      await made.beat(socket);
      made.onPut = () => Promise.resolve(FAILED);
      for (let beats = 0; beats < 3; beats++) expect(await made.beat(socket)).toBe("answer");
      expect(await made.beat(socket)).toBe("again over");
    }));

  it("PutLease throws → counts as a PUT without an answer", () =>
    inGateway(async (made) => {
      const socket = await made.connected("edge-1");
      made.onPut = () => Promise.reject(new Error("a bug"));
      expect(await made.beat(socket)).toBe("answer");
      made.onPut = undefined;
      expect(await made.beat(socket)).toBe("answer");
      expect(made.leases.get("edge-1")?.metadata?.resourceVersion).toBe("2");
    }));
});

describe("the clock is put back", () => {
  it("the loan ends", () =>
    inGateway(async (made) => {
      const socket = await made.connected("edge-1");
      await made.beat(socket);
      expect(await made.beat(socket, { afterMs: -1 })).toBe("again over");
      await made.report(socket);
      expect(await made.beat(socket)).toBe("answer");
    }));
});

describe("an eviction", () => {
  it("between heartbeats → again no session; the next report returns an unknown result", () =>
    inGateway(async (made) => {
      const socket = await made.connected("edge-1");
      await made.beat(socket);
      made.evict();
      expect(await made.beat(socket)).toBe("again no session");
      await made.report(socket);
      expect(made.asked.at(-1)).toMatchObject({ what: "report", returned: null });
      expect(await made.beat(socket)).toBe("answer");
    }));

  it("between a loan and its first heartbeat → again no session", () =>
    inGateway(async (made) => {
      const socket = await made.connected("edge-1");
      made.evict();
      expect(await made.beat(socket)).toBe("again no session");
    }));

  it("during a PUT that takes effect → no further renewal under that loan", () =>
    inGateway(async (made) => {
      const socket = await made.connected("edge-1");
      made.onPut = () => new Promise(() => undefined);
      void made.beat(socket);
      await made.untilPut(1);
      made.evict();
      made.onPut = undefined;
      expect(await made.beat(socket)).toBe("again no session");
      expect(await made.gateway.withdraw("edge-1", 9)).toBeNull();
      expect(made.puts.length).toBe(1);
    }));

  it("before the first loan arrives, and the machine does not return → its object is notified", () =>
    inGateway(async (made) => {
      const socket = await made.opened("edge-1");
      made.onReport = async ({ gateway }) => {
        await made.gateway.noteMember("edge-1", gateway);
        return new Promise(() => undefined);
      };
      void made.report(socket);
      await made.untilWoken(1);
      made.sockets.length = 0;
      made.evict();
      await made.pass(30_000);
      expect(made.asked[1]).toMatchObject({ what: "ended", returned: null });
    }));

  it("the accepted socket remains the machine's: it can be asked for a report, and dismissed", () =>
    inGateway(async (made) => {
      const socket = await made.connected("edge-1");
      made.evict();
      expect(await made.gateway.reportNow("edge-1")).toBe(true);
      await made.gateway.dismiss("edge-1", "left");
      expect(socket.said.slice(1)).toEqual(["report-now", "left"]);
      expect(made.members).toEqual([]);
    }));
});

describe("a withdrawal", () => {
  it("takes the loan: the next heartbeat renews nothing", () =>
    inGateway(async (made) => {
      const socket = await made.connected("edge-1");
      await made.beat(socket);
      expect(await made.gateway.withdraw("edge-1", 1)).toMatchObject({ epoch: 1, requests: 1 });
      expect(await made.gateway.withdraw("edge-1", 1)).toBeNull();
      expect(await made.beat(socket)).toBe("again over");
      expect(made.puts.length).toBe(1);
    }));

  it("resolves once the PUT in progress has ended", () =>
    inGateway(async (made) => {
      const socket = await made.connected("edge-1");
      const put = Promise.withResolvers<void>();
      made.onPut = (lease) => put.promise.then(() => made.write(lease));
      const beaten = made.beat(socket);
      await made.untilPut(1);
      let isRecalled = false;
      const recalled = made.gateway.withdraw("edge-1", 1).finally(() => (isRecalled = true));
      await Promise.resolve();
      expect(isRecalled).toBe(false);
      put.resolve();
      expect(await recalled).toMatchObject({ lease: { metadata: { resourceVersion: "2" } } });
      await beaten;
    }));

  it("twice during one PUT → only one of them gets the loan", () =>
    inGateway(async (made) => {
      const socket = await made.connected("edge-1");
      const { promise, resolve } = Promise.withResolvers<LeasePut>();
      made.onPut = () => promise;
      const beating = made.beat(socket);
      await made.untilPut(1);
      const withdrawn = [1, 2].map((floor) => made.gateway.withdraw("edge-1", floor));
      resolve(FAILED);
      await beating;
      expect(await Promise.all(withdrawn)).toEqual([expect.objectContaining({ epoch: 1 }), null]);
    }));

  it("during a report whose object has just added the member → the member stays", () =>
    inGateway(async (made) => {
      const socket = await made.opened("edge-1");
      const members: string[][] = [];
      made.onReport = async ({ request: { name } }) => {
        await made.gateway.noteMember(name, GATEWAY);
        await made.gateway.withdraw(name, 0);
        members.push(made.members);
        return made.lent(name);
      };
      await made.report(socket);
      expect(members).toEqual([["edge-1"]]);
    }));

  it("arrives before its loan → the loan is dropped on arrival", () =>
    inGateway(async (made) => {
      const socket = await made.connected("edge-1");
      made.onReport = async ({ request: { name } }) => {
        const lent = made.lent(name);
        expect(await made.gateway.withdraw(name, lent.lent!.order.epoch)).toBeNull();
        return lent;
      };
      await made.report(socket);
      expect(socket.last).toMatchObject({ type: "report-answer", status: 200 });
      expect(socket.last).not.toHaveProperty("session");
      await made.beat(socket);
      expect([made.puts, await made.gateway.heldLoan("edge-1")]).toEqual([[], null]);
      made.onReport = undefined;
      await made.report(socket);
      expect(made.asked.at(-1)).toMatchObject({ returned: null });
    }));

  it("arrives too late → the newer loan stays", () =>
    inGateway(async (made) => {
      const socket = await made.connected("edge-1");
      await made.report(socket);
      expect(await made.gateway.withdraw("edge-1", 1)).toBeNull();
      expect(await made.beat(socket)).toBe("answer");
    }));

  it("of a machine without a socket → its member is deleted", () =>
    inGateway(async (made) => {
      const socket = await made.connected("edge-1");
      made.evict();
      made.sockets.splice(made.sockets.indexOf(socket), 1);
      expect(made.members).toEqual(["edge-1"]);
      expect(await made.gateway.withdraw("edge-1", 5)).toBeNull();
      expect(made.members).toEqual([]);
    }));
});

describe("heldLoan()", () => {
  it("returns what the gateway would return, and keeps the loan", () =>
    inGateway(async (made) => {
      const socket = await made.connected("edge-1");
      await made.beat(socket);
      expect(await made.gateway.heldLoan("edge-1")).toMatchObject({ epoch: 1, requests: 1, heardAgoMs: 0 });
      expect(await made.beat(socket)).toBe("answer");
      expect(await made.gateway.heldLoan("edge-2")).toBeNull();
    }));
});

describe("a dismissal", () => {
  it.each([
    ["left", { type: "left" }],
    ["moved", { type: "closing", reason: "moved", comeBackInMs: 0 }],
    ["refused", { type: "closing", reason: "refused", comeBackInMs: AWAY_MS }],
  ] as const)("%s: all sockets are closed, and the machine is forgotten", (why, frame) =>
    inGateway(async (made) => {
      const socket = await made.connected("edge-1");
      const next = await made.opened("edge-1");
      await made.gateway.dismiss("edge-1", why);
      expect([socket.last, next.last]).toEqual([frame, frame]);
      await made.beat(socket);
      await made.report(next);
      await made.lose(socket);
      expect([made.puts, made.members, made.woken]).toEqual([[], [], ["edge-1 report"]]);
    }),
  );
});

describe("a heartbeat that arrived before its machine's dismissal", () => {
  it("renews nothing", () =>
    inGateway(async (made) => {
      const socket = await made.connected("edge-1");
      made.nowMs += INTERVAL_MS;
      const beaten = made.receive(socket, await socket.beat(made.nowMs));
      await made.gateway.dismiss("edge-1", "refused");
      await beaten;
      expect(made.puts).toEqual([]);
    }));
});

describe("reportNow", () => {
  it("reaches the accepted socket", () =>
    inGateway(async (made) => {
      const next = await made.opened("edge-1");
      expect(await made.gateway.reportNow("edge-1")).toBe(false);
      await made.report(next);
      expect(await made.gateway.reportNow("edge-1")).toBe(true);
      expect(next.said).toEqual(["report-answer 200", "report-now"]);
      expect(await made.gateway.reportNow("edge-2")).toBe(false);
    }));
});

describe("reportNow while a PUT is under way", () => {
  it("reaches the socket at once; no further renewal, and the loan is returned with the report", () =>
    inGateway(async (made) => {
      const socket = await made.connected("edge-1");
      const put = Promise.withResolvers<void>();
      made.onPut = (lease) => put.promise.then(() => made.write(lease));
      const beaten = made.beat(socket);
      await made.untilPut(1);
      expect(await made.gateway.reportNow("edge-1")).toBe(true);
      expect(socket.said.slice(1)).toEqual(["report-now"]);
      put.resolve();
      expect(await beaten).toBe("report-now");
      expect(await made.beat(socket)).toBe("again over");
      await made.report(socket);
      expect(made.puts.length).toBe(1);
      expect(made.asked[1]).toMatchObject({
        returned: { epoch: 1, lease: { metadata: { resourceVersion: "2" } }, requests: 1 },
      });
      expect(await made.beat(socket)).toBe("answer");
    }));
});

describe("two sockets of one machine", () => {
  it("the later one replaces the earlier one with its first accepted report, and returns the earlier loan", () =>
    inGateway(async (made) => {
      const socket = await made.connected("edge-1");
      await made.beat(socket);
      const next = await made.connected("edge-1");
      expect(made.asked[1]).toMatchObject({ returned: { epoch: 1, requests: 1 } });
      expect(socket.last).toEqual({ type: "closing", reason: "replaced", comeBackInMs: AWAY_MS });
      await made.lose(socket);
      expect(await made.beat(next)).toBe("answer");
      expect(made.woken).toEqual(["edge-1 report", "edge-1 report"]);
      expect(made.members).toEqual(["edge-1"]);
    }));

  it("a third one that was opened since → stays", () =>
    inGateway(async (made) => {
      const socket = await made.opened("edge-1");
      made.nowMs += 1;
      const next = await made.opened("edge-1");
      await made.report(socket);
      expect(next.readyState).toBe(1);
      await made.report(next);
      expect([socket.readyState, next.readyState]).toEqual([3, 1]);
    }));

  it.each([
    ["an interval", INTERVAL_MS],
    ["a lease duration", LEASE_MS],
  ])("a heartbeat on the replaced socket, %s later → its machine's object is notified, once", (_, afterMs) =>
    inGateway(async (made) => {
      const socket = await made.connected("edge-1");
      await made.beat(socket);
      await made.connected("edge-1");
      made.nowMs += afterMs;
      const beat = await socket.beat(made.nowMs);
      await made.receive(socket, beat);
      await made.receive(socket, beat);
      expect(made.woken.slice(2)).toEqual(["edge-1 replaced beat"]);
      expect(made.puts.length).toBe(1);
    }),
  );

  it("a heartbeat on a replaced socket that had no loan → nothing, and no fault", () =>
    inGateway(async (made) => {
      made.onReport = async ({ request: { name } }) => ({ ...made.lent(name), lent: null });
      const socket = await made.connected("edge-1");
      await made.connected("edge-1");
      await made.receive(socket, await socket.beat(made.nowMs + 1));
      expect([made.woken.slice(2), made.log]).toEqual([[], []]);
    }));

  it.each([
    ["was sent before, and comes late", { atMs: -1 }, {}],
    ["has another MAC", { atMs: 1 }, { key: new Uint8Array(32).fill(8) }],
    ["has an old n", { atMs: 1 }, { n: 1 }],
    ["comes a lease duration later", { atMs: LEASE_MS + 1 }, {}],
  ])("one that %s is nothing", (_, { atMs }, how) =>
    inGateway(async (made) => {
      const socket = await made.connected("edge-1");
      await made.beat(socket);
      await made.connected("edge-1");
      const beat = await socket.beat(made.nowMs + atMs, how);
      made.nowMs += Math.max(atMs, 100);
      await made.receive(socket, beat);
      expect(made.woken.slice(2)).toEqual([]);
    }),
  );
});

describe("frames", () => {
  const report = (body: string) => JSON.stringify({ type: "report", token: "jwt", body });
  const most = LIMITS.bodyBytes - report("").length;

  it.each([
    ["at the limit", report("x".repeat(most)), "report-answer 200"],
    ["just over", report("x".repeat(most + 1)), "closing bad frame"],
    ["just over, in bytes", report("é".repeat(most / 2 + 1)), "closing bad frame"],
    ["of an unknown type", JSON.stringify({ type: "hello" }), "closing bad frame"],
    ["that are no JSON", "hello", "closing bad frame"],
    ["that are empty", "", "closing bad frame"],
    [
      "with another field",
      JSON.stringify({ type: "report", token: "", body: "", more: 1 }),
      "closing bad frame",
    ],
  ])("%s", (_, frame, said) =>
    inGateway(async (made) => {
      const socket = await made.opened("edge-1");
      await made.receive(socket, frame);
      expect(socket.said).toEqual([said]);
    }),
  );

  it("a binary frame", () =>
    inGateway(async (made) => {
      const socket = await made.opened("edge-1");
      await made.gateway.receive(socket, new ArrayBuffer(8));
      expect(socket.said).toEqual(["closing bad frame"]);
    }));

  it("a frame of a closed socket is ignored", () =>
    inGateway(async (made) => {
      const socket = await made.opened("edge-1");
      await made.receive(socket, "hello");
      await made.report(socket);
      expect([socket.said, made.asked]).toEqual([["closing bad frame"], []]);
    }));
});

describe("a socket closes", () => {
  it("its machine has closed its end → the gateway closes the other", () =>
    inGateway(async (made) => {
      const socket = await made.connected("edge-1");
      socket.readyState = 2;
      await made.gateway.closed(socket);
      expect(socket.readyState).toBe(3);
    }));

  it("during a report that gets no loan → its object is not notified: it knows no socket", () =>
    inGateway(async (made) => {
      const socket = await made.opened("edge-1");
      made.onReport = async ({ request: { name } }) => {
        await made.lose(socket);
        return { ...made.lent(name), lent: null };
      };
      await made.report(socket);
      expect([made.woken, made.members]).toEqual([["edge-1 report"], []]);
    }));

  it("its machine's object is notified at once, with the loan", () =>
    inGateway(async (made) => {
      const socket = await made.connected("edge-1");
      await made.beat(socket);
      made.nowMs += 1000;
      await made.lose(socket);
      expect(made.asked[1]).toMatchObject({ what: "ended", returned: { epoch: 1, heardAgoMs: 1000 } });
      expect(made.members).toEqual([]);
    }));

  it("after an eviction → the object learns when the machine was heard last", () =>
    inGateway(async (made) => {
      const socket = await made.connected("edge-1");
      await made.beat(socket);
      made.evict();
      made.nowMs += 1000;
      await made.lose(socket);
      expect(made.asked[1]).toMatchObject({ what: "ended", returned: null, heardAgoMs: 1000 });
    }));

  it("during its report → the loan that arrives is returned", () =>
    inGateway(async (made) => {
      const socket = await made.connected("edge-1");
      const { promise, resolve } = Promise.withResolvers<void>();
      made.onReport = async ({ request: { name } }) => {
        await promise;
        return made.lent(name);
      };
      const reported = made.report(socket);
      await made.untilWoken(2);
      const lost = made.lose(socket);
      resolve();
      await Promise.all([reported, lost]);
      expect(made.asked.map((each) => "returned" in each && (each.returned?.epoch ?? null))).toEqual([
        null,
        1,
        2,
      ]);
      expect([made.woken.at(-1), made.members]).toEqual(["edge-1 ended", []]);
    }));

  it("during its first report → the loan that arrives is returned", () =>
    inGateway(async (made) => {
      const socket = await made.opened("edge-1");
      const { promise, resolve } = Promise.withResolvers<void>();
      made.onReport = async ({ request: { name } }) => {
        await promise;
        return made.lent(name);
      };
      const reported = made.report(socket);
      await made.untilWoken(1);
      await made.lose(socket);
      resolve();
      await reported;
      expect(made.woken).toEqual(["edge-1 report", "edge-1 ended"]);
      expect(made.members).toEqual([]);
    }));

  it("its object cannot be reached → notified later, with an unknown result", () =>
    inGateway(async (made) => {
      const socket = await made.connected("edge-1");
      made.onEnded = () => Promise.reject(new Error("reset"));
      await made.lose(socket);
      expect(made.members).toEqual(["edge-1"]);
      made.onEnded = undefined;
      await made.pass(30_000);
      expect(made.asked.slice(1)).toMatchObject([
        { what: "ended", returned: { epoch: 1 } },
        { what: "ended", returned: null },
      ]);
      expect(made.members).toEqual([]);
    }));
});
