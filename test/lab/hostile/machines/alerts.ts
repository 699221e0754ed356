// Receives the alerts of the fleet on loopback while hostile machines act, and plays an honest machine whose state
// operators must be notified of. Reads the history of honest machines.
import { setTimeout as wait } from "node:timers/promises";
import { ask, readAnswer, type WorkerConnection } from "../../../../infra/operator/client.ts";
import { fleetHistorySchema } from "../../../../shared/protocol/fleet-answers.ts";
import { NOTIFICATION_LIMITS } from "../../../../shared/protocol/limits.ts";
import { ALERT_STATES } from "../../../../shared/protocol/receiver-api.ts";
import type { RunningWorker } from "../../bench/workerd.ts";
import { openJsonPort } from "../../bench/json-port.ts";
import { startMachine } from "./honest.ts";
import { PATIENT } from "./names.ts";

export interface Delivery {
  atMs: number;
  receiver: string;
  /** The time at which the Worker made the message. */
  at: string;
  alerts: { kind: string; status: string; name: string; state: string; why: string }[];
}

export interface Receivers {
  deliveries: Delivery[];
  stop: () => Promise<void>;
}

/** The name of the receiver of all alerts. */
export const ALL = "all";

/** Adds a receiver of all alerts, and one of outages, without a delay. */
export async function startReceivers(connection: WorkerConnection): Promise<Receivers> {
  const deliveries: Delivery[] = [];
  const port = await openJsonPort(({ path, body }) => {
    const { at, alerts } = JSON.parse(body) as Pick<Delivery, "at" | "alerts">;
    deliveries.push({ atMs: performance.now(), receiver: path.slice(1), at, alerts });
    return Promise.resolve({ status: 200, text: "{}" });
  });
  for (const [name, outagesOnly] of [[ALL, false] as const, ["outages", true] as const]) {
    const body = { name, url: `${port.url}/${name}`, states: ALERT_STATES, delaySeconds: 0, outagesOnly };
    const added = await ask(connection, { method: "POST", path: "/v1/receivers", body });
    if (!added.ok) throw new Error(`the receiver ${name} was not added: ${JSON.stringify(added.error)}`);
  }
  return { deliveries, stop: port.stop };
}

export interface Patient {
  /** Resolves after the last change was told, or the time for that has passed. */
  ended: Promise<void>;
  /** The time until the receiver was notified, for each change that it was notified of. */
  toldMs: number[];
  /** The changes that the receiver was not notified of in time. */
  untold: string[];
}

/** The time within which an alert of an honest machine arrives, also while hostile machines exhaust their shares. */
const TOLD_WITHIN_MS = 90_000;
const REPORT_EVERY_MS = 1000;
/** The number of times that the machine stops being Ready. Its own join token allows six deliveries at once. */
const TURNS = 2;

/** Plays a machine whose Node stops being Ready and is Ready again, twice within `forMs`. */
export async function startPatient(
  worker: RunningWorker,
  { deliveries }: Receivers,
  forMs: number,
  stop: AbortSignal,
): Promise<Patient> {
  const machine = await startMachine(worker, PATIENT);
  const startedMs = performance.now();
  const [toldMs, untold]: [number[], string[]] = [[], []];
  const played = new AbortController();
  let isReady = true;
  const told = (status: string) =>
    deliveries
      .filter(({ receiver }) => receiver === ALL)
      .flatMap(({ alerts }) => alerts)
      .filter((alert) => alert.name === PATIENT && alert.status === status).length;
  const pause = (ms: number) => wait(ms, true, { signal: stop }).catch(() => false);

  async function untilTold(status: "firing" | "resolved", times: number): Promise<void> {
    const changedMs = performance.now();
    while (told(status) < times) {
      if (performance.now() - changedMs > TOLD_WITHIN_MS) {
        untold.push(`no receiver was notified within ${TOLD_WITHIN_MS / 1000} s: ${status} ${PATIENT}`);
        return;
      }
      if (!(await pause(100))) return;
    }
    toldMs.push(performance.now() - changedMs);
  }
  async function change(status: "firing" | "resolved"): Promise<void> {
    isReady = status === "resolved";
    await untilTold(status, told(status) + 1);
  }
  async function play(): Promise<void> {
    // The machine was not Ready while it enrolled.
    await untilTold("resolved", 1);
    for (let turn = 0; turn < TURNS; turn++) {
      await pause(Math.max(0, startedMs + (forMs * turn) / TURNS - performance.now()));
      await change("firing");
      await change("resolved");
    }
    played.abort();
  }
  // One loop sends all reports, since two at once would look like two machines.
  async function report(): Promise<void> {
    while (!played.signal.aborted && (await pause(REPORT_EVERY_MS))) {
      const fault = await machine.report(isReady);
      if (fault !== null) untold.push(fault);
    }
    machine.close();
  }
  return { ended: Promise.all([play(), report()]).then(() => undefined), toldMs, untold };
}

/**
 * Returns the number of deliveries to a receiver in this time. Messages that were made at once, because one has no room for
 * all alerts, count as one: the limit counts them, and forgives what exceeds it.
 */
export function deliveriesTo(
  name: string,
  deliveries: readonly Delivery[],
  { fromMs, toMs }: { fromMs: number; toMs: number },
): number {
  const its = deliveries.filter(({ receiver, atMs }) => receiver === name && atMs >= fromMs && atMs <= toMs);
  const continues = (index: number) => {
    const before = its[index - 1];
    return before?.at === its[index]?.at && before?.alerts.length === NOTIFICATION_LIMITS.alertsInLetter;
  };
  return its.filter((_, index) => !continues(index)).length;
}

/** Returns the alerts about the fleet. One machine alone must not cause such an alert. */
export function fleetWide(deliveries: readonly Delivery[]): string[] {
  return deliveries.flatMap(({ receiver, alerts }) =>
    alerts
      .filter(({ kind }) => kind !== "machine")
      .map((alert) => `${receiver}: ${alert.status} ${alert.kind} ${alert.name} ${alert.state} ${alert.why}`),
  );
}

export interface HistoryLine {
  id: number;
  name: string;
  text: string;
}

/** Returns the lines of the fleet's history with these parameters, at most 1000. */
export async function historyOf(
  connection: WorkerConnection,
  parameters: Record<string, string>,
): Promise<HistoryLine[]> {
  const path = `/v1/history?${new URLSearchParams({ limit: "1000", ...parameters }).toString()}` as const;
  const answer = await ask(connection, { method: "GET", path });
  const read = answer.ok ? readAnswer(fleetHistorySchema, answer.value) : answer;
  if (!read.ok) throw new Error(`${path}: ${read.error.message}`);
  return read.value.entries;
}
