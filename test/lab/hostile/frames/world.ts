// Starts the Worker on workerd and the embedded apiserver for hostile frames, with a clock that moves only on
// request. Sends nothing hostile.
import { fileURLToPath } from "node:url";
import type { Transport, TransportRequest } from "../../../../node-shim/worker-link/exchange.ts";
import { httpTransport } from "../../../../node-shim/worker-link/http-transport.ts";
import { type Asked, startCountingKube } from "../../bench/counting-kube.ts";
import { type BenchWorker, startBenchWorker } from "../../bench/workerd.ts";
import type { Measured } from "../../../worker/support/measured-rows.ts";
import { type GatewayLook, LOOK_PATH } from "../agreed.ts";
import { enrolled, keyOf, NOW_MS, plantToken } from "../joining.ts";
import { randomOf } from "../random.ts";
import { FramedMachine } from "./framed-machine.ts";

const ENTRY = fileURLToPath(new URL("../../../worker/support/hostile-entry.ts", import.meta.url));
const DEADLINE_MS = 30_000;

/** An enrolled machine with the last request of its enrolment. */
export interface Joined {
  machine: FramedMachine;
  enrolment: TransportRequest;
}

export class FrameWorld {
  readonly worker: BenchWorker;
  readonly send: Transport;
  /** Returns the requests to the apiserver since the last call. */
  readonly asked: () => Asked[];
  readonly stop: () => Promise<void>;
  #nowMs = NOW_MS;

  private constructor(parts: {
    worker: BenchWorker;
    sendNow: Transport;
    asked: () => Asked[];
    stop: () => Promise<void>;
    clock: { nowMs: () => number };
  }) {
    const { worker, sendNow, asked, stop, clock } = parts;
    this.worker = worker;
    this.asked = asked;
    this.stop = stop;
    clock.nowMs = () => this.#nowMs;
    this.send = (request) =>
      sendNow({ ...request, headers: { ...request.headers, "x-now-ms": String(this.#nowMs) } });
  }

  static async start(): Promise<FrameWorld> {
    const clock = { nowMs: () => NOW_MS };
    const kube = await startCountingKube(() => clock.nowMs());
    const worker = await startBenchWorker(kube, "*", { entry: ENTRY });
    const { send: sendNow, close } = httpTransport(worker.url, DEADLINE_MS);
    const stop = async () => {
      close();
      await worker.stop();
      await kube.stop();
    };
    return new FrameWorld({ worker, sendNow, asked: kube.asked, stop, clock });
  }

  nowMs(): number {
    return this.#nowMs;
  }

  /** Enrols the machines one after the other, so that the Worker's random values come in the same order. */
  async join(names: readonly string[], seed: number): Promise<Joined[]> {
    const random = randomOf(seed, -3);
    const joinToken = await plantToken(this.worker, random, seed);
    const place = { url: this.worker.url, send: this.send, nowMs: () => this.#nowMs };
    const joined: Joined[] = [];
    for (const name of names) {
      let enrolment: TransportRequest | undefined;
      const recording: Transport = (request) => this.send((enrolment = request));
      const { key, kid } = await enrolled(recording, name, joinToken, await keyOf(random));
      const machine = new FramedMachine(name, { key, kid }, place);
      await machine.register();
      joined.push({ machine, enrolment: enrolment! });
    }
    return joined;
  }

  async pass(ms: number): Promise<void> {
    this.#nowMs += ms;
    await this.measured();
  }

  /** Rings the gateway's alarm. */
  async ring(): Promise<void> {
    await this.look("?ring");
  }

  /** Returns the counts of the platform's work, such as written rows, since the last call. */
  async measured(): Promise<Measured> {
    const headers = { "x-now-ms": String(this.#nowMs) };
    const answer = await fetch(`${this.worker.url}/measured/rows/any`, { headers });
    return (await answer.json()) as Measured;
  }

  async look(query = ""): Promise<GatewayLook> {
    const answer = await fetch(`${this.worker.url}${LOOK_PATH}${query}`);
    return (await answer.json()) as GatewayLook;
  }

  /** Waits until the gateway has this number of machines: it processes the end of a socket a moment later. */
  async untilMembers(count: number): Promise<void> {
    for (const beganMs = performance.now(); performance.now() - beganMs < DEADLINE_MS;) {
      const { members } = await this.look();
      if (members === count) return;
    }
  }
}
