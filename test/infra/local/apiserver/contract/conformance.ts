// Lists the steps of Kubernetes' own e2e tests for Nodes, Leases and Events, which the embedded and a real
// apiserver must answer alike: "Node Lifecycle", "Lease", "Events" and "Events API".
// infra/local/apiserver/README.md describes how to run the original tests.
import { expect } from "vitest";
import { type Received, type Sent, send, type TestServer } from "../test-server.ts";
import { type Case, events, made, namespaces, nodes } from "./case.ts";

interface Steps {
  /** Sends a request, and expects the answer's code. */
  step: (code: number, sent: Sent) => Promise<Received>;
}

function stepsOn(server: TestServer): Steps {
  return {
    step: async (code, sent) => {
      const answer = await send(server, sent);
      expect(answer.code, answer.text).toBe(code);
      return answer;
    },
  };
}

function versionOf({ body }: Received): number {
  return Number(body.metadata.resourceVersion);
}

function itemsOf({ body }: Received): unknown {
  return body["items"];
}

async function nodeLifecycle({ step }: Steps, name: string): Promise<void> {
  const path = `${nodes}/${name}`;
  const conditions = [{ type: "Ready", status: "True", message: "Set from e2e test", reason: "E2E" }];
  const created = await step(
    201,
    made(nodes, {
      metadata: { name },
      spec: { unschedulable: true },
      status: { phase: "Running", conditions },
    }),
  );
  expect(created.body).toMatchObject({ metadata: { name }, status: { phase: "Running", conditions } });
  expect((await step(200, { path })).body.metadata.name).toBe(name);
  const labels = { [name]: "patched" };
  const patched = await step(200, {
    method: "PATCH",
    path,
    type: "strategic",
    body: { metadata: { labels } },
  });
  expect(patched.body.metadata.labels).toEqual(labels);
  expect(versionOf(patched)).toBeGreaterThan(versionOf(created));
  expect(itemsOf(await step(200, { path: `${nodes}?labelSelector=${name}=patched` }))).toHaveLength(1);
  const read = await step(200, { path });
  const metadata = { ...read.body.metadata, labels: { [name]: "updated" } };
  const updated = await step(200, { method: "PUT", path, body: { ...read.body, metadata } });
  expect(updated.body.metadata.labels).toEqual({ [name]: "updated" });
  await step(200, { method: "DELETE", path });
  await step(404, { path });
}

function leaseSpec(holderIdentity: string, second: number, leaseTransitions: number) {
  const time = (offset: number) => `0001-01-01T00:00:${String(second + offset).padStart(2, "0")}.000000Z`;
  return {
    holderIdentity,
    leaseDurationSeconds: 30,
    acquireTime: time(0),
    renewTime: time(3),
    leaseTransitions,
  };
}

async function leaseApi({ step }: Steps, name: string): Promise<void> {
  await step(201, made(namespaces, { metadata: { name } }));
  const leases = `/apis/coordination.k8s.io/v1/namespaces/${name}/leases`;
  const path = `${leases}/lease`;
  const first = leaseSpec("holder", 2, 0);
  const created = await step(201, made(leases, { metadata: { name: "lease" }, spec: first }));
  expect((await step(200, { path })).body["spec"]).toEqual(first);
  const second = leaseSpec("holder2", 20, 1);
  await step(200, { method: "PUT", path, body: { ...created.body, spec: second } });
  expect((await step(200, { path })).body["spec"]).toEqual(second);
  const third = leaseSpec("holder3", 50, 2);
  await step(200, { method: "PATCH", path, type: "strategic", body: { spec: third } });
  const read = await step(200, { path });
  expect(read.body["spec"]).toEqual(third);
  expect(versionOf(read)).toBeGreaterThan(versionOf(created));
  const marked = { name: "lease2", labels: { deletecollection: "true" } };
  await step(201, made(leases, { metadata: marked, spec: first }));
  expect(itemsOf(await step(200, { path: leases }))).toHaveLength(2);
  await step(200, { method: "DELETE", path: `${leases}?labelSelector=deletecollection%3Dtrue` });
  expect(itemsOf(await step(200, { path: leases }))).toMatchObject([{ metadata: { name: "lease" } }]);
  await step(200, { method: "DELETE", path });
  await step(404, { path });
  await step(200, { path: "/apis/coordination.k8s.io/v1/leases" });
}

/** Returns the object without the fields that only the server sets. */
function withoutBookkeeping({ body }: Received): object {
  const { resourceVersion: _, managedFields: __, ...metadata } = body.metadata;
  return { ...body, metadata };
}

function coreEvent(name: string, label: string, message = "This is a test event") {
  return {
    metadata: { name, labels: { [label]: "true" } },
    message,
    reason: "Test",
    type: "Normal",
    count: 1,
    involvedObject: { namespace: "default" },
  };
}

async function coreEventLifecycle({ step }: Steps, name: string): Promise<void> {
  const path = `${events}/${name}`;
  const everywhere = { path: `/api/v1/events?labelSelector=${name}=true` };
  await step(201, made(events, coreEvent(name, name)));
  expect(itemsOf(await step(200, everywhere))).toMatchObject([{ metadata: { name, namespace: "default" } }]);
  await step(200, { method: "PATCH", path, type: "strategic", body: { message: "patched" } });
  const read = await step(200, { path });
  expect(read.body["message"]).toBe("patched");
  const series = { count: 100, lastObservedTime: "2017-09-19T13:49:16.000000Z" };
  await step(200, { method: "PUT", path, body: { ...withoutBookkeeping(read), series } });
  expect(withoutBookkeeping(await step(200, { path }))).toEqual({ ...withoutBookkeeping(read), series });
  await step(200, { method: "DELETE", path });
  expect(itemsOf(await step(200, everywhere))).toEqual([]);
}

function newEvent(name: string, namespace: string, label: string) {
  return {
    metadata: { name, labels: { [label]: "true" } },
    regarding: { namespace },
    note: "This is a test event",
    reason: "Test",
    action: "Do",
    type: "Normal",
    eventTime: "2017-09-19T13:49:11.000000Z",
    reportingController: "test-controller",
    reportingInstance: "test-node",
  };
}

async function newEventLifecycle({ step }: Steps, name: string): Promise<void> {
  await step(201, made(namespaces, { metadata: { name } }));
  const home = `/apis/events.k8s.io/v1/namespaces/${name}/events`;
  const path = `${home}/event`;
  const places = [
    `/apis/events.k8s.io/v1/events?labelSelector=${name}=true`,
    `${home}?labelSelector=${name}=true`,
  ];
  const created = await step(201, made(home, newEvent("event", name, name)));
  for (const place of [
    ...places,
    `/api/v1/namespaces/${name}/events?fieldSelector=source=test-controller`,
    `${home}?fieldSelector=reportingController=test-controller`,
  ]) {
    expect(itemsOf(await step(200, { path: place }))).toMatchObject([{ metadata: { name: "event" } }]);
  }
  const first = await step(200, { path });
  const series = { count: 2, lastObservedTime: "2017-09-19T13:49:11.000000Z" };
  await step(200, { method: "PATCH", path, type: "strategic", body: { series } });
  const patched = await step(200, { path });
  expect(versionOf(patched)).toBeGreaterThan(versionOf(created));
  expect(withoutBookkeeping(patched)).toEqual({ ...withoutBookkeeping(first), series });
  const later = { count: 100, lastObservedTime: "2017-09-19T13:49:16.000000Z" };
  const update = { ...withoutBookkeeping(patched), series: later };
  await step(200, { method: "PUT", path, body: update });
  expect(withoutBookkeeping(await step(200, { path }))).toEqual(update);
  await step(200, { method: "DELETE", path });
  for (const place of places) expect(itemsOf(await step(200, { path: place }))).toEqual([]);
}

/** Creates, lists and deletes a collection of events in one of the two API groups. */
async function eventCollection(
  { step }: Steps,
  name: string,
  path: string,
  makeEvent: (name: string, label: string) => object,
): Promise<void> {
  for (const letter of ["a", "b", "c"]) await step(201, made(path, makeEvent(`${name}-${letter}`, name)));
  const selected = `${path}?labelSelector=${name}=true`;
  expect(itemsOf(await step(200, { path: selected }))).toHaveLength(3);
  const body = { kind: "DeleteOptions", apiVersion: "v1" };
  await step(200, { method: "DELETE", path: selected, body });
  expect(itemsOf(await step(200, { path: selected }))).toEqual([]);
}

const newEvents = "/apis/events.k8s.io/v1/namespaces/default/events";

export const conformance: Case[] = [
  { situation: "Node lifecycle", run: async (server, name) => await nodeLifecycle(stepsOn(server), name) },
  { situation: "Lease API", run: async (server, name) => await leaseApi(stepsOn(server), name) },
  {
    situation: "Events of the core group: lifecycle",
    run: async (server, name) => await coreEventLifecycle(stepsOn(server), name),
  },
  {
    situation: "Events of the core group: a collection",
    run: async (server, name) => await eventCollection(stepsOn(server), name, events, coreEvent),
  },
  {
    situation: "Events of events.k8s.io: lifecycle",
    run: async (server, name) => await newEventLifecycle(stepsOn(server), name),
  },
  {
    situation: "Events of events.k8s.io: a collection",
    run: async (server, name) =>
      await eventCollection(stepsOn(server), name, newEvents, (each, label) =>
        newEvent(each, "default", label),
      ),
  },
];
