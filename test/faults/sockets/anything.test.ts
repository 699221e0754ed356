// Tests random events of a machine on a socket: only the machine's messages renew its lease, no time goes back, no
// event is lost or repeated, and finally the Node has the last report.
import * as fc from "fast-check";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { ReportOutcome } from "../../../node-shim/worker-link/reporter.ts";
import { operator, setFault } from "../../worker/support/machine.ts";
import type { Wrong } from "../../worker/support/fault.ts";
import { DOWN, expectSound, UP, type WatchedMachine } from "../watched.ts";
import {
  crash,
  lentMachine,
  type MachineOnSocket,
  passRinging,
  type PutClock,
  stoppedClock,
  stubsOf,
} from "./members.ts";
import { BEAT_MS, evictGateway, evictNode, gatewayOf, objectOf } from "./on-socket.ts";

const FAULTS: Record<string, Wrong> = {
  "the apiserver refuses": { kind: "status", code: 500, reason: "InternalError" },
  "a tunnel answers": { kind: "html" },
  "answers are lost": { kind: "answer lost" },
};

/** The events, of which a random one happens next. Each takes one heartbeat interval, or no time. */
const HAPPENINGS = [
  "it says nothing new",
  "it says nothing new",
  "it says nothing new",
  "its clock is off for one heartbeat",
  "it flips",
  "it reports by HTTP",
  "its socket closes",
  "its gateway is evicted",
  "its gateway crashes",
  "its object is evicted",
  "its object crashes",
  "an operator has it register again",
  "it is not heard of for a minute",
  ...Object.keys(FAULTS),
  "the apiserver is well",
] as const;
type Happening = (typeof HAPPENINGS)[number];

/** A played shim that sends over a socket and over HTTP. */
class Shim {
  readonly machine: MachineOnSocket;
  readonly said: WatchedMachine["said"] = [{ startId: "start-1", isUp: true }];
  isUp = true;
  /** true if the apiserver fails. */
  isCut = false;
  #unasked = 0;
  #seen = 0;

  constructor(machine: MachineOnSocket) {
    this.machine = machine;
  }

  async begin(): Promise<void> {
    this.#seen = (await this.machine.renewals()).length;
    this.machine.socket.passesOver = "report-now";
  }

  get vitals() {
    return this.isUp ? UP : DOWN;
  }

  /**
   * Sends a message with `say`. First counts the renewals since the end of the last message, which no message can have
   * caused.
   */
  async #saying<T>(say: () => Promise<T>): Promise<T> {
    this.#unasked += (await this.machine.renewals()).length - this.#seen;
    const said = await say();
    this.#seen = (await this.machine.renewals()).length;
    return said;
  }

  unasked = () => this.#unasked;

  /** Sends a report over the socket if one is open, else over HTTP. */
  async report(isByHttp = false): Promise<ReportOutcome> {
    return this.#saying(async () => {
      const wish = { vitals: this.vitals };
      const { socket, shim } = this.machine;
      const isOpen = !isByHttp && socket.closed === null;
      const overSocket = isOpen && (await this.machine.report(wish).catch(() => null));
      const answered = overSocket || (await this.machine.http(wish));
      const body = "body" in answered ? answered.body : answered.answer;
      expect(answered.status, JSON.stringify(body)).toBe(200);
      this.said.push({ startId: `start-1`, isUp: this.isUp });
      const path = "socket" in body ? body.socket?.path : undefined;
      if (path !== undefined && !isByHttp) {
        this.machine.socket = await shim.connect(path);
        this.machine.socket.passesOver = "report-now";
        await this.machine.report(wish);
      }
      return { ok: true, value: body } as unknown as ReportOutcome;
    });
  }

  async beat(at = Date.now()): Promise<void> {
    const { socket } = this.machine;
    if (!socket.session || socket.closed || this.isUp !== this.said.at(-1)?.isUp)
      return void (await this.report());
    const frame = await this.#saying(() => this.machine.beat({ vitals: this.vitals, at }));
    if (frame === "closed" || frame.type !== "answer") await this.report();
  }
}

/** Waits for an eviction. An object that is not in memory cannot be evicted, which counts as done. */
const asleepAfter = (evicted: Promise<void>) => evicted.catch(() => undefined);

async function happen(what: Happening, shim: Shim, clock: PutClock): Promise<void> {
  const { machine } = shim;
  const { name, gateway } = machine;
  const wrong = FAULTS[what];
  if (wrong) {
    shim.isCut = true;
    return setFault(name, wrong);
  }
  switch (what) {
    case "its socket closes":
      return machine.socket.close();
    case "its gateway is evicted":
      return asleepAfter(evictGateway(gateway));
    case "its gateway crashes":
      return void (await crash(gatewayOf(gateway)));
    case "its object is evicted":
      return asleepAfter(evictNode(name));
    case "its object crashes":
      return void (await crash(objectOf(name)));
    case "the apiserver is well":
      shim.isCut = false;
      return setFault(name, "");
    case "an operator has it register again":
      // The event needs a Node that shows the machine's last state. Else the Node's new registration would report a
      // change of Ready a second time.
      if (shim.isCut || ((await machine.condition("Ready")) === "True") !== shim.isUp) return undefined;
      await operator("POST", `/v1/nodes/${name}/register`);
      // Two answers in one millisecond would have the same ticket, and a ticket opens only one socket.
      clock.shift(1);
      // The shim reports as if a frame on its socket had requested the report.
      return void (await shim.report());
    case "it is not heard of for a minute":
      return void (await passRinging(clock, 60_000, stubsOf([machine])));
    default:
  }
  await passRinging(clock, BEAT_MS, stubsOf([machine]));
  if (what === "it flips") shim.isUp = !shim.isUp;
  if (what === "it reports by HTTP") return void (await shim.report(true));
  await shim.beat(what === "its clock is off for one heartbeat" ? Date.now() + 120_000 : Date.now());
}

beforeEach(() => void vi.spyOn(console, "log").mockReturnValue());
afterEach(() => void vi.restoreAllMocks());

let runs = 0;
const RUNS = 15;
it("any twelve of these → renewals only by messages, in order, each event once, and a correct Node in the end", async () => {
  const happenings = fc.array(fc.constantFrom(...HAPPENINGS), { minLength: 6, maxLength: 16 });
  const property = fc.asyncProperty(happenings, async (happened) => {
    const clock = stoppedClock();
    const machine = await lentMachine(`anything-${++runs}`, clock);
    const shim = new Shim(machine);
    await shim.begin();
    for (const what of happened) await happen(what, shim, clock);
    await setFault(machine.name, "");
    // After three heartbeats, the apiserver's failure is over for all machines.
    for (let beats = 0; beats < 3; beats++) await happen("it says nothing new", shim, clock);
    await expectSound({
      name: machine.name,
      said: shim.said,
      well: async () => clock.shift(BEAT_MS),
      report: () => shim.report(),
      node: () => machine.node(),
      leaseWrites: async () => (await machine.renewals()).length,
      ring: async () => (await passRinging(clock, 0, stubsOf([machine]))).length > 0,
      unasked: shim.unasked,
    } as unknown as WatchedMachine);
    vi.restoreAllMocks();
  });
  await fc.assert(property, { numRuns: RUNS });
});
