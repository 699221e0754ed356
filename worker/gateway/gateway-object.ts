// The Durable Object of a gateway, which holds the sockets of up to GATEWAY_SIZE machines. The logic is in gateway.ts.
import type { MachineUsage } from "../../shared/protocol/fleet-answers.ts";
import { type Environment, gatewaySize, registry } from "../env.ts";
import { randomNonce } from "../identity/mac-keys.ts";
import { heldToken } from "../kube/connect.ts";
import { type Asking, answerOf } from "../asking.ts";
import type { LeaseHolder, ReturnedLoan } from "../machine/lease-loan.ts";
import { Durations, type Measured } from "../metrics/metrics.ts";
import { LazyAlarm } from "../storage/lazy-alarm.ts";
import { migrate, StoredObject } from "../storage/migrations.ts";
import { GatewayCounters } from "./counters.ts";
import { Gateway } from "./gateway.ts";
import { GATEWAY_MIGRATIONS } from "./members.ts";
import { Lateness } from "./lateness.ts";
import { leasePutter } from "./lease.ts";
import type { OpenedSocket } from "./sockets.ts";
import { usageReceiver } from "./usage-receiver.ts";
import { logFailure } from "../log.ts";
import { after, currentMs } from "../clock.ts";

/** The verified request to open a socket, which the Worker sends in the header GATEWAY_OPENING. */
export interface GatewayOpening extends OpenedSocket {
  /** The connect ticket, which is valid for one socket. */
  ticket: string;
}
export const GATEWAY_OPENING = "x-rollcall-gateway";

/** Moves a machine from its full gateway to another one. A machine without another gateway stays. */
export async function moveMachine(
  env: Environment,
  { name, kid, from }: { name: string; kid: string; from: number },
): Promise<void> {
  const [, thumbprint = ""] = kid.split(".");
  const other = await registry(env).reassign({ name, thumbprint, from });
  if (other !== null && other !== from) await env.NODES.getByName(name).assignGateway(other);
}

/** All gateways of an isolate have one thread. */
const lateness = new Lateness(currentMs);

export class GatewayObject extends StoredObject implements LeaseHolder {
  readonly #durations = new Durations(currentMs);
  readonly #counters = new GatewayCounters(currentMs());
  readonly #gateway: Gateway;

  constructor(ctx: DurableObjectState, env: Environment) {
    super(ctx, env);
    migrate(ctx.storage, GATEWAY_MIGRATIONS);
    const { timer = after } = env;
    this.#gateway = new Gateway({
      node: (name) => this.env.NODES.getByName(name),
      putLease: leasePutter(env, heldToken(env), this.#durations, timer),
      registry: {
        noteCapacity: (number, machines) => registry(env).noteCapacity(number, machines),
        move: (machine) => moveMachine(env, machine),
      },
      sockets: (name) => ctx.getWebSockets(name),
      sql: ctx.storage.sql,
      alarm: new LazyAlarm(ctx.storage, currentMs),
      size: () => gatewaySize(env),
      counters: this.#counters,
      receiver: usageReceiver(env),
      lateness,
      timer,
      nowMs: currentMs,
      random: Math.random,
      nonce: randomNonce,
      log: logFailure,
    });
  }

  /** Opens a socket, or answers with a GatewayRefusal. Asks a machine, or answers with a NotAsked. */
  override async fetch(request: Request): Promise<Response> {
    if (request.method === "POST") return this.#ask(await request.json<Asking>());
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the Worker wrote it
    const { ticket, ...opened } = JSON.parse(request.headers.get(GATEWAY_OPENING) ?? "") as GatewayOpening;
    const refusal = this.#gateway.refusal(opened, ticket);
    if (refusal) return new Response(refusal);
    const { 0: client, 1: server } = new WebSocketPair();
    this.ctx.acceptWebSocket(server, [opened.name]);
    await this.#gateway.open(server, opened);
    return new Response(null, { status: 101, webSocket: client });
  }

  #ask(asking: Asking): Response {
    const { name, asked } = asking;
    return answerOf(this.env, this.ctx, asking, (over) => this.#gateway.ask(name, asked, over));
  }

  override webSocketMessage(socket: WebSocket, frame: string | ArrayBuffer): Promise<void> {
    return this.#gateway.receive(socket, frame);
  }

  override webSocketClose(socket: WebSocket): Promise<void> {
    return this.#gateway.closed(socket);
  }

  override webSocketError(socket: WebSocket): Promise<void> {
    return this.#gateway.closed(socket);
  }

  override alarm(): Promise<void> {
    return this.#gateway.ring();
  }

  /** Checks that the alarm is set. The cron trigger calls `care`. */
  care(): Promise<void> {
    return this.#gateway.care();
  }

  noteMember(name: string, gateway: number): Promise<true> {
    return this.#gateway.noteMember(name, gateway);
  }

  recall(name: string, floor: number): Promise<ReturnedLoan | null> {
    return this.#gateway.withdraw(name, floor);
  }

  look(name: string): Promise<ReturnedLoan | null> {
    return this.#gateway.heldLoan(name);
  }

  reportNow(name: string): Promise<boolean> {
    return this.#gateway.reportNow(name);
  }

  dismiss(name: string, why: "left" | "moved" | "refused"): Promise<void> {
    return this.#gateway.dismiss(name, why);
  }

  /** Returns the names of the questions that a machine answers; null if the machine has no socket. */
  questionsOf(name: string): string[] | null {
    return this.#gateway.questionsOf(name);
  }

  /** Returns the usage of the machines that send it. */
  usage(): MachineUsage[] {
    return this.#gateway.usages.list();
  }

  /** Returns the gateway's metrics; an empty object if the gateway has no machine. `isEach`: also of each machine. */
  metrics(isEach = false): Measured {
    const status = this.#gateway.status();
    if (!status) return {};
    return {
      ...this.#counters.measure(status, this.#durations),
      ...(isEach && this.#gateway.usages.measure()),
    };
  }
}
