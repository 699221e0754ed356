// Tests a node object from its first report on: the requests to the apiserver, and the resulting Node.
import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import type { Lease } from "../../../shared/kubernetes/types.ts";
import type { ReportAnswer } from "../../../shared/protocol/answers.ts";
import type { HistoryAnswer } from "../../../shared/protocol/operator-answers.ts";
import { VERSION } from "../../../shared/version.ts";
import { reporter, type ReportOutcome } from "../../../node-shim/worker-link/reporter.ts";
import { type Transport } from "../../../node-shim/worker-link/exchange.ts";
import { ORIGIN } from "../support/constants.ts";
import {
  enrolled,
  facts,
  HEALTHY,
  indexIsUpdated,
  kube,
  operator,
  requestsAbout,
  setFault,
  shimOf,
  transport,
} from "../support/machine.ts";
import { shift } from "../support/clock.ts";

const GIB = 2 ** 30;
const MACHINE_TIME = "2026-01-02T03:04:05Z";
const UNDER_PRESSURE = {
  signals: { ...HEALTHY.signals, "memory.available": [1024, 8 * GIB] as [number, number] },
};

const nodePath = (name: string) => `/api/v1/nodes/${name}`;
const leasePath = (name: string) => `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${name}`;
const getNode = (name: string) => kube("GET", nodePath(name));
const getLease = (name: string) => kube<Lease>("GET", leasePath(name));
const objectOf = (name: string) => env.NODES.getByName(name);

function answerOf(outcome: ReportOutcome): ReportAnswer {
  if (!outcome.ok) throw new Error(JSON.stringify(outcome));
  return outcome.value;
}

const EVENTS = "POST /api/v1/namespaces/default/events";

/** Returns a machine that has reported twice: its Node is registered, and its next report is quiet. */
async function steady(name: string) {
  const machine = await enrolled(name);
  const report = shimOf(machine);
  await report(facts(name), HEALTHY);
  await report(facts(name), HEALTHY);
  await runDurableObjectAlarm(objectOf(name));
  await indexIsUpdated(name);
  await requestsAbout(name);
  return { machine, report };
}

/** Returns the stored records, by key. */
function rowsOf(name: string): Promise<Record<string, string>> {
  return runInDurableObject(objectOf(name), (_, state) =>
    Object.fromEntries(
      state.storage.sql
        .exec<{ key: string; value: string }>("SELECT key, value FROM records")
        .toArray()
        .map(({ key, value }) => [key, value]),
    ),
  );
}

describe("the answer to a report", () => {
  it.each([
    ["older than the Worker", "0.0.1", VERSION],
    ["as new", VERSION, undefined],
    ["newer", "999.0.0", undefined],
    ["of no version", "dev", undefined],
  ])("a shim that is %s → has the Worker's version where that is to be known", async (_, shim, told) => {
    const name = `shim-${shim}`;
    const report = shimOf(await enrolled(name));
    const known = facts(name);
    const versions = { kernel: "6.1", osImage: "Debian", shim };
    const { workerVersion } = answerOf(await report({ ...known, versions }, HEALTHY));
    expect(workerVersion).toBe(told);
  });
});

describe("the first report", () => {
  it("creates the Node with its status, and its lease", async () => {
    const report = shimOf(await enrolled("first-report"));
    expect(answerOf(await report(facts("first-report"), HEALTHY))).toMatchObject({
      phase: "registered",
      ready: true,
    });
    const node = await getNode("first-report");
    expect(node.metadata?.annotations).toMatchObject({ "rollcall.dev/owner": "rollcall" });
    expect(node.metadata?.labels).toMatchObject({
      "rollcall.dev/hostname": "first-report",
      "rollcall.dev/arch": "amd64",
    });
    expect(node.spec?.taints).toContainEqual({ key: "rollcall.dev/facts-only", effect: "NoSchedule" });
    expect(node.status?.capacity).toMatchObject({
      cpu: "4",
      memory: "8Gi",
      pods: "110",
      "ephemeral-storage": "107374182400",
    });
    expect(node.status?.conditions?.map(({ type, status }) => `${type}=${status}`)).toEqual([
      "MemoryPressure=False",
      "DiskPressure=False",
      "PIDPressure=False",
      "Ready=True",
    ]);
    const lease = await getLease("first-report");
    expect(lease.spec).toMatchObject({ holderIdentity: "first-report", leaseDurationSeconds: 40 });
    expect(lease.metadata?.annotations).toMatchObject({ "rollcall.dev/owner": "rollcall" });
    expect(lease.metadata?.ownerReferences).toEqual([
      { apiVersion: "v1", kind: "Node", name: "first-report", uid: node.metadata?.uid },
    ]);
  });

  it("of a new machine → two requests: what was just created is not read or written again", async () => {
    const name = "first-requests";
    const machine = await enrolled(name);
    const answer = answerOf(await shimOf(machine)(facts(name), HEALTHY));
    expect(answer).toMatchObject({ phase: "registered", ready: true });
    const leases = leasePath(name).slice(0, -name.length - 1);
    const requests = await requestsAbout(name);
    expect(requests.slice(0, 2)).toEqual(["POST /api/v1/nodes", `POST ${leases}`]);
    // The events are sent after the writes of Node and lease, before the Worker answers.
    expect(new Set(requests.slice(2))).toEqual(new Set(requests.slice(2).map(() => EVENTS)));
    // The next report is at a random time, so that machines that started together report at different times.
    expect(answer.reportInMs).toBeGreaterThanOrEqual(3760);
    expect(answer.reportInMs).toBeLessThanOrEqual(9800);
  });

  it("of a kernel that cannot cap CPU → Ready, with the kubelet's warning", async () => {
    const name = "no-hardcapping";
    const without = facts(name, { cgroups: { cpuHardcapping: false } });
    await shimOf(await enrolled(name))(without, HEALTHY);
    expect((await getNode(name)).status?.conditions?.at(-1)).toMatchObject({
      status: "True",
      message: "machine is posting ready status. WARNING: CPU hardcapping unsupported",
    });
  });

  it("under the enrolment's ticket → is not challenged", async () => {
    const name = "first-ticket";
    const machine = await enrolled(name);
    const statuses: number[] = [];
    const send: Transport = async (request) => {
      const response = await transport(request);
      statuses.push(response.status);
      return response;
    };
    const report = reporter({
      ...machine,
      origin: ORIGIN,
      startId: "s",
      send,
      machineTime: () => MACHINE_TIME,
    });
    await report(facts(name), HEALTHY);
    expect(statuses).toEqual([200]);
  });

  it("finds the lease of an earlier Node of this name → renews it, owned by the new Node", async () => {
    const name = "first-lease-left";
    const left = {
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: { name, namespace: "kube-node-lease" },
      spec: { holderIdentity: name, leaseDurationSeconds: 40 },
    };
    await kube("POST", leasePath(name).slice(0, -name.length - 1), left);
    const report = shimOf(await enrolled(name));
    expect(answerOf(await report(facts(name), HEALTHY))).toMatchObject({ phase: "registered", ready: true });
    const { metadata, spec } = await getLease(name);
    expect(metadata?.ownerReferences).toMatchObject([{ uid: (await getNode(name)).metadata?.uid }]);
    expect(spec?.renewTime).toBeDefined();
  });

  it.each([
    ["permits it", true, ["example.com/shop"]],
    ["does not", false, ["rollcall.dev/facts-only", "example.com/shop"]],
  ])(
    "registerWithTaints replaces the facts-only taint where the token %s",
    async (_, withoutFactsOnlyTaint, taints) => {
      const name = `taints-${withoutFactsOnlyTaint}`;
      const machine = await enrolled(name, { withoutFactsOnlyTaint });
      const { settings } = facts(name);
      const registerWithTaints = [{ key: "example.com/shop", effect: "NoSchedule" as const }];
      await shimOf(machine)(facts(name, { settings: { ...settings, registerWithTaints } }), HEALTHY);
      const keys = (await getNode(name)).spec?.taints?.map(({ key }) => key) ?? [];
      expect(keys.filter((key) => !key.startsWith("node.kubernetes.io/"))).toEqual(taints);
    },
  );

  it("for a name whose Node another writer has → name taken, and nothing is written", async () => {
    const name = "somebody-elses";
    await kube("POST", "/api/v1/nodes", { apiVersion: "v1", kind: "Node", metadata: { name } });
    const before = await getNode(name);
    const report = shimOf(await enrolled(name));
    expect(answerOf(await report(facts(name), HEALTHY))).toMatchObject({ phase: "name taken", ready: false });
    expect(await getNode(name)).toEqual(before);
    expect(await getLease(name)).toMatchObject({ code: 404 });
  });
});

describe("a steady heartbeat", () => {
  it("in memory → one request, a renewed lease, no row written", async () => {
    const name = "steady-warm";
    const { report } = await steady(name);
    const [rows, lease] = [await rowsOf(name), await getLease(name)];
    await report(facts(name), HEALTHY);
    expect(await requestsAbout(name)).toEqual([`PUT ${leasePath(name)}`]);
    expect(await rowsOf(name)).toEqual(rows);
    expect(Date.parse((await getLease(name)).spec?.renewTime ?? "")).toBeGreaterThanOrEqual(
      Date.parse(lease.spec?.renewTime ?? ""),
    );
    expect((await getLease(name)).spec?.renewTime).not.toBe(lease.spec?.renewTime);
  });

  it("after an eviction → a challenge, the lease is read and renewed, no row written", async () => {
    const name = "steady-cold";
    const { report } = await steady(name);
    const [rows, node] = [await rowsOf(name), await getNode(name)];
    await evictDurableObject(objectOf(name));
    expect(answerOf(await report(facts(name), HEALTHY))).toMatchObject({ phase: "registered", ready: true });
    expect(await requestsAbout(name)).toEqual([`GET ${leasePath(name)}`, `PUT ${leasePath(name)}`]);
    expect(await rowsOf(name)).toEqual(rows);
    expect(await getNode(name)).toEqual(node);
  });
});

describe("a status that is written because it is due", () => {
  it("costs no row, and an eviction after the next renewal does not repeat it", async () => {
    const name = "periodic";
    const { report } = await steady(name);
    const rows = await rowsOf(name);
    // The status is written every 5 minutes, plus a random time up to half of that. Each report renews the lease.
    const status: string[] = [];
    for (let beat = 0; beat < 46; beat++) {
      shift(10_000);
      await report(facts(name), HEALTHY);
      status.push(...(await requestsAbout(name)).filter((request) => request.endsWith("/status")));
    }
    expect(status.length).toBeGreaterThanOrEqual(1);
    expect(status.length).toBeLessThanOrEqual(3);
    expect(await rowsOf(name)).toEqual(rows);
    await report(facts(name), HEALTHY);
    await evictDurableObject(objectOf(name));
    await requestsAbout(name);
    await report(facts(name), HEALTHY);
    expect(await requestsAbout(name)).toEqual([`GET ${leasePath(name)}`, `PUT ${leasePath(name)}`]);
  });
});

describe("a clock that is set back after a due status was written", () => {
  it.each([
    ["warm", false],
    ["evicted", true],
  ])("moves no heartbeat back, object %s", async (heat, cold) => {
    const name = `put-back-${heat}`;
    const { report } = await steady(name);
    const heartbeat = async () => (await getNode(name)).status?.conditions?.at(-1)?.lastHeartbeatTime ?? "";
    const first = await heartbeat();
    for (let beats = 0; (await heartbeat()) === first && beats < 50; beats++) {
      shift(10_000);
      await report(facts(name), HEALTHY);
    }
    await report(facts(name), HEALTHY);
    const written = await heartbeat();
    expect(written > first).toBe(true);
    if (cold) await evictDurableObject(objectOf(name));
    shift(-20_000);
    for (let beats = 0; beats < 3; beats++) {
      await report(facts(name), UNDER_PRESSURE);
      await report(facts(name), HEALTHY);
      expect((await heartbeat()) >= written).toBe(true);
    }
  });
});

describe("an apiserver that stays unreachable", () => {
  it("costs no row per report, alarms included, while the machine reports no change", async () => {
    const name = "stays-away";
    const { report } = await steady(name);
    await setFault(name, "html");
    await report(facts(name), UNDER_PRESSURE);
    const alarm = () => runInDurableObject(objectOf(name), (_, state) => state.storage.getAlarm());
    await indexIsUpdated(name);
    const [rows, alarmAt] = [await rowsOf(name), await alarm()];
    await report(facts(name), UNDER_PRESSURE);
    expect(await rowsOf(name)).toEqual(rows);
    expect(await alarm()).toBe(alarmAt);
    expect(alarmAt).toBeGreaterThan(Date.now() + 10_000);
    await setFault(name, "");
  });
});

describe("a change", () => {
  it("of a condition → one patch of the status, with the Node's uid; the next report's answer confirms it", async () => {
    const name = "flips";
    const { report } = await steady(name);
    await report(facts(name), UNDER_PRESSURE);
    expect(await requestsAbout(name)).toEqual([
      `PUT ${leasePath(name)}`,
      `PATCH ${nodePath(name)}/status`,
      // The event of the crossed threshold, and the event of the changed condition.
      EVENTS,
      EVENTS,
    ]);
    const conditions = (await getNode(name)).status?.conditions ?? [];
    expect(conditions.find(({ type }) => type === "MemoryPressure")?.status).toBe("True");
  });

  it("of the facts → a new status; unchanged parts stay", async () => {
    const name = "grows";
    const { report } = await steady(name);
    const { machine } = facts(name);
    await report(facts(name, { machine: { ...machine!, memoryBytes: 16 * GIB } }), HEALTHY);
    expect((await getNode(name)).status?.capacity).toMatchObject({ cpu: "4", memory: "16Gi" });
  });

  it.each(["machine", "storage"] as const)(
    "of the %s's facts to unreadable ones → the last good capacity stays, and what is kept of it",
    async (group) => {
      const name = `unreadable-${group}`;
      const { report } = await steady(name);
      const { capacity, allocatable } = (await getNode(name)).status ?? {};
      expect(capacity).toMatchObject({ cpu: "4", memory: "8Gi", "ephemeral-storage": "107374182400" });
      const { [group]: _, ...rest } = facts(name);
      await report(rest, HEALTHY);
      expect((await getNode(name)).status).toMatchObject({ capacity, allocatable });
    },
  );
});

describe("the apiserver", () => {
  it.each([
    ["refuses (500)", "the database is gone", "apiserver refuses"],
    ["is a tunnel's error page", "html", "apiserver unreachable"],
  ])("%s → 200 with the phase; well again → registered", async (_, fault, phase) => {
    const name = `fault-${fault.slice(0, 4).trim()}`;
    const { report } = await steady(name);
    await setFault(name, fault);
    expect(answerOf(await report(facts(name), HEALTHY))).toMatchObject({ phase });
    await setFault(name, "");
    expect(answerOf(await report(facts(name), HEALTHY))).toMatchObject({ phase: "registered", ready: true });
  });

  it("refuses from the start → reports come sooner, and the Node is created once the apiserver works", async () => {
    const name = "down-from-the-start";
    const report = shimOf(await enrolled(name));
    await setFault(name, "not today");
    const delays = [];
    for (let attempt = 0; attempt < 3; attempt++)
      delays.push(answerOf(await report(facts(name), HEALTHY)).reportInMs);
    // Each delay is twice the one before, and up to a quarter shorter at random, so that machines do not return
    // together.
    for (const [attempt, mostMs] of [200, 400, 800].entries()) {
      expect(delays[attempt]).toBeLessThanOrEqual(mostMs);
      expect(delays[attempt]).toBeGreaterThanOrEqual(0.75 * mostMs);
    }
    await setFault(name, "");
    expect(answerOf(await report(facts(name), HEALTHY))).toMatchObject({ phase: "registered", ready: true });
  });

  it("has lost the Node → node deleted, until the shim starts again", async () => {
    const name = "deleted";
    const { machine, report } = await steady(name);
    await kube("DELETE", nodePath(name));
    await kube("DELETE", leasePath(name));
    expect(answerOf(await report(facts(name), HEALTHY))).toMatchObject({
      phase: "node deleted",
      ready: false,
    });
    await requestsAbout(name);
    expect(answerOf(await report(facts(name), HEALTHY))).toMatchObject({ phase: "node deleted" });
    expect(await requestsAbout(name)).toEqual([]);
    const restarted = shimOf(machine, "start-2");
    expect(answerOf(await restarted(facts(name), HEALTHY))).toMatchObject({
      phase: "registered",
      ready: true,
    });
    expect((await getNode(name)).status?.capacity).toMatchObject({ cpu: "4" });
  });
});

describe("a restarted shim", () => {
  it("finds its Node, reconciles, and keeps its uid", async () => {
    const name = "restarted";
    const { machine } = await steady(name);
    const before = await getNode(name);
    const restarted = shimOf(machine, "start-2");
    expect(answerOf(await restarted(facts(name), HEALTHY))).toMatchObject({
      phase: "registered",
      ready: true,
    });
    expect((await requestsAbout(name)).slice(0, 2)).toEqual(["POST /api/v1/nodes", `GET ${nodePath(name)}`]);
    expect((await getNode(name)).metadata?.uid).toBe(before.metadata?.uid);
  });
});

describe("the answer", () => {
  it("asks for the next report 2 to 6 % before the interval", async () => {
    const { report } = await steady("next-report");
    const { reportInMs } = answerOf(await report(facts("next-report"), HEALTHY));
    expect(reportInMs).toBeGreaterThanOrEqual(9400);
    expect(reportInMs).toBeLessThanOrEqual(9800);
  });
});

it("an alarm of a revoked machine after an eviction → no request, and no further alarm", async () => {
  const name = "alarm-revoked";
  await steady(name);
  await operator("POST", `/v1/nodes/${name}/revoke`);
  await requestsAbout(name);
  await evictDurableObject(objectOf(name));
  await runInDurableObject(objectOf(name), (_, { storage }) => storage.setAlarm(Date.now() + 60_000));
  await runDurableObjectAlarm(objectOf(name));
  expect(await requestsAbout(name)).toEqual([]);
  expect(await runInDurableObject(objectOf(name), (_, { storage }) => storage.getAlarm())).toBeNull();
});

it("another machine gets a silent machine's name → the silence ends with the enrolment", async () => {
  const name = "silent-name";
  await enrolled(name);
  const silentSinceMs = Date.now() - 3600_000;
  await runInDurableObject(objectOf(name), (_, { storage }) =>
    storage.sql.exec("INSERT INTO records (key, value) VALUES ('silentSinceMs', ?)", String(silentSinceMs)),
  );
  await evictDurableObject(objectOf(name));
  await objectOf(name).enrol({
    name,
    thumbprint: "another",
    nextThumbprint: null,
    generation: Number.MAX_SAFE_INTEGER,
    token: "t",
    machine: { key: "x", machineID: "m-2", systemUUID: "s-2", address: "" },
    pinnedAtMs: 0,
    reportedAtMs: null,
    revokedAtMs: null,
    grant: { withoutFactsOnlyTaint: false },
  });
  const { body } = await operator<HistoryAnswer>("GET", `/v1/nodes/${name}/history?kind=silence`);
  expect(body.entries.map(({ text }) => text)).toEqual([
    expect.stringMatching(/^heard of again after \d+ s$/),
  ]);
  expect((await rowsOf(name)).silentSinceMs).toBe("null");
});
