// Runs notifications over the storage of an empty fleet index. The test controls the clock and the receivers.
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import type { MachineDiagnosis } from "../../../shared/fleet/alert.ts";
import type { MachineSummary } from "../../../shared/fleet/summary.ts";
import { newMute, newMuteSchema, newReceiverSchema } from "../../../shared/protocol/receiver-api.ts";
import { MachineRows } from "../../../worker/fleet/machine-rows.ts";
import { Notifications } from "../../../worker/fleet/notifications.ts";
import { Outages } from "../../../worker/fleet/outages.ts";
import { FLEET_START_MS, machineName, updateOf } from "./made-up-fleet.ts";
import { outlasting } from "./clock.ts";

/** A receiver's reaction to a delivery: an HTTP status, or no answer. */
export type Behaviour = number | "hangs" | "unreachable" | (() => Response);

/** An alert in a delivery that a receiver got. */
export interface GotAlert {
  id: string;
  status: "firing" | "resolved";
  isRepeated: boolean;
  kind: string;
  name: string;
  state: string;
  since: string;
  until: string | null;
  machines: number;
  names: string[];
  text: string;
  why: string;
  diagnosis?: MachineDiagnosis;
}
export interface GotDelivery {
  receiver: string;
  messageId: string;
  atMs: number;
  headers: Record<string, string>;
  body: string;
  url: string;
  init: RequestInit;
  arrived: boolean;
}

export interface NotifiedFleet {
  /** Returns the milliseconds since FLEET_START_MS. */
  now: () => number;
  /** Changes a machine's state now. */
  goes: (index: number, state: MachineSummary["state"] | "gone", change?: Partial<MachineSummary>) => void;
  /** Lets time pass, and runs each task when it is due. */
  pass: (ms: number) => Promise<void>;
  add: (wish?: { name?: string } & Record<string, unknown>) => Promise<string>;
  mute: (wish: Record<string, unknown>) => Promise<number>;
  /** The deliveries that were sent, including those that did not arrive. */
  deliveries: GotDelivery[];
  /** Sets the fault that the Worker's probe of the apiserver finds from now on; null for none. */
  probeFinds: (fault: string | null) => void;
  /** Moves the clock without running tasks, as a slow request does. */
  takes: (ms: number) => void;
  /** Returns the number of probes of the apiserver so far. */
  probes: () => number;
  /** The receivers' reactions from now on, by the receiver's name. */
  behaviour: Record<string, Behaviour>;
  /** The questions for a diagnosis so far, as `ops asks machine-000001`. */
  asked: string[];
  /** The answer of each machine to such a question from now on. */
  machines: { answer: MachineDiagnosis | "hangs" };
  /** Returns the alerts of the deliveries that arrived, as `firing machine-000001 silent`. */
  delivered: (receiver?: string) => string[];
  /** Simulates an eviction, after which only the storage remains. */
  evict: () => void;
  notifications: () => Notifications;
  outages: Outages;
  sql: SqlStorage;
  /** The entries of the audit log, as `alice mute.create mute 1`. */
  audited: string[];
  /** The details of these entries. */
  details: string[];
}

let objects = 0;

/** Calls `work` with an empty fleet index. `limitsFactor`: the deployment's SHARED_LIMITS_FACTOR. */
export function withFleet<T>(work: (fleet: NotifiedFleet) => Promise<T>, limitsFactor = 1): Promise<T> {
  const stub = env.INDEX.getByName(`notified-${objects++}`);
  return runInDurableObject(stub, (_, { storage }) => work(fleetOver(storage, limitsFactor)));
}

export const alertsOf = ({ body }: Pick<GotDelivery, "body">) =>
  (JSON.parse(body) as { alerts: GotAlert[] }).alerts;

function fleetOver(storage: DurableObjectStorage, limitsFactor: number): NotifiedFleet {
  const state = { nowMs: FLEET_START_MS, version: 0, ids: 0, probes: 0, fault: null as string | null };
  const deliveries: GotDelivery[] = [];
  const [audited, details]: [string[], string[]] = [[], []];
  const behaviour: Record<string, Behaviour> = {};
  const outages = new Outages(storage.sql);
  const rows = new MachineRows(storage.sql);
  const send = (url: string, init: RequestInit): Promise<Response> => {
    const headers = init.headers as Record<string, string>;
    const receiver = new URL(url).hostname.split(".")[0]!;
    const how = behaviour[receiver] ?? 200;
    const arrived = typeof how === "number" && how >= 200 && how < 300;
    const messageId = headers["webhook-id"] ?? "";
    deliveries.push({
      receiver,
      messageId,
      atMs: state.nowMs - FLEET_START_MS,
      headers,
      body: init.body as string,
      url,
      init,
      arrived,
    });
    if (how === "hangs") return new Promise(() => undefined);
    if (how === "unreachable") return Promise.reject(new Error("connection refused"));
    return Promise.resolve(typeof how === "function" ? how() : new Response("an answer", { status: how }));
  };
  const open = () =>
    new Notifications({
      sql: storage.sql,
      transaction: (work) => storage.transactionSync(work),
      deployment: "made-up",
      origin: "https://rollcall.test",
      allowed: "off",
      limitsFactor: () => limitsFactor,
      summary: (name) => rows.summary(name),
      outageOf: (name, summary) => outages.of(name, summary),
      isOver: (id) => outages.isOver(Number(id)),
      counts: () => rows.counts(),
      clusterFault: () => {
        state.probes += 1;
        return Promise.resolve(state.fault);
      },
      machinesOf: (id) => outages.machinesOf(Number(id)),
      silentInOutages: () => outages.silent().reduce((sum, { silent }) => sum + silent, 0),
      diagnose: ({ machine, receiver }) => {
        asked.push(`${receiver} asks ${machine}`);
        const answer = diagnosisOf.answer;
        return answer === "hangs" ? new Promise(() => undefined) : Promise.resolve(answer);
      },
      send,
      withinMs: 20,
      audit: (record) => {
        audited.push(`${record.who} ${record.what} ${record.target}`);
        details.push(record.detail);
        return Promise.resolve();
      },
      arm: () => Promise.resolve(),
      timer: undefined,
      nowMs: () => state.nowMs,
      newId: () => `id-${state.ids++}`,
      random: () => 0,
    });
  const asked: string[] = [];
  const diagnosisOf: NotifiedFleet["machines"] = { answer: { findings: [], none: "" } };
  let notifications = open();
  return {
    now: () => state.nowMs - FLEET_START_MS,
    goes(index, to, change = {}) {
      storage.transactionSync(() => {
        const found =
          to === "gone"
            ? rows.remove(machineName(index), ++state.version, state.nowMs, "left")
            : rows.take({
                ...updateOf(index, ++state.version, { state: to, sinceMs: state.nowMs, ...change }),
                generation: state.version,
              }).change;
        if (!found) return;
        outages.note(found);
        notifications.note(found);
      });
    },
    probeFinds(fault) {
      state.fault = fault;
    },
    takes(ms) {
      state.nowMs += ms;
    },
    probes: () => state.probes,
    async pass(ms) {
      const untilMs = state.nowMs + ms;
      for (;;) {
        const dueMs = notifications.task().dueMs();
        if (dueMs === null || dueMs > untilMs) break;
        state.nowMs = Math.max(state.nowMs, dueMs);
        await outlasting(Promise.resolve(notifications.task().run()));
      }
      state.nowMs = untilMs;
    },
    async add({ name: wished = "ops", ...wish } = {}) {
      const { name, ...change } = newReceiverSchema.parse({
        name: wished,
        url: `https://${wished}.example.com/in`,
        ...wish,
      });
      const added = await notifications.put(name, { ...change, newSecret: false }, true, "alice");
      if (!added.ok) throw new Error(JSON.stringify(added.error));
      return added.value.secret ?? "";
    },
    async mute(wish) {
      const muted = await notifications.mute(newMute(newMuteSchema.parse(wish)), "alice");
      if (!muted.ok) throw new Error(muted.error.message);
      return muted.value.id;
    },
    deliveries,
    behaviour,
    asked,
    machines: diagnosisOf,
    delivered: (receiver = "ops") =>
      deliveries
        .filter((each) => each.receiver === receiver && each.arrived)
        .flatMap(alertsOf)
        .map(({ status, name, state }) => `${status} ${name} ${state}`),
    evict() {
      notifications = open();
    },
    notifications: () => notifications,
    outages,
    sql: storage.sql,
    audited,
    details,
  };
}
