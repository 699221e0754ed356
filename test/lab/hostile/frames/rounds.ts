// Opens the sockets that hostile frames go to, round after round. Some machines have an accepted socket with a
// session, and one without a report; others have four without a report. Ten minutes pass between rounds, so that a
// refused machine may come back.
import { GATEWAY_LIMITS } from "../../../../shared/protocol/limits.ts";
import type { TransportRequest } from "../../../../node-shim/worker-link/exchange.ts";
import { atOnce } from "../at-once.ts";
import type { FramedMachine, FramedSocket, SessionOfSocket } from "./framed-machine.ts";
import type { Tapped } from "./tapped.ts";
import type { WireSocket } from "./wire-socket.ts";
import type { FrameWorld, Joined } from "./world.ts";

/** A socket that gets one hostile frame after the other until the socket has ended. */
export interface Target {
  /** "accepted" if the gateway has accepted a report on the socket. */
  sort: "accepted" | "unaccepted";
  tapped: Tapped;
  wire: WireSocket;
  /** An ended socket of the same machine. */
  before: Tapped;
  enrolment: TransportRequest;
}

/**
 * Milliseconds between two heartbeats of a machine. Two of them are less than the time limit of a socket without a
 * report.
 */
const BEAT_MS = 9600;
const AWAY_MS = 1000 * GATEWAY_LIMITS.awaySeconds;
const AT_ONCE = 16;
/** The number of a session's heartbeats that are signed too early. */
const LATER = 5;
const BARE_SHARE = 8;

export interface RoundMachines {
  /** The machines that have an accepted socket. */
  accepted: readonly Joined[];
  /** The machines that have no accepted socket. */
  bare: readonly Joined[];
  /** A machine that is not attacked, and has its socket all the time. */
  beside: FramedMachine;
}

export async function joinMachines(world: FrameWorld, count: number, seed: number): Promise<RoundMachines> {
  const bareCount = Math.ceil(count / BARE_SHARE);
  const names = Array.from({ length: count + bareCount }, (_, at) =>
    at < count ? `framed-${at}` : `bare-${at}`,
  );
  const [beside, ...joined] = await world.join(["beside", ...names], seed);
  return { beside: beside!.machine, accepted: joined.slice(0, count), bare: joined.slice(count) };
}

type Opened = Joined & { socket: FramedSocket };

export class Rounds {
  readonly #world: FrameWorld;
  readonly #machines: RoundMachines;
  /** The last ended socket of each machine. */
  readonly #before = new Map<string, Tapped>();
  #beside: FramedSocket | undefined;
  /** The number of accepted heartbeats of the machine that is not attacked. */
  beats = 0;

  constructor(world: FrameWorld, machines: RoundMachines) {
    this.#world = world;
    this.#machines = machines;
  }

  /**
   * Returns the number of rows written at the end of an accepted socket that its machine ends. Throws if two ends
   * differ.
   */
  async rowsOfAnEnd(): Promise<number> {
    const opened = await this.#accepted();
    await this.#world.pass(BEAT_MS);
    await this.#world.ring();
    await this.#world.measured();
    for (const { socket } of opened) socket.wire.close();
    await this.#world.untilMembers(1);
    const { rowsWritten } = await this.#world.measured();
    for (const { machine, socket } of opened) this.#before.set(machine.name, await tapped(machine, socket));
    const rows = rowsWritten / opened.length;
    if (!Number.isInteger(rows))
      throw new Error(`${opened.length} ends of sockets wrote ${rowsWritten} rows`);
    return rows;
  }

  /** Opens new sockets, at a time when the next heartbeat of each session would renew its lease. */
  async begin(): Promise<Target[]> {
    const accepted = await this.#accepted();
    await this.#world.pass(BEAT_MS);
    await atOnce(AT_ONCE, accepted, async ({ machine, socket }) => {
      if (!(await machine.beat(socket))) throw new Error(`a heartbeat of ${machine.name} was not taken`);
    });
    await this.#beat();
    const { bare } = this.#machines;
    const unaccepted = [
      // Every second machine with an accepted socket also opens one without a report: in total, both sorts of
      // sockets are equally many.
      ...this.#machines.accepted.filter((_, at) => at % 2 === 0),
      ...bare.flatMap((each) => Array<Joined>(GATEWAY_LIMITS.unacceptedOfName).fill(each)),
    ];
    const opened = await atOnce(AT_ONCE, unaccepted, async (joined) => ({
      ...joined,
      socket: await joined.machine.open(),
    }));
    await this.#world.pass(BEAT_MS);
    return Promise.all([...accepted, ...opened].map((each) => this.#target(each)));
  }

  async #target({ machine, socket, enrolment }: Opened): Promise<Target> {
    const here = await tapped(machine, socket);
    const sort = socket.session ? "accepted" : "unaccepted";
    return {
      sort,
      tapped: here,
      wire: socket.wire,
      before: this.#before.get(machine.name) ?? here,
      enrolment,
    };
  }

  /** Ends the remaining targets. The machine that is not attacked continues. */
  async end(targets: readonly Target[]): Promise<void> {
    for (const { tapped: each, wire } of targets) {
      wire.close();
      this.#before.set(each.name, each);
    }
    await Promise.all(targets.map(({ wire }) => wire.until(() => false)));
    await this.#world.untilMembers(1);
    await this.#world.pass(BEAT_MS);
    await this.#beat();
  }

  /** Opens the accepted sockets after a pause, so that every refused machine may come back. */
  async #accepted(): Promise<Opened[]> {
    await this.#world.pass(AWAY_MS + BEAT_MS);
    await this.#reportBeside();
    await this.#world.ring();
    return atOnce(AT_ONCE, this.#machines.accepted, async (joined) => {
      const socket = await joined.machine.open();
      await joined.machine.report(socket);
      return { ...joined, socket };
    });
  }

  /** Sends a heartbeat of the machine that is not attacked, before the gateway counts it as silent. */
  async #reportBeside(): Promise<void> {
    const { beside } = this.#machines;
    this.#beside ??= await beside.open();
    await beside.report(this.#beside);
  }

  async #beat(): Promise<void> {
    const { beside } = this.#machines;
    if (!this.#beside || !(await beside.beat(this.#beside)))
      throw new Error("a heartbeat of the machine that nobody attacks was not taken");
    this.beats++;
  }
}

/** Signs the withheld requests. The machine signs no request after these. */
async function tapped(
  machine: FramedMachine,
  { keys, session, reports, beats }: FramedSocket,
): Promise<Tapped> {
  const socket = { keys, session, reports, beats };
  return {
    name: machine.name,
    own: keys.publicKey,
    theirs: session?.key ?? "",
    nonces: session?.nonces ?? [],
    reports,
    beats,
    withheld: {
      report: await machine.signed(keys.publicKey),
      overHttp: await machine.signed(),
      beat: session ? machine.nextBeat(socket) : "",
      wrongBeats: session ? wrongBeats(machine, socket) : [],
    },
  };
}

/** Returns heartbeats that are wrong in `n`, in the nonce, or in both. */
function wrongBeats(machine: FramedMachine, socket: SessionOfSocket): string[] {
  const [next, nonces] = [socket.beats.length, socket.session?.nonces ?? []];
  const byNumber = machine.beats(socket, nonces.at(-1) ?? "", LATER).filter((_, at) => at !== next);
  const byNonce = [...nonces.slice(0, -1), "", "A".repeat(22)].flatMap((nonce) =>
    machine.beats(socket, nonce, next + 1),
  );
  return [...byNumber.slice(0, next + 1), ...byNumber.slice(-1), ...byNonce];
}
