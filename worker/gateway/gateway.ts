// A gateway, without the platform's part of it: what comes by its machines' sockets, and what their objects ask of it. While
// heartbeats are quiet it renews leases, and wakes no machine's object.
import { GATEWAY_LIMITS } from "../../shared/protocol/limits.ts";
import type { LeaseHolder, ReturnedOrder } from "../machine/lease-loan.ts";
import type { GatewayStanding } from "./counters.ts";
import { Endings } from "./endings.ts";
import { Heartbeats } from "./heartbeats.ts";
import { returnedOrder } from "./held-order.ts";
import { Members } from "./members.ts";
import { type GatewayRefusal, isUnacceptedTooLong, Openings } from "./openings.ts";
import { readFrame } from "./read-frame.ts";
import { Reports } from "./reports.ts";
import { type ServerSocket, type HeldSocket, HeldSockets, type OpenedSocket } from "./sockets.ts";
import type { GatewayParts, GatewaySurroundings } from "./surroundings.ts";
import { Watch, WATCH_LIMITS } from "./watch.ts";

export class Gateway implements LeaseHolder {
  readonly #in: GatewayParts;
  readonly #endings: Endings;
  readonly #openings: Openings;
  readonly #heartbeats: Heartbeats;
  readonly #reports: Reports;
  readonly #watch: Watch;

  constructor(surroundings: GatewaySurroundings) {
    const { sockets, nowMs, sql } = surroundings;
    this.#in = { ...surroundings, held: new HeldSockets(sockets, nowMs), members: new Members(sql) };
    this.#endings = new Endings(this.#in);
    this.#openings = new Openings(this.#in, this.#endings);
    this.#heartbeats = new Heartbeats(this.#in, this.#endings);
    this.#reports = new Reports(this.#in, this.#endings);
    this.#watch = new Watch(this.#in, this.#endings, this.#openings);
  }

  /** null: the socket may be opened, and `open` is to be called with it. */
  refusal({ name, ticket }: { name: string; ticket: string }): GatewayRefusal | null {
    return this.#openings.refusal(name, ticket);
  }

  open(socket: ServerSocket, opened: OpenedSocket): Promise<void> {
    return this.#openings.begin(socket, opened);
  }

  /** Never fails. */
  async receive(socket: ServerSocket, frame: string | ArrayBuffer): Promise<void> {
    const held = this.#in.held.of(socket);
    try {
      await this.#take(held, frame);
    } catch (error) {
      const { name } = held.attachment;
      this.#in.log({ node: name, message: "a frame failed", error: String(error) });
    }
  }

  async #take(socket: HeldSocket, frame: string | ArrayBuffer): Promise<void> {
    if (socket.closedMs !== null && !socket.replaced) return undefined;
    const read = readFrame(frame);
    if (socket.closedMs !== null)
      return read.kind === "heartbeat" ? this.#heartbeats.takeReplaced(socket, read) : undefined;
    if (isUnacceptedTooLong(socket, this.#in.nowMs())) return this.#endings.sendAway(socket, "no report");
    switch (read.kind) {
      case "heartbeat":
        return this.#heartbeats.take(socket, read);
      case "report":
        return this.#reports.take(socket, read.report);
      default:
        return this.#endings.sendAway(socket, "bad frame");
    }
  }

  /** The platform has told that it is closed. */
  async closed(socket: ServerSocket): Promise<void> {
    const { held } = this.#in;
    const known = held.of(socket);
    known.closedMs ??= this.#in.nowMs();
    held.hangUp(socket, "");
    held.forget(socket);
    await this.#endings.end(known.attachment.name);
  }

  ring(): Promise<void> {
    return this.#watch.ring();
  }

  care(): Promise<void> {
    return this.#watch.care();
  }

  async noteMember(name: string, gateway: number): Promise<true> {
    const { members, alarm, nowMs } = this.#in;
    members.put(name, gateway);
    // Its socket may be gone by now, and nobody else looks.
    await alarm.atLatest(nowMs() + WATCH_LIMITS.lookMs);
    return true;
  }

  async recall(name: string, floor: number): Promise<ReturnedOrder | null> {
    const { held, members } = this.#in;
    const member = members.known(name);
    if (member) member.floor = Math.max(member.floor, floor);
    const returned = member ? await this.#endings.takeBack(member, floor) : null;
    // Its object knows by this that nobody watches the machine any more.
    if (!held.accepted(name) && !members.isBusy(name)) members.delete(name);
    return returned;
  }

  look(name: string): Promise<ReturnedOrder | null> {
    const order = this.#in.members.known(name)?.held;
    return Promise.resolve(order ? returnedOrder(order, this.#in.nowMs()) : null);
  }

  reportNow(name: string): Promise<boolean> {
    const { held, members } = this.#in;
    const order = members.known(name)?.held;
    // It waits for the report, which a heartbeat is told to be as well.
    if (order) order.isEnded = true;
    const socket = held.accepted(name);
    if (socket) held.send(socket, { type: "report-now" });
    return Promise.resolve(socket !== undefined);
  }

  dismiss(name: string, why: "left" | "moved" | "refused"): Promise<void> {
    const { held, members, counters } = this.#in;
    for (const socket of held.open(name)) {
      if (why === "moved") this.#endings.hangUp(socket, why, 0);
      else if (why === "refused") this.#endings.hangUp(socket, why, 1000 * GATEWAY_LIMITS.awaySeconds);
      else {
        counters.ended(why);
        held.end(socket, { type: "left" }, why);
      }
    }
    const member = members.known(name);
    if (member?.held) member.held.isEnded = true;
    if (member) member.held = null;
    members.delete(name);
    return Promise.resolve();
  }

  /** null: it has no machine, and does not know its number. */
  standing(): GatewayStanding | null {
    const { members } = this.#in;
    const gateway = members.number;
    return gateway === null
      ? null
      : { gateway, members: members.count, isSuspended: this.#heartbeats.isSuspended };
  }
}
