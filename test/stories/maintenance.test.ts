// Tests a machine's maintenance: an operator orders it, the Node has the conditions at once, with and without reports,
// and it ends by itself.
import { evictDurableObject, runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import type { AuditEntry, HistoryAnswer } from "../../shared/protocol/operator-answers.ts";
import { currentMs } from "../../worker/clock.ts";
import { shift } from "../worker/support/clock.ts";
import { enrolled, facts, HEALTHY, kube, operator, setFault, shimOf } from "../worker/support/machine.ts";

const HOUR = 3_600_000;
const objectOf = (name: string) => env.NODES.getByName(name);
const path = (name: string) => `/api/v1/nodes/${name}`;

async function reporting(name: string) {
  const report = shimOf(await enrolled(name));
  const send = (vitals = HEALTHY) => report(facts(name), vitals);
  await send();
  return send;
}

async function order(name: string, stage: string, hours?: number, comment?: string): Promise<number> {
  const until = hours === undefined ? {} : { until: new Date(currentMs() + hours * HOUR).toISOString() };
  const maintenance = { stage, ...until, ...(comment !== undefined && { comment }) };
  const { status } = await operator("PATCH", `/v1/nodes/${name}`, { maintenance });
  await runDurableObjectAlarm(objectOf(name));
  return status;
}

/** Returns the maintenance's conditions on the Node, and whether Ready is the last condition. */
async function onNode(name: string): Promise<string[]> {
  const conditions = (await kube("GET", path(name))).status?.conditions ?? [];
  expect(conditions.at(-1)?.type).toBe("Ready");
  return conditions
    .filter(({ type }) => type.startsWith("Maintenance"))
    .map(({ type, status, reason }) => `${type}=${status} ${reason}`);
}

const PLANNED = "MaintenancePlanned=True AdminRequested";
const BEGUN = ["MaintenancePlanned=False MaintenanceWindow", "MaintenanceInProgress=True MaintenanceWindow"];
const OVER = ["MaintenancePlanned=False MaintenanceWindow", "MaintenanceInProgress=False MaintenanceWindow"];

it("planned and begun while the machine reports → on the Node at once, and after its reports; it ends by itself", async () => {
  const name = "maintained";
  const send = await reporting(name);
  expect(await order(name, "plan", 48, "new disk")).toBe(204);
  expect(await onNode(name)).toEqual([PLANNED]);
  expect(await order(name, "begin", 4)).toBe(204);
  await send();
  expect(await onNode(name)).toEqual(BEGUN);
  await evictDurableObject(objectOf(name));
  shift(4 * HOUR + 1000);
  await runDurableObjectAlarm(objectOf(name));
  expect(await onNode(name)).toEqual(OVER);
  await send();
  expect(await onNode(name)).toEqual(OVER);
  const { body } = await operator<HistoryAnswer>("GET", `/v1/nodes/${name}/history?kind=condition`);
  const lines = body.entries
    .map(({ text }) => text)
    .filter((text) => text.startsWith("MaintenanceInProgress"));
  expect(lines).toEqual([
    "MaintenanceInProgress: True → False (MaintenanceWindow: ended by its time)",
    expect.stringMatching(/^MaintenanceInProgress: True \(MaintenanceWindow: until \S+Z, by admin secret\)$/),
  ]);
  const audit = await operator<{ entries: AuditEntry[] }>("GET", `/v1/audit?target=${name}`);
  expect(audit.body.entries.map(({ detail }) => detail)).toEqual([
    expect.stringMatching(/^maintenance begin until \S+Z$/),
    expect.stringMatching(/^maintenance plan until \S+Z: new disk$/),
  ]);
});

it("begun and ended while the machine is off → on the Node without a report", async () => {
  const name = "maintained-off";
  await reporting(name);
  shift(60_000);
  await runDurableObjectAlarm(objectOf(name));
  await order(name, "begin", 1);
  expect(await onNode(name)).toEqual(["MaintenanceInProgress=True AdminRequested"]);
  await order(name, "end");
  expect(await onNode(name)).toEqual(["MaintenanceInProgress=False AdminRequested"]);
});

it("begun while the apiserver does not answer → the summary has it at once, and the Node with the next report", async () => {
  const name = "maintained-later";
  const send = await reporting(name);
  await setFault(name, "unreachable");
  await order(name, "begin", 1);
  await send();
  const { body } = await operator(`GET`, `/v1/nodes/${name}/summary`);
  expect(body).toMatchObject({
    conditions: expect.arrayContaining([
      expect.objectContaining({ type: "MaintenanceInProgress", status: "True" }),
    ]),
  });
  await setFault(name, "");
  shift(60_000);
  await send();
  expect(await onNode(name)).toEqual(["MaintenanceInProgress=True AdminRequested"]);
});

it.each([
  ["begun", "False"],
  ["ended", "True"],
])("%s, and then changed by another writer → stays as that writer has set it", async (what, status) => {
  const name = `maintained-${what}-by-others`;
  const send = await reporting(name);
  await order(name, "begin", 1);
  if (what === "ended") await order(name, "end");
  await send();
  const node = await kube("GET", path(name));
  const begun = node.status?.conditions?.map((each) =>
    each.type === "MaintenanceInProgress" ? { ...each, status, reason: "Elsewhere", message: "" } : each,
  );
  await kube("PUT", `${path(name)}/status`, { ...node, status: { ...node.status, conditions: begun } });
  // The periodic status write reads the Node.
  shift(600_000);
  await send();
  expect(await onNode(name)).toEqual([`MaintenanceInProgress=${status} Elsewhere`]);
  shift(2 * HOUR);
  await runDurableObjectAlarm(objectOf(name));
  expect(await onNode(name)).toEqual([`MaintenanceInProgress=${status} Elsewhere`]);
});

it("the machine shuts down in order, and starts again → GracefulNodeShutdownInProgress is True, then False", async () => {
  const name = "shut-down";
  const send = await reporting(name);
  const statusOf = async () =>
    (await kube("GET", path(name))).status?.conditions?.find(({ type }) => type.startsWith("Graceful"))
      ?.status;
  expect(await statusOf()).toBeUndefined();
  shift(10_000);
  await send({ ...HEALTHY, shuttingDown: true });
  expect(await statusOf()).toBe("True");
  shift(10_000);
  await send();
  expect(await statusOf()).toBe("False");
});

it.each([
  ["in the past", { stage: "begin", until: "2020-01-01T00:00:00Z" }],
  ["too far away", { stage: "plan", until: "2999-01-01T00:00:00Z" }],
  ["absent", { stage: "begin" }],
  ["of an end", { stage: "end", until: "2999-01-01T00:00:00Z" }],
])("an end that is %s → refused", async (_, maintenance) => {
  const name = "maintained-not";
  expect((await operator("PATCH", `/v1/nodes/${name}`, { maintenance })).status).toBe(400);
});
