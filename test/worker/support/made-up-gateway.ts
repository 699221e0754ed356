// Runs a gateway with a clock of the test and without a network: machines with real MACs on sockets in memory, node
// objects that lend a lease with each report, and an apiserver with versions.
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { base64url } from "jose";
import { type AnswerFrame, answerText } from "../../../shared/protocol/asking.ts";
import { type GatewayFrame, heartbeatText } from "../../../shared/protocol/frames.ts";
import { SIGNALS, type Vitals } from "../../../shared/protocol/report.ts";
import { amountsOf, USAGE, type Usage, usageOf, usageText } from "../../../shared/protocol/usage.ts";
import type { Lease } from "../../../shared/kubernetes/types.ts";
import type { Quiet } from "../../../shared/quiet/quiet.ts";
import { GatewayCounters } from "../../../worker/gateway/counters.ts";
import { Lateness } from "../../../worker/gateway/lateness.ts";
import { Gateway } from "../../../worker/gateway/gateway.ts";
import type { GatewaySurroundings } from "../../../worker/gateway/endings.ts";
import type { LeasePut } from "../../../worker/gateway/lease.ts";
import type { UsageReceiver } from "../../../worker/gateway/usage-receiver.ts";
import type { ServerSocket, OpenedSocket } from "../../../worker/gateway/sockets.ts";
import { after } from "../../../worker/clock.ts";
import type {
  HandoffState,
  LeaseLender,
  ReturnedLoan,
  SocketAnswer,
  SocketReport,
  LeaseLoan,
} from "../../../worker/machine/lease-loan.ts";

export const START_MS = Date.UTC(2026, 0, 1);
export const INTERVAL_MS = 10_000;
export const LEASE_MS = 40_000;
export const GATEWAY = 7;
const SESSION_KEY = new Uint8Array(32).fill(7);
const CAPACITY = 16e9;
/** The available bytes below which a heartbeat is not quiet. */
export const QUIET_FROM = 1e9;

const bySignal = <T>(value: T) => Object.fromEntries(SIGNALS.map((name) => [name, value]));
export const VITALS: Vitals = { signals: bySignal<[number, number]>([8e9, CAPACITY]) };
export const QUIET: Quiet = {
  signals: bySignal({ capacity: CAPACITY, from: QUIET_FROM, to: CAPACITY }),
  same: {},
  remaining: null,
  expired: [],
  skewMs: [-60_000, 60_000],
};

export function leaseOf(name: string, resourceVersion = "1"): Lease {
  return {
    metadata: { name, namespace: "kube-node-lease", uid: `uid-${name}`, resourceVersion },
    spec: {
      holderIdentity: name,
      leaseDurationSeconds: LEASE_MS / 1000,
      renewTime: "2026-01-01T00:00:00.000000Z",
    },
  };
}

export function loanOf(name: string, more: Partial<LeaseLoan> = {}): LeaseLoan {
  return {
    epoch: 1,
    sessionKey: SESSION_KEY,
    lease: leaseOf(name),
    leaseMs: LEASE_MS,
    intervalMs: INTERVAL_MS,
    quietForMs: 300_000,
    vitals: VITALS,
    quiet: QUIET,
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a gateway does not read it
    baton: { of: name } as unknown as HandoffState,
    ...more,
  };
}

const APPLIED = { phase: "registered", ready: true, ticket: "t", reportInMs: INTERVAL_MS } as const;

/** A call that the gateway makes to a node object. */
export type Asked =
  | { name: string; what: "report"; returned: ReturnedLoan | null; floor: number }
  | { name: string; what: "ended"; returned: ReturnedLoan | null; heardAgoMs: number | undefined }
  | { name: string; what: "replaced beat" };

/** A machine with its end of a socket. */
export class MachineSocket implements ServerSocket {
  readonly name: string;
  readyState = 1;
  readonly frames: GatewayFrame[] = [];
  n = 0;
  usages = 0;
  nonce = "";
  #attachment: unknown;

  constructor(name: string) {
    this.name = name;
  }

  send(text: string | ArrayBuffer | ArrayBufferView): void {
    if (this.readyState !== 1) throw new Error("the socket is closed");
    if (typeof text !== "string") throw new Error("frames are text");
    const frame = JSON.parse(text) as GatewayFrame;
    this.frames.push(frame);
    if (frame.type === "report-answer" && frame.session) {
      this.n = 0;
      this.usages = 0;
      this.nonce = frame.session.nonce;
    }
    if (frame.type === "answer") this.nonce = frame.nonce;
  }

  close(): void {
    this.readyState = 3;
  }

  /** Keeps a copy of the attachment, as a real socket does. Only this copy outlives an eviction. */
  serializeAttachment(attachment: unknown): void {
    this.#attachment = structuredClone(attachment);
  }

  deserializeAttachment(): unknown {
    return structuredClone(this.#attachment);
  }

  get last(): GatewayFrame | undefined {
    return this.frames.at(-1);
  }

  /** The received frames in short: `answer`, `again over`, `closing too often`, `report-answer 200`. */
  get said(): string[] {
    return this.frames.map((frame) => {
      if (frame.type === "report-answer") return `${frame.type} ${frame.status}`;
      return "reason" in frame ? `${frame.type} ${frame.reason}` : frame.type;
    });
  }

  /** Returns the next heartbeat with its MAC. */
  async beat(atMs: number, { n = ++this.n, nonce = this.nonce, key = SESSION_KEY, available = 8e9 } = {}) {
    const all = SIGNALS.map(() => available);
    const payload = JSON.stringify({ type: "heartbeat", n, at: atMs, available: all });
    return withMac(payload, heartbeatText(nonce, payload), key);
  }

  /** Returns a usage frame with its MAC. `missing`: the number of samples that the machine offers. */
  usage(
    usage: Partial<Usage>,
    { n = ++this.usages, key = SESSION_KEY, text = usageText, missing = 0 } = {},
  ): Promise<string> {
    const payload = JSON.stringify({
      type: "usage",
      n,
      amounts: amountsWith(usage),
      ...(missing > 0 && { missing }),
    });
    return withMac(payload, text(payload), key);
  }

  /** Returns the frame with kept samples and its MAC. */
  missingUsage(
    samples: readonly Partial<Usage>[],
    { n = ++this.usages, key = SESSION_KEY, lost = 0 } = {},
  ): Promise<string> {
    const payload = JSON.stringify({ type: "missing-usage", n, lost, samples: samples.map(amountsWith) });
    return withMac(payload, usageText(payload), key);
  }

  /** Returns a frame about questions with its MAC. */
  answer(frame: AnswerFrame, { key = SESSION_KEY, text = answerText } = {}): Promise<string> {
    const payload = JSON.stringify(frame);
    return withMac(payload, text(payload), key);
  }
}

const amountsWith = (usage: Partial<Usage>) => amountsOf({ ...usageOf(USAGE.map(() => null)), ...usage });

async function withMac(payload: string, text: string, key: Uint8Array<ArrayBuffer>): Promise<string> {
  const hmac = { name: "HMAC", hash: "SHA-256" };
  const imported = await crypto.subtle.importKey("raw", key, hmac, false, ["sign"]);
  const mac = new Uint8Array(await crypto.subtle.sign(hmac, imported, new TextEncoder().encode(text)), 0, 16);
  return `${payload}\n${base64url.encode(mac)}`;
}

export class MadeUpGateway {
  nowMs = START_MS;
  alarmMs: number | null = null;
  size = 500;
  readonly sockets: MachineSocket[] = [];
  readonly asked: Asked[] = [];
  /** The names of the written leases, in order. */
  readonly puts: string[] = [];
  readonly leases = new Map<string, Lease>();
  readonly log: object[] = [];
  /** The capacities and the moves that the registry got. */
  readonly capacities: { number: number; machines: number }[] = [];
  readonly moved: { name: string; kid: string; from: number }[] = [];
  /** The fields of the loans that replace the default values. */
  loan: Partial<LeaseLoan> = {};
  /** Replaces a node object's handling of a report, if set. */
  onReport: ((report: SocketReport) => Promise<SocketAnswer>) | undefined;
  /** The receiver of the machines' usage. Call `evict` after a change. */
  receiver: UsageReceiver | null = null;
  onEnded: ((name: string) => Promise<void>) | undefined;
  random = () => 0.5;
  /** Returns the result of a PUT, if set. After undefined, the apiserver accepts a PUT over the last version. */
  onPut: ((lease: Lease) => Promise<LeasePut> | undefined) | undefined;
  counters = new GatewayCounters(START_MS);
  gateway: Gateway;
  readonly #sql: SqlStorage;
  #epochs = 0;
  #nonces = 0;
  #tickets = 0;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
    this.gateway = this.#newGateway();
  }

  /** Replaces parts of the gateway's surroundings, for a test with its own time or apiserver. */
  live(parts: Partial<GatewaySurroundings>): void {
    this.gateway = this.#newGateway(parts);
  }

  #newGateway(parts: Partial<GatewaySurroundings> = {}): Gateway {
    return new Gateway({
      node: (name) => this.#node(name),
      putLease: async (lease, onRequest) => {
        onRequest();
        const name = lease.metadata?.name ?? "";
        this.puts.push(name);
        return (await this.onPut?.(lease)) ?? this.write(lease);
      },
      registry: {
        noteCapacity: async (number, machines) => void this.capacities.push({ number, machines }),
        move: async (machine) => void this.moved.push(machine),
      },
      sockets: (name) => this.sockets.filter((each) => name === undefined || each.name === name),
      sql: this.#sql,
      alarm: {
        atLatest: async (atMs) =>
          void (this.alarmMs = Math.min(this.alarmMs ?? Infinity, Math.max(atMs, this.nowMs + 1))),
        rang: () => void (this.alarmMs = null),
      },
      size: () => this.size,
      counters: this.counters,
      receiver: this.receiver,
      lateness: new Lateness(() => this.nowMs),
      timer: after,
      nowMs: () => this.nowMs,
      random: () => this.random(),
      nonce: () => `nonce-${String(++this.#nonces).padStart(16, "0")}`,
      log: (line) => this.log.push(line),
      ...parts,
    });
  }

  #node(name: string): LeaseLender {
    return {
      reportBySocket: (report) => {
        this.asked.push({ name, what: "report", returned: report.returned, floor: report.floor });
        return this.onReport?.(report) ?? Promise.resolve(this.lent(name));
      },
      socketEnded: async (_, returned, heardAgoMs) => {
        this.asked.push({ name, what: "ended", returned, heardAgoMs });
        await this.onEnded?.(name);
      },
      noteReplacedBeat: async () => void this.asked.push({ name, what: "replaced beat" }),
    };
  }

  /** Returns a node object's answer to a report, with a lease loan. */
  lent(name: string, more: Partial<LeaseLoan> = {}): SocketAnswer {
    const lease = this.leases.get(name) ?? leaseOf(name);
    this.leases.set(name, lease);
    const loan = loanOf(name, { epoch: ++this.#epochs, lease, ...this.loan, ...more });
    return { answer: { ok: true, value: { ...APPLIED } }, lent: { order: loan, key: "worker-key" } };
  }

  /** Writes a lease as an apiserver does. */
  write(lease: Lease): LeasePut {
    const name = lease.metadata?.name ?? "";
    const known = this.leases.get(name)?.metadata?.resourceVersion;
    if (known === undefined || known !== lease.metadata?.resourceVersion) return { kind: "lost" };
    const written = { ...lease, metadata: { ...lease.metadata, resourceVersion: String(Number(known) + 1) } };
    this.leases.set(name, written);
    return { kind: "renewed", lease: written };
  }

  /** Deletes the gateway's memory; sockets and rows stay. */
  evict(): void {
    this.counters = new GatewayCounters(this.nowMs);
    this.gateway = this.#newGateway();
  }

  /** Opens a socket as the route and the platform do. Returns the refusal, or the socket. */
  async open(
    name: string,
    ticket = `ticket-${++this.#tickets}`,
    address?: string,
  ): Promise<MachineSocket | string> {
    const opener = openedBy(name, address);
    const refusal = this.gateway.refusal(opener, ticket);
    if (refusal) return refusal;
    const socket = new MachineSocket(name);
    this.sockets.push(socket);
    await this.gateway.open(socket, opener);
    return socket;
  }

  /** Opens a socket, and throws if it is refused. */
  async opened(name: string): Promise<MachineSocket> {
    const socket = await this.open(name);
    if (typeof socket === "string") throw new Error(socket);
    return socket;
  }

  /** Opens a socket whose report is accepted. */
  async connected(name: string): Promise<MachineSocket> {
    const socket = await this.opened(name);
    await this.report(socket);
    return socket;
  }

  report(socket: MachineSocket): Promise<void> {
    return this.receive(socket, JSON.stringify({ type: "report", token: "jwt", body: "{}" }));
  }

  receive(socket: MachineSocket, frame: string): Promise<void> {
    return this.gateway.receive(socket, frame);
  }

  /** Sends a heartbeat after an interval, or after another time. Returns the answer in short. */
  async beat(
    socket: MachineSocket,
    { afterMs = INTERVAL_MS, ...how }: { afterMs?: number } & Parameters<MachineSocket["beat"]>[1] = {},
  ): Promise<string | undefined> {
    this.nowMs += afterMs;
    const before = socket.frames.length;
    await this.receive(socket, await socket.beat(this.nowMs, how));
    return socket.said[before];
  }

  /** Closes the machine's end of the socket; the platform then notifies the gateway. */
  async lose(socket: MachineSocket): Promise<void> {
    socket.readyState = 3;
    this.sockets.splice(this.sockets.indexOf(socket), 1);
    await this.gateway.closed(socket);
  }

  /** Lets time pass. The alarm rings whenever it is due. */
  async pass(ms: number): Promise<void> {
    const untilMs = this.nowMs + ms;
    while (this.alarmMs !== null && this.alarmMs <= untilMs) {
      this.nowMs = Math.max(this.nowMs, this.alarmMs);
      await this.gateway.ring();
    }
    this.nowMs = untilMs;
  }

  get members(): string[] {
    return this.#sql
      .exec<{ name: string }>("SELECT name FROM members")
      .toArray()
      .map(({ name }) => name);
  }

  /** The number of PUTs that wait for their turn. */
  get waiting(): number {
    return this.gateway.status()?.queue.length ?? 0;
  }

  /** Waits until this number of PUTs has begun. */
  untilPut(count: number): Promise<void> {
    return until(() => this.puts.length >= count);
  }

  /** Waits until the gateway has made `count` calls to node objects. */
  untilWoken(count: number): Promise<void> {
    return until(() => this.asked.length >= count);
  }

  /** The calls that the gateway has made to machines' objects, as NAME and call: `edge-1 report`, `edge-1 ended`. */
  get woken(): string[] {
    return this.asked.map(({ name, what }) => `${name} ${what}`);
  }
}

/** Waits until a condition is true, while other work continues. */
export async function until(isSo: () => boolean): Promise<void> {
  // Most work waits only for promises, which need no timer.
  for (let turns = 0; turns < 100 && !isSo(); turns++) await Promise.resolve();
  while (!isSo()) await new Promise((again) => void setTimeout(again));
}

export const openedBy = (name: string, address = "192.0.2.1"): OpenedSocket => ({
  gateway: GATEWAY,
  name,
  kid: `kid of ${name}`,
  session: `key of ${name}`,
  address,
});

let objects = 0;
/** Runs `work` with a gateway over the empty storage of a new object. */
export function inGateway(work: (made: MadeUpGateway) => Promise<void>): Promise<void> {
  const stub = env.GATEWAYS.getByName(`made-up-${objects++}`);
  return runInDurableObject(stub, (_, { storage }) => work(new MadeUpGateway(storage.sql)));
}
