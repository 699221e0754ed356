// Plays one small fleet in virtual time: the Worker's own sources, the shim's own loops, an apiserver and the networks
// between them. Keeps the truth about each machine.
import type { Transport } from "../../../node-shim/worker-link/exchange.ts";
import { sha256Base64url } from "../../../node-shim/worker-link/sign.ts";
import { enrol } from "../../../node-shim/worker-link/requests.ts";
import { type MachineKey, makeMachineKey } from "../../../node-shim/identity/identity.ts";
import type { Facts } from "../../../shared/protocol/facts.ts";
import type { ReportAnswer } from "../../../shared/protocol/answers.ts";
import type { Vitals } from "../../../shared/protocol/report.ts";
import { ADMIN_SECRET, KUBE_TOKEN, KUBE_URL, ORIGIN } from "../../worker/support/constants.ts";
import { facts, factsForPods, HEALTHY } from "../../worker/support/facts.ts";
import { virtualTime } from "../../worker/support/virtual-time.ts";
import { numberOf, type Random, randomOf } from "../hostile/random.ts";
import { type Cluster, startCluster } from "./cluster.ts";
import { type ShimProcess, startShim } from "./machine.ts";
import { Network } from "./network.ts";
import { Platform, type Time } from "./objects.ts";
import { Flag, Heard, type Watched } from "./truth.ts";
import type { ClientSocket } from "./web-sockets.ts";
import { setTime } from "./worker-clock.ts";
import type { LoadedWorker } from "./worker.ts";

const START_MS = Date.UTC(2100, 0, 1);
const MINUTE_MS = 60_000;

/** The address of the round's receiver. */
const RECEIVER = "https://hooks.example.com/rollcall";

export interface WorldShape {
  machines: MachineShape[];
  hasController: boolean;
  isWatched: boolean;
}

interface MachineShape {
  name: string;
  usesSockets: boolean;
  isForPods: boolean;
  address: string;
}

/** A notification that the receiver got. */
export interface Delivery {
  alerts: { status: string; kind: string; state: string; names: string[]; text: string }[];
}

/** What a machine would report now. */
interface Health {
  vitals: Vitals;
  bootID: string;
  kernel: string;
  wallOffsetMs: number;
}

export const WELL: Vitals = {
  signals: { ...HEALTHY.signals, "nodefs.inodesFree": [6_000_000, 6_500_000] },
};
const RUNTIME = { name: "containerd", version: "2.1.0" };

/** One machine, with the processes of its shim. */
export class LivingMachine {
  readonly shape: MachineShape;
  readonly name: string;
  readonly network: Network;
  readonly heard: Heard;
  readonly health: Health = { vitals: WELL, bootID: "boot-1", kernel: "6.1.0", wallOffsetMs: 0 };
  /** The Worker may have blocked the machine, or an operator has ended its use. */
  readonly blocked: Flag;
  /** Another writer changes the Node. Is off again after the change, so that only `sinceMs` matters. */
  readonly foreign: Flag;
  kid = "";
  /** The key is revoked, or the machine is removed, for the rest of the round. */
  isOut = false;
  readonly #world: World;
  readonly #key: MachineKey;
  #process: ShimProcess | null = null;
  #starts = 0;
  /** The number of present causes of a block. */
  #blocks = 0;

  constructor(world: World, shape: MachineShape, key: MachineKey) {
    this.#world = world;
    this.#key = key;
    this.shape = shape;
    this.name = shape.name;
    const nowMs = world.time.nowMs();
    this.heard = new Heard(nowMs);
    this.blocked = new Flag(false, nowMs - MINUTE_MS);
    this.foreign = new Flag(false, nowMs - MINUTE_MS);
    this.network = new Network(world.time, world.randomNumber, (request) => this.#deliver(request));
  }

  get isAlive(): boolean {
    return this.#process !== null;
  }

  async enrol(joinToken: string): Promise<void> {
    const { name } = this;
    const send: Transport = async ({ method, path, headers, body }) => {
      // oxlint-disable-next-line unicorn/no-invalid-fetch-options -- the method is POST or PUT
      const response = await this.network.send(new Request(ORIGIN + path, { method, headers, body }));
      return { status: response.status, body: await response.text() };
    };
    const asking = { name, origin: ORIGIN, joinToken, machineID: `machine of ${name}`, systemUUID: "s" };
    const outcome = await enrol(send, this.#key, asking);
    if (!outcome.ok) throw new Error(`${name} could not enrol: ${JSON.stringify(outcome.error)}`);
    this.kid = outcome.value.kid;
  }

  /** Starts a process of the shim. `isCopy`: a second process, with the same key. */
  start(isCopy?: "another machine" | "the same machine"): ShimProcess {
    if (!isCopy && this.#process) return this.#process;
    const { time, randomNumber } = this.#world;
    const startId = `start-${this.name}-${++this.#starts}`;
    const process = startShim({
      machine: { name: this.name, origin: ORIGIN, key: this.#key, kid: this.kid },
      startId,
      time,
      random: randomNumber,
      wallMs: () => time.nowMs() + this.health.wallOffsetMs,
      gather: () => this.#gathered(isCopy === "another machine"),
      path: this.network,
      usesSockets: this.shape.usesSockets,
      log: (line) => this.#world.log(`${this.name}: ${line}`),
    });
    if (!isCopy) this.#process = process;
    return process;
  }

  /** Notes that the Worker may block the machine. Returns a function that notes the end of this cause. */
  block(): () => void {
    this.#blocks++;
    this.blocked.set(true, this.#world.time.nowMs());
    return () => {
      this.#blocks--;
      this.blocked.set(this.isOut || this.#blocks > 0, this.#world.time.nowMs());
    };
  }

  stop(isClosed: boolean): void {
    this.#process?.kill(isClosed);
    this.#process = null;
  }

  /** Changes the machine's health. The shim reads its vitals at once. */
  becomes(change: Partial<Health>): void {
    Object.assign(this.health, change);
    this.#process?.see();
  }

  /** Stops the shim's process, if one runs, as SIGSTOP does. Returns a function that continues it. */
  freeze(isSuspend: boolean): () => void {
    return this.#process?.freeze(isSuspend) ?? (() => undefined);
  }

  #gathered(isCopy: boolean): { facts: Facts; vitals: Vitals } {
    const { isForPods } = this.shape;
    const { kernel } = this.health;
    const versions = { kernel, osImage: "Test Linux" };
    const own = (isForPods ? factsForPods : facts)(this.name, { runtime: RUNTIME, versions });
    const bootID = isCopy ? `boot of the copy of ${this.name}` : this.health.bootID;
    return {
      facts: { ...own, machine: { ...own.machine!, machineID: `machine of ${this.name}`, bootID } },
      vitals: structuredClone(this.health.vitals),
    };
  }

  /** Sends a request to the Worker, and notes what arrives and what the Worker accepts. */
  async #deliver(request: Request): Promise<Response> {
    const { time, worker, env } = this.#world;
    request.headers.set("cf-connecting-ip", this.shape.address);
    const body = request.url.endsWith("/report") ? await request.clone().text() : undefined;
    this.heard.arrived(time.nowMs());
    if (body !== undefined) this.#arrives(body);
    const response = await worker.fetch(request, env);
    if (body !== undefined && response.status === 200) {
      const { socket } = (await response.clone().json()) as ReportAnswer;
      this.#accepted(body, socket ? "opening" : "nothing");
    }
    const { webSocket } = response as unknown as { webSocket: ClientSocket | null };
    if (webSocket) this.#observe(webSocket);
    return response;
  }

  /** Notes the messages that the Worker accepts on a socket, at the time of its answer. */
  #observe(socket: ClientSocket): void {
    let report = "";
    socket.observer = {
      sent: (text) => {
        this.heard.arrived(this.#world.time.nowMs());
        if (!text.startsWith('{"type":"report"')) return;
        report = (JSON.parse(text) as { body: string }).body;
        this.#arrives(report);
      },
      answered: (text) => {
        const frame = JSON.parse(text) as { type: string; status?: number };
        if (frame.type === "answer") this.heard.message(this.#world.time.nowMs());
        if (frame.type === "report-answer" && frame.status === 200) this.#accepted(report, "socket");
      },
    };
  }

  #accepted(body: string, watchedBy: Watched): void {
    this.heard.watchedBy = watchedBy;
    this.heard.message(this.#world.time.nowMs(), vitalsIn(body));
  }

  #arrives(body: string): void {
    this.heard.states(this.#world.time.nowMs(), vitalsIn(body));
  }
}

const vitalsIn = (body: string) => (JSON.parse(body) as { vitals: Vitals }).vitals;

/** The most timers that ring within a second. More are an endless loop. */
const MOST_EVENTS = 20_000;

/** The keys of the machines of all rounds. Keys are expensive, and no outcome depends on them. */
const keys: MachineKey[] = [];

export class World {
  readonly worker: LoadedWorker;
  readonly time: Time;
  readonly #random: Random;
  readonly shape: WorldShape;
  readonly platform: Platform;
  readonly cluster: Cluster;
  readonly env: Record<string, unknown>;
  machines: LivingMachine[] = [];
  /** Called with each notification that the receiver gets. */
  onDelivery: (delivery: Delivery) => void = () => undefined;
  readonly lines: string[] = [];
  /** A fault of the apiserver, or of the network to it. */
  readonly kubeTrouble: Flag;
  /** No request to the apiserver succeeds. */
  readonly kubeGone: Flag;
  /** Alarms ring late. */
  readonly alarmsLate: Flag;
  /** No node controller runs. */
  readonly controllerAway: Flag;
  stopController: (() => Promise<void>) | null = null;

  #events = 0;
  #eventsAtMs = 0;

  constructor(worker: LoadedWorker, seed: number, shape: WorldShape, ignored: readonly string[]) {
    this.worker = worker;
    this.shape = shape;
    this.#random = randomOf(seed, 1);
    this.time = virtualTime(START_MS, () => this.#settled());
    setTime(this.time);
    this.cluster = startCluster(this.time, this.randomNumber, (line) => this.log(line));
    const { classes } = worker;
    const log = (line: string) => this.log(line);
    this.platform = new Platform({ time: this.time, classes, variables: this.#variables(), log, ignored });
    this.env = this.platform.environmentOf(null);
    const longAgoMs = START_MS - 10 * MINUTE_MS;
    this.kubeTrouble = new Flag(false, longAgoMs);
    this.kubeGone = new Flag(false, longAgoMs);
    this.alarmsLate = new Flag(false, longAgoMs);
    this.controllerAway = new Flag(!shape.hasController, longAgoMs);
    globalThis.fetch = (...asked) => this.#receive(new Request(...asked));
  }

  readonly randomNumber = (): number => numberOf(this.#random);

  log(line: string): void {
    this.lines.push(`${((this.time.nowMs() - START_MS) / 1000).toFixed(1)} s ${line}`);
  }

  /** Returns the seconds since the round's start. */
  seconds(atMs = this.time.nowMs()): number {
    return Math.round((atMs - START_MS) / 1000);
  }

  async begin(): Promise<void> {
    const { machines, hasController } = this.shape;
    if (hasController) this.startController();
    await this.operator("POST", "/v1/receivers", { name: "on-call", url: RECEIVER });
    for (const [at, shape] of machines.entries()) {
      const key = (keys[at] ??= await makeMachineKey());
      const machine = new LivingMachine(this, shape, key);
      const token = await this.operator<{ token: string }>("POST", "/v1/tokens", {
        names: shape.name,
        expiresInSeconds: 600,
        uses: 1,
        ...(shape.isForPods && { withoutFactsOnlyTaint: true }),
      });
      const enrolling = machine.enrol(token.token);
      await this.during(enrolling);
      this.machines.push(machine);
      machine.start();
    }
    this.time.every(MINUTE_MS, () => this.#cron());
  }

  startController(): void {
    this.stopController ??= this.cluster.startController();
    this.controllerAway.set(false, this.time.nowMs());
  }

  async endController(): Promise<void> {
    await this.stopController?.();
    this.stopController = null;
    this.controllerAway.set(true, this.time.nowMs());
  }

  /** Lets virtual time pass until the work ends. */
  async during<T>(work: Promise<T>): Promise<T> {
    const state = { isOver: false };
    const over = () => void (state.isOver = true);
    work.then(over, over);
    while (!state.isOver) await this.time.pass(1);
    return work;
  }

  /** Opens a feed as a page does; null if the Worker refuses. */
  async openFeed(path: string): Promise<ClientSocket | null> {
    const response = await this.#asOperator(path, { headers: { upgrade: "websocket" } });
    return (response as unknown as { webSocket: ClientSocket | null }).webSocket;
  }

  /** Sends a request as an operator, without the time of a network. Throws if the Worker refuses it. */
  async operator<Body = unknown>(method: string, path: string, body?: unknown): Promise<Body> {
    const init = { method, ...(body !== undefined && { body: JSON.stringify(body) }) };
    const response = await this.during(this.#asOperator(path, init));
    const text = await response.text();
    if (response.status >= 400) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return (
      text === "" ? null : response.headers.get("content-type")?.includes("json") ? JSON.parse(text) : text
    ) as Body;
  }

  #asOperator(path: string, init: RequestInit): Promise<Response> {
    const request = new Request(ORIGIN + path, init);
    request.headers.set("authorization", `Bearer ${ADMIN_SECRET}`);
    return this.worker.fetch(request, this.env);
  }

  async end(): Promise<void> {
    for (const machine of this.machines) machine.stop(true);
    await this.stopController?.();
    this.cluster.close();
    for (const host of this.platform.hosts()) host.close();
    // The loaded Worker stays in memory, and holds the environment.
    for (const name of Object.keys(this.env)) delete this.env[name];
  }

  #cron(): void {
    const controller = { scheduledTime: this.time.nowMs() };
    this.worker.scheduled(controller, this.env).catch((error: unknown) => this.log(`cron: ${String(error)}`));
  }

  async #settled(): Promise<void> {
    this.#events = this.time.nowMs() - this.#eventsAtMs > 1000 ? 0 : this.#events + 1;
    if (this.#events === 0) this.#eventsAtMs = this.time.nowMs();
    if (this.#events > MOST_EVENTS) throw new Error(`work without end:\n${this.lines.slice(-20).join("\n")}`);
    // A tick runs once no promise can go on. A turn of the event loop would cost a system call.
    await new Promise<void>((resolve) => process.nextTick(resolve));
    await this.cluster.idle();
  }

  async #receive(request: Request): Promise<Response> {
    this.onDelivery(JSON.parse(await request.text()) as Delivery);
    return new Response("");
  }

  #variables(): Record<string, unknown> {
    return {
      DEPLOYMENT: "rollcall",
      ORIGINS: ORIGIN,
      KUBE_URL,
      KUBE_TOKEN,
      KID_MAC_KEYS: `1:${Buffer.alloc(32, 1).toString("base64url")}`,
      ADMIN_SECRET_SHA256: sha256Base64url(ADMIN_SECRET),
      NODE_WATCH: this.shape.isWatched ? "on" : "off",
      MARK_SILENT_NODES: "on",
      KUBE: { fetch: (...args: ConstructorParameters<typeof Request>) => this.cluster.fetch(...args) },
    };
  }
}
