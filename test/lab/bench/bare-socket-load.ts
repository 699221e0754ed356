// Sends heartbeats over sockets to a bare gateway (bare-gateway.ts), with the same number of machines and requests at
// once as socket-load.ts.
import { createHmac, randomBytes } from "node:crypto";
import { Agent } from "node:http";
import { openWebSocket } from "../../../node-shim/worker-link/websocket.ts";
import { SIGNALS, type Vitals } from "../../../shared/protocol/report.ts";
import type { LoadRound } from "./heartbeat-load.ts";
import { machineVitals } from "./machine.ts";
import { someAtOnce } from "./some-at-once.ts";
import { AT_ONCE, SOCKETS, type SocketLoad } from "./socket-load.ts";
import type { RunningWorker } from "./workerd.ts";

const WITHIN_MS = 9000;

export async function startBareSocketLoad(worker: RunningWorker): Promise<SocketLoad> {
  const agent = new Agent();
  const names = Array.from({ length: SOCKETS }, (_, index) => `b-${index}`);
  const machines = await someAtOnce(AT_ONCE, names, (name) => openBareSocket(worker, name, agent));
  let beats = 0;
  const round = async (): Promise<LoadRound> => {
    const vitals = machineVitals(++beats);
    const [cpuBefore, startedMs] = [worker.cpuMicroseconds(), performance.now()];
    await someAtOnce(AT_ONCE, machines, ({ beat }) => beat(vitals));
    const seconds = (performance.now() - startedMs) / 1000;
    const cpuMicroseconds = (worker.cpuMicroseconds() - cpuBefore) / SOCKETS;
    return { heartbeatsPerSecond: SOCKETS / seconds, cpuMicroseconds };
  };
  const stop = () => {
    for (const machine of machines) machine.stop();
    agent.destroy();
  };
  return { round, stop };
}

interface BareSocket {
  beat: (vitals: Vitals) => Promise<void>;
  stop: () => void;
}

async function openBareSocket({ url }: RunningWorker, name: string, agent: Agent): Promise<BareSocket> {
  const key = randomBytes(32);
  const query = new URLSearchParams({ name, key: key.toString("base64url") });
  const opened = await openWebSocket({
    url: new URL(`/v1/socket?${query.toString()}`, url),
    headers: {},
    agent,
    deadlineMs: WITHIN_MS,
    signal: new AbortController().signal,
    maxBytes: 1024,
  });
  if (!opened.ok) throw new Error(`no socket of ${name}: ${JSON.stringify(opened.error)}`);
  const connection = opened.value;
  let waiting = Promise.withResolvers<void>();
  connection.listen({
    received: () => waiting.resolve(),
    ponged: () => undefined,
    ended: (why) => waiting.reject(new Error(why)),
  });
  let n = 0;
  const beat = (vitals: Vitals) => {
    waiting = Promise.withResolvers();
    const available = SIGNALS.map((signal) => vitals.signals[signal]?.[0] ?? null);
    const payload = JSON.stringify({ type: "heartbeat", n: ++n, at: Date.now(), available });
    connection.send(`${payload}\n${createHmac("sha256", key).update(payload).digest("base64url")}`);
    return waiting.promise;
  };
  return { beat, stop: connection.terminate };
}
