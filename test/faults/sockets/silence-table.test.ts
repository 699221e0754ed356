// Tests every start of a machine with every death: the Worker notices the silence within 45 s of the last message,
// with and without a node controller. All machines of one test live at the same time, by one clock.
import { evictDurableObject } from "cloudflare:test";
import { afterEach, describe, expect, it, vi } from "vitest";
import { makeMachineKey } from "../../../node-shim/identity/identity.ts";
import { rotate } from "../../../node-shim/worker-link/requests.ts";
import type { Facts } from "../../../shared/protocol/facts.ts";
import type { HistoryEntry } from "../../../shared/protocol/operator-answers.ts";
import { ClusterObject } from "../../../worker/cluster/cluster-object.ts";
import { ORIGIN } from "../../worker/support/constants.ts";
import { enrolled, facts, kube, operator, transport } from "../../worker/support/machine.ts";
import { SocketMachine } from "../../worker/support/socket-machine.ts";
import { crash, MachineOnSocket, nodePath, passRinging, type PutClock, stoppedClock } from "./members.ts";
import { BEAT_MS, evictNode, gatewayOf, objectOf, ownGateway } from "./on-socket.ts";

/** The longest time between the last message of a machine and the notice of its silence. */
const NOTICED_MS = 45_000;
/** A restart within this time of the last report: the object doubts whether the former process has ended. */
const QUICK_MS = 3000;
/** Alarms that are due within this time ring at once, so that few steps live all lives. */
const AT_ONCE_MS = 1500;

/** The acts of a machine. Each yield waits for that number of milliseconds; the machine dies at the end. */
type Life = AsyncGenerator<number, void>;

class Living {
  readonly name: string;
  of: MachineOnSocket;
  facts: Facts;
  #isNew = true;

  constructor(of: MachineOnSocket) {
    this.of = of;
    this.name = of.name;
    this.facts = facts(this.name);
  }

  /** Reports over HTTP. The first report makes the gateway the machine's. */
  async http(): Promise<void> {
    expect((await this.of.shim.http({ facts: this.facts })).status).toBe(200);
    if (this.#isNew) await objectOf(this.name).assignGateway(this.of.gateway);
    this.#isNew = false;
  }

  /** Opens a socket without a report. */
  async open(): Promise<void> {
    this.of.socket = await this.of.shim.connect();
    this.of.socket.passesOver = "report-now";
  }

  /** Reports over the socket. */
  async report(): Promise<void> {
    expect((await this.of.socket.report({ facts: this.facts })).status).toBe(200);
  }

  /** Sends a heartbeat. Returns false if the Worker must have a report. */
  async beat(): Promise<boolean> {
    const frame = this.of.socket.session ? await this.of.beat() : "closed";
    return frame !== "closed" && frame.type === "answer";
  }

  async *beats(count: number): Life {
    for (let beats = 0; beats < count; beats++) {
      yield BEAT_MS;
      if (!(await this.beat())) await this.report();
    }
  }

  /** Lives through the first messages of a process. Ends after the first `stages` of them. */
  async *start(stages: number): Life {
    const acts = [() => this.http(), () => this.http(), () => this.open(), () => this.report()];
    for (const [at, act] of acts.slice(0, stages).entries()) {
      // The second report comes while the machine waits to open its socket.
      if (at === 1) yield 9000;
      if (at > 1) yield 1000;
      await act();
    }
  }

  /** Lives through a whole start, and sends heartbeats. */
  async *steady(beats = 2): Life {
    yield* this.start(ALL_STAGES);
    yield* this.beats(beats);
  }

  /** Starts another process on the machine. The gateway learns of the former socket's end at once, or never. */
  restart(isClosed = true): void {
    const { socket, shim, gateway } = this.of;
    if (isClosed) socket.close();
    const next = Object.assign(shim.copy(), { ticket: "", n: 0, path: "", startId: `${shim.startId}+` });
    this.of = Object.assign(new MachineOnSocket(next, gateway, {}), { socket });
  }
}

const ALL_STAGES = 4;
const STAGES = ["its report", "its second report", "its socket opened", "a report on its socket"];

/** `isAlone`: true if the machine has a gateway of its own; else the machines share a gateway. */
type Start = [start: string, live: (machine: Living) => Life, isAlone?: boolean];

const whole = (name: string, act: (machine: Living) => Promise<unknown>): Start => [
  name,
  async function* live(machine) {
    yield* machine.steady();
    yield 1000;
    await act(machine);
  },
];

/** Returns one start for each stage at which the machine may die. */
const staged = (name: string, before: (machine: Living) => Life, isAlone = false): Start[] =>
  STAGES.map((stage, at) => [
    `${name}, after ${stage}`,
    async function* live(machine) {
      yield* before(machine);
      yield* machine.start(at + 1);
    },
    isAlone,
  ]);

const UPGRADED = { kernel: "6.2.0", osImage: "Test Linux" };

const STARTS: Start[] = [
  ["steady", (machine) => machine.steady(5)],
  ...staged("first start", async function* unborn() {}),
  ...staged("quick restart", async function* restarts(machine) {
    yield* machine.steady();
    yield QUICK_MS;
    machine.restart();
  }),
  ...staged("quick restart of an upgrade", async function* restarts(machine) {
    yield* machine.steady();
    yield QUICK_MS;
    machine.restart();
    machine.facts = facts(machine.name, { versions: UPGRADED });
  }),
  [
    "later restart, its former socket half-open, after its report",
    async function* live(machine) {
      yield* machine.steady();
      machine.restart(false);
      yield 30_000;
      await machine.http();
    },
  ],
  ...staged(
    "gateway lost",
    async function* loses(machine) {
      yield* machine.steady();
      await crash(gatewayOf(machine.of.gateway));
      yield 5000;
    },
    true,
  ),
  ...staged(
    "deployment",
    async function* loses(machine) {
      yield* machine.steady();
      await evictDurableObject(gatewayOf(machine.of.gateway), { webSockets: "close" });
      await evictNode(machine.name);
      yield 5000;
    },
    true,
  ),
  ...staged("gateway moved", async function* moves(machine) {
    yield* machine.steady();
    await objectOf(machine.name).assignGateway(machine.of.gateway + 1000);
    yield 2000;
  }),
  [
    "rotation",
    async function* live(machine) {
      yield* machine.steady();
      const { machine: of } = machine.of.shim;
      const key = await makeMachineKey();
      const rotated = await rotate(transport, { ...of, origin: ORIGIN }, key);
      if (!rotated.ok) throw new Error(JSON.stringify(rotated));
      const { socket, gateway } = machine.of;
      const next = new SocketMachine({ ...of, key, kid: rotated.value.kid, ticket: "" });
      machine.of = Object.assign(new MachineOnSocket(next, gateway, {}), { socket });
      yield 1000;
      await machine.http();
    },
  ],
  whole("gateway moved, without a report", ({ name, of }) => objectOf(name).assignGateway(of.gateway + 1000)),
  whole("loan withdrawn", ({ name }) => objectOf(name).noticeNode(null)),
  [
    "loan withdrawn, then a report",
    async function* live(machine) {
      yield* machine.steady();
      await objectOf(machine.name).noticeNode(null);
      yield 5000;
      await machine.report();
    },
  ],
  [
    "loan over",
    async function* live(machine) {
      yield* machine.steady();
      await objectOf(machine.name).setNeededRuntime("none");
      yield BEAT_MS;
      expect(await machine.beat()).toBe(false);
    },
  ],
  [
    "Node created again",
    async function* live(machine) {
      yield* machine.steady();
      await kube("DELETE", nodePath(machine.name));
      await objectOf(machine.name).noticeNode(null);
      await objectOf(machine.name).registerAgain();
      yield 5000;
      await machine.report();
    },
  ],
];

type Death = [death: string, die: (machine: Living) => Promise<unknown> | undefined];
const DEATHS: Death[] = [
  ["its socket closes", async ({ of }) => (of.socket as typeof of.socket | undefined)?.close()],
  // The platform evicts an object ten seconds after its last call.
  ["its socket stays half-open, and its object is evicted", ({ name }) => evictNode(name)],
];

/** The real time after which a test of all lives counts as hanging, on a busy computer. */
const MOST_MS = 600_000;

interface Cell {
  start: string;
  machine: Living;
  life: Life;
  /** The time of the next act; null once the machine is dead. */
  nextMs: number | null;
  /** The time of the last act. */
  heardMs: number;
}

let cells = 0;

async function born([start, live, isAlone]: Start, shared: number): Promise<Cell> {
  const gateway = isAlone ? ownGateway() : shared;
  const of = new MachineOnSocket(new SocketMachine(await enrolled(`table-${++cells}`)), gateway, {});
  const machine = new Living(of);
  return { start, machine, life: live(machine), nextMs: Date.now(), heardMs: Date.now() };
}

/** Lives all lives, with all alarms, until each machine has been dead for `ms`. */
async function liveAll(all: Cell[], clock: PutClock, die: Death[1], ms: number): Promise<void> {
  const gateways = new Set(all.flatMap(({ machine: { of } }) => [of.gateway, of.gateway + 1000]));
  // A stub of a crashed object stays broken, so each step takes new stubs.
  const stubs = () => [
    ...all.map(({ machine: { name } }) => objectOf(name)),
    ...[...gateways].map((number) => gatewayOf(number)),
  ];
  const act = async (cell: Cell) => {
    const { value, done } = await cell.life.next();
    if (done) await die(cell.machine);
    else if (value === 0) throw new Error("a wait of no time");
    cell.heardMs = Date.now();
    cell.nextMs = done ? null : Date.now() + value;
  };
  for (;;) {
    const alive = all.flatMap(({ nextMs }) => nextMs ?? []);
    if (alive.length === 0) break;
    const nextMs = Math.min(...alive);
    await passRinging(clock, nextMs - Date.now(), stubs(), AT_ONCE_MS);
    const due = all.filter((cell) => cell.nextMs !== null && cell.nextMs <= nextMs);
    await Promise.all(due.map(act));
  }
  const lastMs = Math.max(...all.map(({ heardMs }) => heardMs));
  await passRinging(clock, lastMs + ms - Date.now(), stubs(), AT_ONCE_MS);
}

/** Returns the milliseconds from the machine's last message to the notice of its silence; Infinity without one. */
async function noticedAfter({ machine: { name }, heardMs }: Cell): Promise<number> {
  const path = `/v1/nodes/${name}/history?kind=silence`;
  const { body } = await operator<{ entries: HistoryEntry[] }>("GET", path);
  const noticed = body.entries.find(({ at }) => Date.parse(at) >= heardMs);
  return noticed ? Date.parse(noticed.at) - heardMs : Infinity;
}

afterEach(() => void vi.restoreAllMocks());

describe.each([
  ["without a node controller", false],
  ["with a node controller, whose change of the Node comes later", true],
])("%s", (_, hasController) => {
  it.each(DEATHS)(
    "a machine dies and %s → silent within 45 s, whatever its start",
    async (_death, die) => {
      const status = { isWatched: hasController, isSilenceSeen: hasController };
      vi.spyOn(ClusterObject.prototype, "standing").mockResolvedValue(status);
      const clock = stoppedClock();
      const shared = ownGateway();
      const all = await Promise.all(STARTS.map((start) => born(start, shared)));
      await liveAll(all, clock, die, NOTICED_MS + 1000);
      const late: string[] = [];
      for (const cell of all) {
        const tookMs = await noticedAfter(cell);
        if (tookMs > NOTICED_MS) late.push(cell.start);
      }
      expect(late).toEqual([]);
    },
    MOST_MS,
  );
});
