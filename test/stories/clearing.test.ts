// Tests that an operator ends a condition which a problem detector of the machine holds: by the detectors of a real shim,
// over HTTP and a socket, for a silent machine, and only such conditions.
import { evictDurableObject, runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { parseMonitor } from "../../node-shim/sources/problems/config.ts";
import { ProblemConditions, ProblemEvents } from "../../node-shim/sources/problems/problem-state.ts";
import { readReportAnswer } from "../../node-shim/worker-link/answers.ts";
import type { Facts } from "../../shared/protocol/facts.ts";
import type { AuditEntry } from "../../shared/protocol/operator-answers.ts";
import { lentBy, onSocket, type OnSocket } from "../faults/sockets/on-socket.ts";
import { shift } from "../worker/support/clock.ts";
import { ADMIN_SECRET, VIEW_SECRET } from "../worker/support/constants.ts";
import { enrolled, facts, HEALTHY, kube, operator, send, shimOf } from "../worker/support/machine.ts";

const DEADLOCK = "KernelDeadlock";
const vitals = { ...HEALTHY, remainingSeconds: { [DEADLOCK]: 600, RaidDegraded: 600 } };

const RAID = {
  type: "RaidDegraded",
  status: "True",
  reason: "Missing",
  message: "",
  expiresInSeconds: 600,
} as const;

/** Returns a machine's problem detector, which reports next to a drop-in. */
function detecting() {
  const file = {
    plugin: "kmsg",
    conditions: [{ type: DEADLOCK, reason: "KernelHasNoDeadlock", message: "fine" }],
  };
  const parsed = parseMonitor(JSON.stringify(file));
  if (!parsed.ok) throw new Error(parsed.error);
  const events = new ProblemEvents("process", () => 0);
  const conditions = new ProblemConditions(
    parsed.value.conditions,
    () => 0,
    (event) => events.record("", event),
  );
  const factsOf = (name: string): Facts => {
    const held = Object.entries(conditions.stored()).map(([type, { mark }]) => [type, mark] as const);
    return {
      ...facts(name),
      dropIns: {
        resources: {},
        labels: {},
        conditions: [...conditions.list(), RAID],
        working: 1,
        failures: [],
      },
      problems: { ...events.facts(), held: Object.fromEntries(held) },
    };
  };
  return {
    factsOf,
    hangs: (reason = "DockerHung") => conditions.set(DEADLOCK, "True", reason, "task docker:7"),
    status: () => conditions.list()[0]?.status,
    /** Takes an answer of the Worker, as the shim does. */
    take: (answer: unknown) =>
      (readReportAnswer(answer)?.clears ?? []).filter((order) => conditions.clear(order)).length,
  };
}

/** Registers a machine whose condition is True. */
async function hanging(name: string) {
  const detector = detecting();
  const report = shimOf(await enrolled(name));
  const reports = async () => {
    const outcome = await report(detector.factsOf(name), vitals);
    if (!outcome.ok) throw new Error(JSON.stringify(outcome.error));
    return outcome.value;
  };
  await reports();
  detector.hangs();
  await reports();
  return { ...detector, reports };
}

const clear = (name: string, condition = DEADLOCK, more: object = {}) =>
  operator<{ silentSince?: string | null; reason?: string; detail?: string }>(
    "POST",
    `/v1/nodes/${name}/clear`,
    { condition, ...more },
  );

async function onNode(name: string): Promise<string | undefined> {
  const { status } = await kube("GET", `/api/v1/nodes/${name}`);
  return status?.conditions?.find(({ type }) => type === DEADLOCK)?.status;
}

describe("an operator ends a condition", () => {
  it("of a machine over HTTP → with the answer to its next report, and the order is over", async () => {
    const name = "clear-http";
    const { reports, take, status } = await hanging(name);
    expect(await onNode(name)).toBe("True");
    expect(await clear(name)).toEqual({ status: 202, body: { silentSince: null } });
    expect(take(await reports())).toBe(1);
    expect(status()).toBe("False");
    expect((await reports()).clears).toBeUndefined();
    expect(await onNode(name)).toBe("False");
    const audit = await operator<{ entries: AuditEntry[] }>("GET", `/v1/audit?target=${name}`);
    expect(audit.body.entries.map(({ who, what, detail }) => [who, what, detail])).toEqual([
      ["admin secret", "node.clear", DEADLOCK],
    ]);
  });

  it("and the answer is lost, the object evicted → the next answer has the order", async () => {
    const name = "clear-lost";
    const { reports, take } = await hanging(name);
    await clear(name);
    await reports();
    await evictDurableObject(env.NODES.getByName(name));
    expect(take(await reports())).toBe(1);
  });

  it("and the problem occurs again → the next one stays", async () => {
    const name = "clear-again";
    const { reports, take, hangs, status } = await hanging(name);
    await clear(name);
    const answer = await reports();
    expect(take(answer)).toBe(1);
    hangs();
    expect(take(answer)).toBe(0);
    expect((await reports()).clears).toBeUndefined();
    expect([status(), await onNode(name)]).toEqual(["True", "True"]);
  });

  it("of a silent machine → the answer names since when, and the order waits", async () => {
    const name = "clear-silent";
    const { reports, take } = await hanging(name);
    shift(60_000);
    await runDurableObjectAlarm(env.NODES.getByName(name));
    const { status, body } = await clear(name);
    expect([status, body]).toEqual([202, { silentSince: expect.stringMatching(/Z$/) as string }]);
    expect(take(await reports())).toBe(1);
  });

  it("and withdraws the order → no answer has it; without an order it is a conflict", async () => {
    const name = "clear-withdrawn";
    const { reports, take, status } = await hanging(name);
    const withdraw = () => clear(name, DEADLOCK, { withdraw: true });
    expect(await withdraw()).toMatchObject({
      status: 409,
      body: { detail: `No order to end ${DEADLOCK} waits.` },
    });
    await clear(name);
    expect(await withdraw()).toEqual({ status: 202, body: { silentSince: null } });
    expect(take(await reports())).toBe(0);
    expect(status()).toBe("True");
    const audit = await operator<{ entries: AuditEntry[] }>("GET", `/v1/audit?target=${name}`);
    expect(audit.body.entries.map(({ detail }) => detail)).toEqual([`${DEADLOCK}: withdrawn`, DEADLOCK]);
  });

  it("of a machine on a socket → the gateway asks for a report, whose answer has the order", async () => {
    const name = "clear-socket";
    const detector = detecting();
    const on: OnSocket = await onSocket(name);
    await lentBy(on.socket);
    detector.hangs();
    await on.socket.report({ facts: detector.factsOf(name), vitals });
    expect((await clear(name)).status).toBe(202);
    expect(await on.socket.next()).toEqual({ type: "report-now" });
    const { body } = await on.socket.report({ facts: detector.factsOf(name), vitals });
    expect(detector.take(body)).toBe(1);
  });
});

describe("refused, and nothing changes", () => {
  it.each([
    ["a condition of the kubelet", "Ready", "Ready follows from what the machine reports."],
    ["a pressure", "MemoryPressure", "MemoryPressure follows from what the machine reports."],
    ["a drop-in's", "RaidDegraded", "RaidDegraded is a drop-in's: the drop-in has to end it."],
    [
      "the name of a member of each object",
      "constructor",
      "No problem detector of the machine holds constructor.",
    ],
    ["another writer's, or an unknown one", "GpuLost", "No problem detector of the machine holds GpuLost."],
  ])("%s", async (_, condition, detail) => {
    const name = `clear-${condition.toLowerCase()}`;
    const { reports } = await hanging(name);
    expect(await clear(name, condition)).toMatchObject({ status: 409, body: { reason: "conflict", detail } });
    expect((await reports()).clears).toBeUndefined();
    const audit = await operator<{ entries: AuditEntry[] }>("GET", `/v1/audit?target=${name}`);
    expect(audit.body.entries).toEqual([]);
  });

  it("the kubelet's condition, although the machine claims to hold it", async () => {
    const name = "clear-claimed";
    const { factsOf } = detecting();
    const claimed = { start: "process", events: [], held: { Ready: "process.1" } };
    await shimOf(await enrolled(name))({ ...factsOf(name), problems: claimed }, vitals);
    expect(await clear(name, "Ready")).toMatchObject({ status: 409 });
  });

  it("a condition that is over", async () => {
    const name = "clear-over";
    const { reports, take } = await hanging(name);
    await clear(name);
    take(await reports());
    await reports();
    expect((await clear(name)).body.detail).toBe(`${DEADLOCK} is False: there is nothing to end.`);
  });

  it("a machine whose keys are revoked", async () => {
    const name = "clear-revoked";
    await hanging(name);
    await operator("POST", `/v1/nodes/${name}/revoke`);
    const detail = "The machine's keys are revoked, so that it gets no orders.";
    expect(await clear(name)).toMatchObject({ status: 409, body: { reason: "conflict", detail } });
  });

  it("a shim that sends no marks", async () => {
    const name = "clear-old";
    const { factsOf, hangs } = detecting();
    hangs();
    const { problems: _, ...known } = factsOf(name);
    await shimOf(await enrolled(name))(known, vitals);
    expect((await clear(name)).body.detail).toBe(
      `${DEADLOCK} is a drop-in's, or a problem detector's of a shim that is too old to end it for an operator.`,
    );
  });

  it.each([
    ["a viewer", VIEW_SECRET, 403],
    ["an unknown machine", ADMIN_SECRET, 404],
  ])("%s", async (_, secret, status) => {
    const headers = { authorization: `Bearer ${secret}` };
    const body = JSON.stringify({ condition: DEADLOCK });
    expect((await send("/v1/nodes/clear-none/clear", { method: "POST", headers, body })).status).toBe(status);
  });
});
