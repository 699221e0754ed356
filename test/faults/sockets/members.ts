// Plays machines on one gateway: how they open sockets, what each machine sends in its turn while alarms ring, and
// what the apiserver and an operator see. Each test decides what happens.
import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { expect } from "vitest";
import type { Lease, Node } from "../../../shared/kubernetes/types.ts";
import { parseMicroTime } from "../../../shared/kubernetes/micro-time.ts";
import type { Facts } from "../../../shared/protocol/facts.ts";
import type { GatewayFrame } from "../../../shared/protocol/frames.ts";
import type { WholeNode } from "../../../shared/protocol/operator-answers.ts";
import { enrolled, kube, requestsAbout, writesAbout } from "../../worker/support/machine.ts";
import {
  type BeatWish,
  type OpenSocket,
  type ReportWish,
  SocketMachine,
} from "../../worker/support/socket-machine.ts";
import { eventually, shift } from "../../worker/support/clock.ts";
import { BEAT_MS, gatewayOf, historyOf, objectOf, ownGateway, shown } from "./on-socket.ts";

/** The clock of a test, which `putClock` in watched.ts returns. */
export interface PutClock {
  shift: (byMs: number) => void;
}

export const stoppedClock = (): PutClock => ({ shift: (byMs) => shift(Math.round(byMs)) });

export const leasePath = (name: string) =>
  `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${name}`;
export const nodePath = (name: string) => `/api/v1/nodes/${name}`;
export const putsOf = (name: string, count: number) =>
  Array.from({ length: count }, () => `PUT ${leasePath(name)}`);

/** Aborts the object: work in progress and its sockets end, and no handler of a socket is called. */
export const crash = (stub: DurableObjectStub): Promise<unknown> =>
  runInDurableObject(stub, (_, state) => state.abort("crash")).catch(() => undefined);

/** Returns the time of the object's alarm. null if no alarm is set. */
export const alarmOf = (stub: DurableObjectStub): Promise<number | null> =>
  runInDurableObject(stub, (_, { storage }) => storage.getAlarm());

/** The number of machines that do slow work at once: small, because the Worker's deadlines use the real clock. */
const TOGETHER = 10;

async function together<T, R>(all: readonly T[], act: (each: T) => Promise<R>): Promise<R[]> {
  const done: R[] = [];
  for (let from = 0; from < all.length; from += TOGETHER)
    done.push(...(await Promise.all(all.slice(from, from + TOGETHER).map(act))));
  return done;
}

/** Alarms that are due within this number of milliseconds of each other ring at once in these tests. */
const AT_ONCE_MS = 250;

/**
 * Moves the clock forward, and rings the alarms of these objects when they are due. Returns the number of rings of
 * each object.
 */
export async function passRinging(
  clock: PutClock,
  ms: number,
  stubs: readonly DurableObjectStub[],
  atOnceMs = AT_ONCE_MS,
): Promise<number[]> {
  const untilMs = Date.now() + ms;
  const rang = stubs.map(() => 0);
  for (;;) {
    const alarms = await together(stubs, alarmOf);
    const nextMs = Math.min(...alarms.map((atMs) => atMs ?? Infinity));
    if (nextMs > untilMs) break;
    clock.shift(Math.max(0, Math.min(nextMs + atOnceMs, untilMs) - Date.now()));
    const nowMs = Date.now();
    const ring = async (stub: DurableObjectStub, at: number) => {
      if ((alarms[at] ?? Infinity) > nowMs) return;
      rang[at] = (rang[at] ?? 0) + 1;
      await runDurableObjectAlarm(stub);
    };
    await Promise.all(stubs.map(ring));
  }
  clock.shift(Math.max(0, untilMs - Date.now()));
  return rang;
}

/** Returns the machines' node objects and their gateways. */
export function stubsOf(machines: readonly MachineOnSocket[]): DurableObjectStub[] {
  const gateways = new Set(machines.map(({ gateway }) => gateway));
  return [...machines.map(({ name }) => objectOf(name)), ...[...gateways].map(gatewayOf)];
}

/**
 * Lets time pass: each machine sends its messages in its turn, and alarms ring when they are due. Returns the
 * number of rings of the first machine's object.
 */
export async function live(
  machines: readonly MachineOnSocket[],
  clock: PutClock,
  ms: number,
  onSaid: (said: string, machine: MachineOnSocket) => unknown = () => undefined,
): Promise<number> {
  const stubs = stubsOf(machines);
  const untilMs = Date.now() + ms;
  let rang = 0;
  while (Date.now() + BEAT_MS <= untilMs) {
    const [ofFirst = 0] = await passRinging(clock, BEAT_MS, stubs);
    rang += ofFirst;
    await Promise.all(machines.map(async (machine) => onSaid(await machine.say(), machine)));
  }
  return rang;
}

export class MachineOnSocket {
  readonly name: string;
  readonly gateway: number;
  readonly shim: SocketMachine;
  readonly #facts: Facts | undefined;
  readonly #vitals: ReportWish["vitals"];
  socket!: OpenSocket;

  constructor(shim: SocketMachine, gateway: number, { facts, vitals }: MemberWish) {
    this.name = shim.machine.name;
    this.gateway = gateway;
    this.shim = shim;
    this.#facts = facts;
    this.#vitals = vitals;
  }

  #with<Wish extends ReportWish | BeatWish>(wish: Wish): Wish {
    return {
      ...(this.#facts && { facts: this.#facts }),
      ...(this.#vitals && { vitals: this.#vitals }),
      ...wish,
    };
  }

  /** Sends a report over HTTP. */
  http(wish: ReportWish = {}) {
    return this.shim.http(this.#with(wish));
  }

  /** Sends a report over the machine's socket. */
  report(wish: ReportWish = {}) {
    return this.socket.report(this.#with(wish));
  }

  beat(wish: BeatWish = {}): Promise<GatewayFrame | "closed"> {
    return this.socket.beat(this.#with(wish));
  }

  /**
   * Sends the next message as a shim does. With a session, that is a heartbeat; without one, or on request, a report.
   * If the socket has closed, the machine reports over HTTP and opens a new socket. Returns the type of the gateway's
   * frame, or the phase in the answer to a report.
   */
  async say(wish: BeatWish = {}): Promise<string> {
    const told = wish.vitals ? { vitals: wish.vitals } : {};
    const frame = this.socket.session ? await this.beat(wish) : undefined;
    if (frame === "closed" || this.socket.closed) {
      await this.http(told);
      await this.connect(told);
      return "connected";
    }
    if (frame && frame.type !== "again") return frame.type;
    const { status, body } = await this.report(told);
    return "phase" in body ? body.phase : String(status);
  }

  /** Opens another socket, and sends a report over it that is accepted. */
  async connect(wish: ReportWish = {}): Promise<void> {
    this.socket = await this.shim.connect();
    expect((await this.report(wish)).status).toBe(200);
  }

  node(): Promise<Node> {
    return kube("GET", nodePath(this.name));
  }

  lease(): Promise<Lease> {
    return kube<Lease>("GET", leasePath(this.name));
  }

  /** Returns the renewTimes of all writes of the lease, in milliseconds since 1970, oldest first. */
  async renewals(): Promise<number[]> {
    const writes = await writesAbout(this.name, "Lease");
    return writes.map(({ object }) => parseMicroTime((object as Lease).spec?.renewTime ?? "") / 1000);
  }

  /** Returns the Worker's requests to the apiserver about this machine since the last call. */
  asked(): Promise<string[]> {
    return requestsAbout(this.name);
  }

  /** Returns the machine's data from the operators' API. */
  shown(): Promise<WholeNode> {
    return shown(this.name);
  }

  /** Returns the lines of this kind in the machine's history, newest first. */
  history(kind: string): Promise<string[]> {
    return historyOf(this.name, kind);
  }

  /** Returns the machine's state in the fleet index, once the node object has sent its update. */
  async state(): Promise<string> {
    await eventually(async () => expect(await objectOf(this.name).toldSummary()).not.toBeNull());
    return (await this.shown()).summary?.state ?? "";
  }

  async condition(wanted: string): Promise<string | undefined> {
    const { status } = await this.node();
    return status?.conditions?.find(({ type }) => type === wanted)?.status;
  }
}

interface MemberWish {
  /** The number of the machines' gateway. Absent: a gateway of their own. */
  gateway?: number;
  facts?: Facts;
  vitals?: ReportWish["vitals"];
}

/** Returns a registered machine on a socket with a lent lease. The machine's first Events have been sent. */
export async function lentMachine(
  name: string,
  clock: PutClock,
  wish: MemberWish = {},
): Promise<MachineOnSocket> {
  const [machine] = await lentMachines([name], clock, wish);
  return machine;
}

type LentMachines<Names extends readonly string[]> = { readonly [At in keyof Names]: MachineOnSocket };

/** Returns several registered machines at one gateway, each on a socket with a lent lease. */
export async function lentMachines<const Names extends readonly string[]>(
  names: Names,
  clock: PutClock,
  wish: MemberWish = {},
): Promise<LentMachines<Names>> {
  const { gateway = ownGateway() } = wish;
  const machines = await together(
    names,
    async (name) => new MachineOnSocket(new SocketMachine(await enrolled(name)), gateway, wish),
  );
  const each = (act: (machine: MachineOnSocket) => Promise<unknown>) => together(machines, act);
  await each(async (machine) => {
    expect(await machine.http()).toMatchObject({ status: 200, answer: { phase: "registered" } });
    // The alarm sends all events, including those that wait for the alarm.
    await runDurableObjectAlarm(objectOf(machine.name));
    await objectOf(machine.name).assignGateway(gateway);
  });
  clock.shift(BEAT_MS);
  await each(async (machine) => machine.http());
  clock.shift(1000);
  await each(async (machine) => {
    await machine.connect();
    expect(machine.socket.session, `${machine.name} is lent nothing`).not.toBeNull();
    await machine.asked();
  });
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- each name has made one machine
  return machines as unknown as LentMachines<Names>;
}
