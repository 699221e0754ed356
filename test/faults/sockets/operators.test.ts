// Tests an operator and a machine on a socket: an action reaches the machine at once, and the machine's data are up
// to date although its node object sleeps.
import { describe, expect, it } from "vitest";
import type { Vitals } from "../../../shared/protocol/report.ts";
import type { TimelineAnswer } from "../../../shared/protocol/timeline.ts";
import { facts, HEALTHY, kube, operator, requestsAbout, setFault } from "../../worker/support/machine.ts";
import { SocketMachine } from "../../worker/support/socket-machine.ts";
import {
  asked,
  BEAT_MS,
  evictNode,
  GET_LEASE,
  LEASE_MS,
  lentBy,
  nextBeat,
  nodeOf,
  objectOf,
  onSocket,
  PUT_LEASE,
  renewedBy,
  shown,
  slug,
} from "./on-socket.ts";
import { shift } from "../../worker/support/clock.ts";

const GIB = 2 ** 30;
const REPORT_NOW = { type: "report-now" };
const ANSWER = { type: "answer" };
const OVER = { type: "again", reason: "over" };

const withMemory = (free: number): Vitals => ({
  signals: { ...HEALTHY.signals, "memory.available": [free, 8 * GIB] },
});

const states = [
  ["awake", false],
  ["evicted", true],
] as const;

describe.each(states)("an operator's action, the machine's object %s:", (state, isEvicted) => {
  it("registers a deleted Node → the machine is asked for a report at once, and its Node is back", async () => {
    const { name, socket } = await onSocket(slug("operator-registers", state));
    await kube("DELETE", `/api/v1/nodes/${name}`);
    await objectOf(name).noticeNode(null);
    expect(await renewedBy(name, async () => expect(await nextBeat(socket)).toEqual(OVER))).toBe(0);
    expect(await socket.report()).toMatchObject({ status: 200, body: { phase: "node deleted" } });
    expect(socket.session).toBeNull();
    if (isEvicted) await evictNode(name);
    expect((await operator("POST", `/v1/nodes/${name}/register`)).status).toBe(204);
    expect(await socket.next()).toEqual(REPORT_NOW);
    expect(await socket.report()).toMatchObject({ body: { phase: "registered", ready: true } });
    expect(await nodeOf(name)).toMatchObject({ metadata: { name } });
    shift(BEAT_MS);
    await lentBy(socket);
    expect(await renewedBy(name, () => nextBeat(socket))).toBe(1);
  });

  it("registers again while the lease is lent → the same result, and the report counts", async () => {
    const { name, socket } = await onSocket(slug("operator-registers-lent", state));
    await nextBeat(socket);
    if (isEvicted) await evictNode(name);
    expect((await operator("POST", `/v1/nodes/${name}/register`)).status).toBe(204);
    expect(await socket.next()).toEqual(REPORT_NOW);
    expect(await renewedBy(name, async () => expect(await nextBeat(socket)).toEqual(OVER))).toBe(0);
    expect(await renewedBy(name, () => socket.report())).toBe(1);
  });

  it("states that it needs no runtime → the machine is asked for a report at once", async () => {
    const { name, socket } = await onSocket(slug("operator-runtime", state));
    if (isEvicted) await evictNode(name);
    expect((await operator("PATCH", `/v1/nodes/${name}`, { runtime: "none" })).status).toBe(204);
    expect(await socket.next()).toEqual(REPORT_NOW);
    expect(await renewedBy(name, () => lentBy(socket))).toBe(1);
    expect(await shown(name)).toMatchObject({ runtime: "none" });
  });
});

describe("an apiserver that does not answer a gateway's PUT", () => {
  it("→ the machine is asked all the same, the lease is not read, and the report's PUT follows the gateway's", async () => {
    const { name, socket } = await onSocket("operator-slow-apiserver");
    shift(BEAT_MS);
    await setFault(name, { kind: "answers late", of: PUT_LEASE, times: 1 });
    socket.sendText(await socket.heartbeat());
    await asked(name, /^PUT/m);
    expect((await operator("PATCH", `/v1/nodes/${name}`, { runtime: "none" })).status).toBe(204);
    expect(await socket.next()).toEqual(REPORT_NOW);
    socket.sendText(await socket.reportFrame());
    await setFault(name, "");
    expect(await socket.next()).toEqual({
      ...ANSWER,
      n: 1,
      nonce: expect.any(String),
      nextInMs: expect.any(Number),
    });
    expect(await socket.answered()).toMatchObject({ status: 200, session: {} });
    expect((await requestsAbout(name)).filter((request) => GET_LEASE.test(request))).toEqual([]);
  });
});

describe("a cloned machine that an operator trusts again", () => {
  it("→ its socket gets the request for a report at once, and its lease is lent again", async () => {
    const { name, enrolled, socket } = await onSocket("operator-believes");
    const ids = { ...facts(name).machine!, machineID: "m-2", bootID: "b-2" };
    const copy = new SocketMachine(enrolled, "start-2");
    for (let turn = 0; turn < 2; turn++) {
      shift(BEAT_MS);
      await copy.http({ facts: facts(name, { machine: ids }) });
      shift(BEAT_MS);
      await socket.report();
    }
    expect(await socket.report()).toMatchObject({ body: { phase: "cloned" } });
    expect((await operator("POST", `/v1/nodes/${name}/believe`)).status).toBe(204);
    expect(await socket.next()).toEqual(REPORT_NOW);
    expect(await renewedBy(name, () => lentBy(socket))).toBe(1);
    expect(await renewedBy(name, () => nextBeat(socket))).toBe(1);
  });
});

describe.each(states)(
  "what is shown of a machine whose lease is lent, its object %s:",
  (state, isEvicted) => {
    it("transport, vitals, last report and deadlines are those of its last heartbeat", async () => {
      const { name, socket } = await onSocket(slug("shown-lent", state));
      const before = await shown(name);
      for (const free of [3, 2])
        expect(await nextBeat(socket, { vitals: withMemory(free * GIB) })).toMatchObject(ANSWER);
      const heardMs = Date.now();
      shift(1000);
      if (isEvicted) await evictNode(name);
      expect(await shown(name)).toMatchObject({
        ...before,
        transport: "socket",
        phase: "registered",
        isReady: true,
        vitals: withMemory(2 * GIB),
        lastReportAt: new Date(heardMs).toISOString(),
        skewMs: 0,
        deadlines: { lease: new Date(heardMs + LEASE_MS).toISOString(), status: before.deadlines.status },
        summary: { ...before.summary },
      });
      // Reading the machine has changed nothing: the next heartbeat still renews the lease.
      expect(await renewedBy(name, () => nextBeat(socket))).toBe(1);
    });

    it("a machine's clock that is wrong shows in its heartbeats", async () => {
      const { name, socket } = await onSocket(slug("shown-skew", state));
      shift(BEAT_MS);
      expect(await socket.beat({ at: Date.now() + 20_000 })).toMatchObject(ANSWER);
      if (isEvicted) await evictNode(name);
      expect(await shown(name)).toMatchObject({ skewMs: 20_000, isSkewed: false });
    });

    it("its timeline has the heartbeats' samples, and keeps them after the loan's return", async () => {
      const { name, socket } = await onSocket(slug("timeline-lent", state));
      const beganMs = Date.now();
      for (let beats = 1; beats <= 10; beats++)
        await nextBeat(socket, { vitals: withMemory(4 * GIB - beats * 2 ** 20) });
      if (isEvicted) await evictNode(name);
      const lowest = async () => {
        const since = new Date(beganMs).toISOString();
        const { body } = await operator<TimelineAnswer>("GET", `/v1/nodes/${name}/timeline?since=${since}`);
        const { "memory.available": values = [] } = body.samples.values;
        return Math.min(...values.filter((value) => value !== null));
      };
      expect(await lowest()).toBe(4 * GIB - 10 * 2 ** 20);
      shift(BEAT_MS);
      await lentBy(socket);
      expect(await lowest()).toBe(4 * GIB - 10 * 2 ** 20);
      if (isEvicted) await evictNode(name);
      await nextBeat(socket);
      expect(await lowest()).toBe(4 * GIB - 10 * 2 ** 20);
    });
  },
);

describe("the shown transport of a machine", () => {
  it("is the socket until it has reported over HTTP alone for two minutes", async () => {
    const { name, machine, socket } = await onSocket("transport-shown");
    // The loop waits because the fleet index gets its update in the background.
    while ((await shown(name)).summary?.transport !== "socket");
    socket.close();
    const seen: string[] = [];
    for (let reports = 0; reports <= 13; reports++) {
      shift(BEAT_MS);
      await machine.http();
      seen.push((await shown(name)).transport);
    }
    // The two minutes begin with the first report over HTTP, which shows that the socket has closed. Only the last
    // report is later than the end of the two minutes.
    expect(seen.join(" ")).toMatch(/^(socket ){13}http$/);
  });
});
