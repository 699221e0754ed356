// Tests the removal of a machine by itself or by an operator, with retries, and the data that remains.
import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { enrol, leave } from "../../node-shim/worker-link/requests.ts";
import { type Transport } from "../../node-shim/worker-link/exchange.ts";
import { registry } from "../../worker/env.ts";
import { NodeObject } from "../../worker/machine/node-object.ts";
import { makeMachineKey } from "../../node-shim/identity/identity.ts";
import { eventually, stateOf } from "../worker/support/clock.ts";
import { ADMIN_SECRET, ORIGIN } from "../worker/support/constants.ts";
import {
  type EnrolledMachine,
  enrolled,
  facts,
  HEALTHY,
  kube,
  mintToken,
  requestsAbout,
  send,
  setFault,
  shimOf,
  transport,
} from "../worker/support/machine.ts";

const nodePath = (name: string) => `/api/v1/nodes/${name}`;
const leasePath = (name: string) => `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${name}`;
const UNAUTHENTICATED = {
  ok: false,
  error: { reason: "refused", problem: { status: 401, reason: "unauthenticated" } },
};
const LEFT = { ok: true, value: { left: true } };
const GONE = { code: 404 };

async function reporting(name: string, startId?: string) {
  const machine = await enrolled(name);
  const report = shimOf(machine, startId);
  expect(await report(facts(name), HEALTHY)).toMatchObject({ ok: true, value: { phase: "registered" } });
  return { machine, report: () => report(facts(name), HEALTHY) };
}

async function remove(name: string, secret = ADMIN_SECRET): Promise<number> {
  const headers = { authorization: `Bearer ${secret}` };
  return (await send(`/v1/nodes/${name}`, { method: "DELETE", headers })).status;
}

const leaveAs = ({ name, key, kid }: EnrolledMachine, through: Transport = transport) =>
  leave(through, { name, origin: ORIGIN, key, kid });

const enrolling = ({ name, key }: Pick<EnrolledMachine, "name" | "key">, joinToken: string) =>
  enrol(transport, key, { name, origin: ORIGIN, joinToken, machineID: "m-1", systemUUID: "s-1" });

const cluster = async (name: string) => [
  await kube("GET", nodePath(name)),
  await kube("GET", leasePath(name)),
];

/** Returns the names of the tables of the machine's object, and the time of that object's alarm. */
const storedOf = (name: string) =>
  runInDurableObject(env.NODES.getByName(name), async (_, { storage }) => ({
    tables: storage.sql
      .exec("SELECT name FROM sqlite_master WHERE name NOT LIKE '\\_cf%' ESCAPE '\\'")
      .toArray(),
    alarm: await storage.getAlarm(),
  }));

describe.each<[string, (machine: EnrolledMachine) => Promise<unknown>, unknown]>([
  ["the machine leaves", leaveAs, LEFT],
  ["the operator removes it", ({ name }) => remove(name), 204],
])("%s", (_, go, done) => {
  const prefix = done === 204 ? "removed" : "left";

  it("→ Node and lease are gone, nothing is stored, reports get 401", async () => {
    const name = `${prefix}-gone`;
    const { machine, report } = await reporting(name);
    expect(await go(machine)).toMatchObject(done as object);
    expect(await cluster(name)).toMatchObject([GONE, GONE]);
    expect(await storedOf(name)).toEqual({ tables: [], alarm: null });
    expect(await report()).toMatchObject(UNAUTHENTICATED);
    expect(await cluster(name)).toMatchObject([GONE, GONE]);
  });

  it("→ its key is revoked; a new key with a new token is admitted", async () => {
    const name = `${prefix}-back`;
    const joinToken = await mintToken({ names: name, uses: 5 });
    const key = await makeMachineKey();
    const first = await enrolling({ name, key }, joinToken);
    if (!first.ok) throw new Error("not enrolled");
    await go({ name, key, ...first.value });
    const refused = { ok: false, error: { reason: "refused", problem: { reason: "token-refused" } } };
    expect(await enrolling({ name, key }, joinToken)).toMatchObject(refused);
    expect(await enrolling({ name, key }, await mintToken({ names: name }))).toMatchObject(refused);
    const again = { name, key: await makeMachineKey() };
    const second = await enrolling(again, await mintToken({ names: name }));
    if (!second.ok) throw new Error("not enrolled again");
    const report = shimOf({ ...again, kid: second.value.kid });
    expect(await report(facts(name), HEALTHY)).toMatchObject({ ok: true, value: { phase: "registered" } });
  });

  it("while the apiserver is down → its data stay, and no report is accepted; again → done", async () => {
    const name = `${prefix}-down`;
    const { machine, report } = await reporting(name);
    await setFault(name, "not today");
    const failed =
      done === 204
        ? 503
        : { ok: false, error: { reason: "refused", problem: { status: 503, reason: "not-removed" } } };
    expect(await go(machine)).toMatchObject(failed as object);
    expect(await report()).toMatchObject(UNAUTHENTICATED);
    await setFault(name, "");
    await evictDurableObject(env.NODES.getByName(name));
    expect(await report()).toMatchObject(UNAUTHENTICATED);
    expect(await go(machine)).toMatchObject(done as object);
    expect(await cluster(name)).toMatchObject([GONE, GONE]);
  });

  it("while the apiserver is down, without a retry → an alarm completes it once the apiserver answers", async () => {
    const name = `${prefix}-alarm`;
    const { machine } = await reporting(name);
    await setFault(name, "not today");
    await go(machine);
    const object = env.NODES.getByName(name);
    await runDurableObjectAlarm(object);
    expect(await cluster(name)).not.toMatchObject([GONE, GONE]);
    await setFault(name, "");
    // The object aborts itself when it deletes its data, so the call may fail.
    await runDurableObjectAlarm(object).catch(() => undefined);
    expect(await cluster(name)).toMatchObject([GONE, GONE]);
    expect(await storedOf(name)).toEqual({ tables: [], alarm: null });
  });

  it("whose Node another writer owns by now → Node and lease stay", async () => {
    const name = `${prefix}-foreign`;
    const { machine } = await reporting(name);
    await kube("DELETE", nodePath(name));
    await kube("POST", "/api/v1/nodes", { apiVersion: "v1", kind: "Node", metadata: { name } });
    const { metadata } = await kube("GET", nodePath(name));
    expect(await go(machine)).toMatchObject(done as object);
    expect(await cluster(name)).toMatchObject([{ metadata: { uid: metadata?.uid } }, {}]);
  });
});

describe("a removal", () => {
  it("repeated → 204", async () => {
    await reporting("removed-twice");
    expect(await remove("removed-twice")).toBe(204);
    expect(await remove("removed-twice")).toBe(204);
  });

  it("that ended before the object deleted its data → 204, and now they are deleted", async () => {
    const name = "removed-half";
    const { report } = await reporting(name);
    expect(await env.NODES.getByName(name).remove(name, "a test")).toMatchObject({ ok: true });
    await evictDurableObject(env.NODES.getByName(name));
    expect(await report()).toMatchObject(UNAUTHENTICATED);
    expect(await remove(name)).toBe(204);
    expect(await storedOf(name)).toEqual({ tables: [], alarm: null });
  });

  it("repeated after the machine returned with a new key → removes that, too: an operator asked for it", async () => {
    const name = "removed-and-new";
    await reporting(name);
    expect(await remove(name)).toBe(204);
    const { report } = await reporting(name);
    await env.NODES.getByName(name).forget();
    expect(await report()).toMatchObject({ ok: true });
    expect(await remove(name)).toBe(204);
    expect(await report()).toMatchObject(UNAUTHENTICATED);
  });

  it.each([
    ["of a name that never enrolled → 404", "never-enrolled", ADMIN_SECRET, 404],
    ["without the operator's secret → 403", "removed-403", "else", 403],
    ["of what cannot be a name → 400", "Not_A_Name", ADMIN_SECRET, 400],
  ])("%s", async (_, name, secret, status) => {
    expect(await remove(name, secret)).toBe(status);
  });

  it("in progress while a machine enrols → the enrolment waits, and the new machine's Node stays", async () => {
    const name = "removed-while-enrolling";
    await reporting(name);
    await requestsAbout(name);
    await setFault(name, { kind: "answers late", of: `^GET ${nodePath(name)}$`, times: 1 });
    const removed = remove(name);
    await eventually(async () => expect(await requestsAbout(name)).toContain(`GET ${nodePath(name)}`));
    const next = reporting(name, "start-2");
    const state = stateOf(next);
    // An enrolment that did not wait for the removal would end during these requests.
    for (let request = 0; request < 100 && !state.isOver; request++) await kube("GET", leasePath(name));
    await setFault(name, "");
    expect(await removed).toBe(204);
    const { report } = await next;
    expect(await cluster(name)).toMatchObject([{ kind: "Node" }, { kind: "Lease" }]);
    expect(await report()).toMatchObject({ ok: true, value: { phase: "registered" } });
  });

  it("during a report → nothing is restored", async () => {
    const name = "removed-during";
    const { report } = await reporting(name);
    const [, status] = await Promise.all([report(), remove(name)]);
    expect(status).toBe(204);
    expect(await cluster(name)).toMatchObject([GONE, GONE]);
  });
});

describe("a leave", () => {
  it("of a machine whose name another one has, unknown to its object → removes nothing", async () => {
    const name = "left-taken-over";
    const { machine } = await reporting(name);
    const key = await makeMachineKey();
    const joinToken = await mintToken({ names: name });
    await enrolling({ name, key }, joinToken);
    // The registry approves the machine, but its object does not receive the new pin.
    expect(await registry(env).approve(name, key.thumbprint, "a test")).toMatchObject({ ok: true });
    expect(await leaveAs(machine)).toEqual(LEFT);
    expect(await enrolling({ name, key }, joinToken)).toMatchObject({ ok: true });
  });

  it("during a write without an answer that takes effect later → nothing is restored", async () => {
    const name = "left-before-its-node";
    const machine = await enrolled(name);
    await setFault(name, { kind: "effect comes late", of: "^POST /api/v1/nodes$", times: 1 });
    expect(await shimOf(machine)(facts(name), HEALTHY)).toMatchObject({
      value: { phase: "apiserver unreachable" },
    });
    expect(await leaveAs(machine)).toEqual(LEFT);
    expect(await cluster(name)).toMatchObject([GONE, GONE]);
  });

  it("without a ticket → 409 with one; signed as a report → 401", async () => {
    const { machine } = await reporting("leave-signed");
    const statuses: number[] = [];
    const watched: Transport = async (request) => {
      const response = await transport(request);
      statuses.push(response.status);
      return response;
    };
    const asReport: Transport = (request) => transport({ ...request, path: "/v1/nodes/leave-signed/report" });
    expect(await leaveAs(machine, asReport)).toMatchObject(UNAUTHENTICATED);
    expect(await leaveAs(machine, watched)).toMatchObject(LEFT);
    expect(statuses).toEqual([409, 200]);
    expect(await leaveAs(machine)).toMatchObject(UNAUTHENTICATED);
  });
});

describe("a machine without requests to the apiserver left in its budget", () => {
  it("→ is removed at once; its object keeps its data until the budget is full again, so that enrolling again does not refill it", async () => {
    const name = "leaves-with-nothing-left";
    await reporting(name);
    const alarm = await runInDurableObject(env.NODES.getByName(name), async (_, state) => {
      const row = JSON.stringify({ renewals: 0, others: 0, recent: [], atMs: Date.now() });
      state.storage.sql.exec("INSERT OR REPLACE INTO records (key, value) VALUES ('requestsLeft', ?)", row);
      const object = new NodeObject(state, { ...env, MACHINE_REQUESTS: 20 });
      expect(await object.remove(name, "admin secret")).toMatchObject(LEFT);
      await object.forget();
      return state.storage.getAlarm();
    });
    expect(await cluster(name)).toMatchObject([GONE, GONE]);
    expect((await storedOf(name)).tables).not.toEqual([]);
    expect(alarm).toBeGreaterThan(Date.now() + 60_000);

    await evictDurableObject(env.NODES.getByName(name));
    await runDurableObjectAlarm(env.NODES.getByName(name)).catch(() => undefined);
    expect((await storedOf(name)).tables).toEqual([]);
  });
});
