// Plays a machine whose lease is lent to a gateway of its own, with a clock of the test, and reads the apiserver's
// view of the machine.
import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, vi } from "vitest";
import type { GatewayFrame } from "../../../shared/protocol/frames.ts";
import type { Lease, Node } from "../../../shared/kubernetes/types.ts";
import type { WholeNode } from "../../../shared/protocol/operator-answers.ts";
import { GatewayObject } from "../../../worker/gateway/gateway-object.ts";
import { expectNoTimeMovedBack } from "../invariants.ts";
import {
  type EnrolledMachine,
  enrolled,
  kube,
  operator,
  requestsAbout,
  writesAbout,
} from "../../worker/support/machine.ts";
import { type OpenSocket, SocketMachine } from "../../worker/support/socket-machine.ts";
import { eventually, shift } from "../../worker/support/clock.ts";

/** Returns a Node's name made of these words. The name is short enough for a label's value, also with a suffix. */
export const slug = (...words: string[]): string =>
  words
    .join("-")
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .slice(0, 55)
    .replace(/-$/, "");

/** The most milliseconds that a shim waits between two heartbeats, and a margin. */
export const BEAT_MS = 9800;
export const LEASE_MS = 40_000;

export const PUT_LEASE = "^PUT /apis/coordination";
export const GET_LEASE = /^GET \/apis\/coordination/;

export const gatewayOf = (number: number) => env.GATEWAYS.getByName(String(number));
export const objectOf = (name: string) => env.NODES.getByName(name);

/**
 * Counts the spied calls to the node objects of these machines. Objects of earlier tests still exist, so their calls
 * are left out.
 */
export function callsAbout(spy: { mock: { contexts: unknown[] } }, names: readonly string[]): number {
  const ids = new Set(names.map((name) => objectOf(name).id.toString()));
  // `ctx` is protected in its class, so the test casts the spy's context, which is the spied Durable Object.
  const idOf = (object: unknown) => (object as { ctx: DurableObjectState }).ctx.id.toString();
  return spy.mock.contexts.filter((object) => ids.has(idOf(object))).length;
}

/**
 * The number of the last gateway in use. Each test has a gateway of its own, because a broken gateway affects all
 * its machines.
 */
let gateways = 1000;
export const ownGateway = (): number => ++gateways;

export interface OnSocket {
  name: string;
  enrolled: EnrolledMachine;
  machine: SocketMachine;
  socket: OpenSocket;
  gateway: number;
}

/**
 * Registers a machine whose first events are sent. The machine knows the path of a socket, but has not opened one.
 */
export async function onHttp(
  name: string,
  gateway = ownGateway(),
  tokenWish: Record<string, unknown> = {},
): Promise<Omit<OnSocket, "socket">> {
  const of = await enrolled(name, tokenWish);
  const machine = new SocketMachine(of);
  expect(await machine.http()).toMatchObject({ status: 200, answer: { phase: "registered" } });
  await objectOf(name).assignGateway(gateway);
  await ringNode(name);
  shift(BEAT_MS);
  expect(await machine.http()).toMatchObject({ status: 200, answer: { phase: "registered", ready: true } });
  return { name, enrolled: of, machine, gateway };
}

/** Registers a machine and opens its socket, with a lent lease. */
export async function onSocket(...how: Parameters<typeof onHttp>): Promise<OnSocket> {
  const known = await onHttp(...how);
  const socket = await known.machine.connect();
  shift(BEAT_MS);
  await lentBy(socket);
  return { ...known, socket };
}

/** Sends the report that makes the node object lend the lease. Heartbeats may follow it. */
export async function lentBy(socket: OpenSocket): Promise<void> {
  expect(await socket.report()).toMatchObject({
    status: 200,
    body: { phase: "registered", ready: true },
    session: {},
  });
}

/** Waits until the next heartbeat is due, and sends it. Returns the answer. */
export function nextBeat(
  socket: OpenSocket,
  ...how: Parameters<OpenSocket["beat"]>
): Promise<GatewayFrame | "closed"> {
  shift(BEAT_MS);
  return socket.beat(...how);
}

export const nodeOf = (name: string): Promise<Node> => kube("GET", `/api/v1/nodes/${name}`);

/** Returns all renewTimes that were written to this machine's lease, oldest first. */
async function renewTimes(name: string): Promise<string[]> {
  const writes = await writesAbout(name, "Lease");
  return writes.map(({ object }) => (object as Lease).spec?.renewTime ?? "");
}

/**
 * Makes the machine's socket half-open: the gateway gets no close. Returns a function that still delivers frames to
 * the gateway, as a second process or a slow network would.
 */
export async function halfOpen(gateway: number, name: string): Promise<(frame: string) => Promise<void>> {
  const object = gatewayOf(gateway);
  const [socket] = await runInDurableObject(object, (instance: GatewayObject, state) => {
    const [open] = state.getWebSockets(name);
    const told = instance.webSocketClose.bind(instance);
    instance.webSocketClose = (closed) => (closed === open ? Promise.resolve() : told(closed));
    return [open];
  });
  if (!socket) throw new Error(`${name} has no socket at gateway ${gateway}`);
  return (frame) =>
    runInDurableObject(object, (instance: GatewayObject) => instance.webSocketMessage(socket, frame));
}

/** Delays the gateways' answers to withdrawals until `goesOn` is called. `begun` waits for the first withdrawal. */
export function slowWithdrawals(): { begun: () => Promise<void>; goesOn: () => void } {
  const answered = Promise.withResolvers<void>();
  const recall = Reflect.get(GatewayObject.prototype, "recall");
  const withdrawals = vi.spyOn(GatewayObject.prototype, "recall");
  withdrawals.mockImplementation(async function slowly(this: GatewayObject, ...how) {
    await answered.promise;
    return recall.apply(this, how);
  });
  // The test polls for the withdrawal: code after a promise of the gateway runs as the gateway's, and may not use
  // the test's socket.
  const begun = () => eventually(() => expect(withdrawals).toHaveBeenCalled());
  return { begun, goesOn: answered.resolve };
}

/** Returns the number of renewals of this machine's lease that `doing` causes. */
export async function renewedBy(name: string, doing: () => Promise<unknown>): Promise<number> {
  const before = await renewTimes(name);
  await doing();
  return (await renewTimes(name)).length - before.length;
}

/**
 * Expects that no renewal of this machine's lease was late by more than a heartbeat interval, and that no time went
 * back.
 */
export async function expectInTime(name: string): Promise<void> {
  expectNoTimeMovedBack(await writesAbout(name));
  const times = (await renewTimes(name)).map((time) => Date.parse(time));
  const gaps = times.map((atMs, index) => (times[index + 1] ?? Date.now()) - atMs);
  expect(Math.max(...gaps)).toBeLessThanOrEqual(2 * BEAT_MS);
}

/** Evicts the gateway: its memory is lost, its sockets stay. Work in progress ends first. */
export const evictGateway = (number: number): Promise<void> => evictDurableObject(gatewayOf(number));
export const evictNode = (name: string): Promise<void> => evictDurableObject(objectOf(name));
/** Aborts the gateway, which closes its sockets. */
export const crashGateway = (number: number): Promise<void> =>
  runInDurableObject(gatewayOf(number), (_, state) => state.abort("crash")).catch(() => undefined);
export const ringGateway = (number: number): Promise<boolean> => runDurableObjectAlarm(gatewayOf(number));
export const ringNode = (name: string): Promise<boolean> => runDurableObjectAlarm(objectOf(name));

/** Waits until the apiserver has received this request about the machine, since the last call. */
export async function asked(name: string, request: RegExp): Promise<void> {
  const requests: string[] = [];
  await eventually(async () => {
    requests.push(...(await requestsAbout(name)));
    expect(requests.join("\n")).toMatch(request);
  });
}

export async function shown(name: string): Promise<WholeNode> {
  const { status, body } = await operator<WholeNode>("GET", `/v1/nodes/${name}`);
  expect(status).toBe(200);
  return body;
}

/** Returns the lines of this kind in the machine's history, newest first. */
export async function historyOf(name: string, kind: string): Promise<string[]> {
  const { body } = await operator<{ entries: { text: string }[] }>(
    "GET",
    `/v1/nodes/${name}/history?kind=${kind}`,
  );
  return body.entries.map(({ text }) => text);
}
