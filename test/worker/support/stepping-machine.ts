// Runs one machine's ticks or single steps (registration, lease, status) over an apiserver in memory. Its state can
// be saved, so that each row of a table begins with an equal machine.
import { env } from "cloudflare:workers";
import type { Node } from "../../../shared/kubernetes/types.ts";
import { decidedConditions } from "../../../shared/node/decided.ts";
import type { Grant } from "../../../shared/protocol/join-tokens.ts";
import type { Report, Vitals } from "../../../shared/protocol/report.ts";
import { failure, success } from "../../../shared/result.ts";
import { fieldManagerOf } from "../../../worker/kube/connect.ts";
import { kubeClient } from "../../../worker/kube/kube-client.ts";
import type { Journal } from "../../../worker/storage/journal.ts";
import type { NodeLoad, NodeTurn } from "../../../worker/storage/records.ts";
import { type LastContact, renewLease as renewed } from "../../../worker/tick/lease.ts";
import type { TickMemory } from "../../../worker/tick/memory.ts";
import type { Loss } from "../../../worker/tick/own-node.ts";
import { register as registered, type RegisteringMachine } from "../../../worker/tick/registration.ts";
import { writeStatus as written, type WritingMachine } from "../../../worker/tick/status.ts";
import { RequestBudget } from "../../../worker/tick/budgets.ts";
import { tick, type TickOutcome } from "../../../worker/tick/tick.ts";
import { facts, HEALTHY } from "./facts.ts";
import { countingRecords } from "./kube-in-between.ts";
import { SmallApiserver } from "./small-apiserver.ts";

export const NAME = "edge-1";

/**
 * Returns an answer in the apiserver's place; undefined if the apiserver itself must answer. `asked`: "PUT lease",
 * "GET Node?resourceVersion=0", …
 */
type InBetween = (
  asked: string,
  ask: () => Promise<Response>,
) => Response | undefined | Promise<Response | undefined>;

/** The arguments for the steps of a tick. */
export interface StepContext extends RegisteringMachine, Omit<WritingMachine, "report" | "requests"> {
  report: Report;
  requests: RequestBudget;
  memory: TickMemory;
  formTurn: () => Promise<number | null>;
  created?: Node | undefined;
  lost?: Loss | undefined;
}

export async function register(context: StepContext, deadlineMs: number) {
  const { memory, created, ...outcome } = await registered(context, context.memory, deadlineMs);
  Object.assign(context.memory, memory);
  context.created = created;
  return outcome;
}

export async function renewLease(context: StepContext, deadlineMs: number) {
  const renewal = await renewed(context, context.memory, deadlineMs, context.created);
  Object.assign(context.memory, renewal.memory);
  context.lost = renewal.lost;
  return renewal;
}

export async function writeStatus(context: StepContext, contact: LastContact, deadlineMs: number) {
  const { error, lost, memory } = await written(context, context.memory, contact, deadlineMs);
  Object.assign(context.memory, memory);
  context.lost = lost;
  return error === null ? success(null) : failure(error);
}

/** The saved state: the apiserver's objects, and the data that an eviction leaves. */
export interface Kept {
  texts: ReadonlyMap<string, string>;
  apiserver: Pick<SmallApiserver, "node" | "lease">;
  memory: TickMemory;
  nowMs: number;
}

const ALL_REQUESTS = 1_000_000;

export class SteppingMachine {
  readonly apiserver = new SmallApiserver();
  readonly records;
  readonly #texts: Map<string, string>;
  memory: TickMemory;
  nowMs: number;
  facts = facts(NAME);
  grant: Partial<Grant> = {};
  enrolmentId = "e";
  registerAgain: RegisteringMachine["registerAgain"] = "when-silent";
  /** The seconds without an answer that the next report states. */
  noAnswerSeconds: number | undefined;
  isWatched = false;
  /** The cluster's minor version, as the isolate has learned it. */
  clusterMinor: number | undefined;
  /** The milliseconds until the machine's turn, as the fleet index answers; null if the fleet index does not answer. */
  formTurnMs: number | null = 0;
  /** The answer of the fleet index about a turn for a new or larger Node; null if there is no answer. */
  nodeTurn: NodeTurn | null = { waitMs: 0, isGranted: true, limit: "" };
  /** The loads of the Node that the machine's requests for a turn have stated, in order. */
  readonly loads: NodeLoad[] = [];
  keepsTopologyLabels = false;
  requests: RequestBudget;
  inBetween: InBetween | undefined;
  /** The requests since the last `take`. */
  #asked: string[] = [];
  /** The reasons of events. `notes`: the lines of history and of the log, in order. */
  readonly events: string[] = [];
  readonly notes: string[] = [];

  constructor(kept?: Kept) {
    this.#texts = new Map(kept?.texts);
    this.records = countingRecords(this.#texts);
    Object.assign(this.apiserver, structuredClone(kept?.apiserver));
    this.memory = structuredClone(kept?.memory ?? {});
    this.nowMs = kept?.nowMs ?? Date.parse("2026-02-03T04:05:06Z");
    this.requests = this.#budget(ALL_REQUESTS);
  }

  keep(): Kept {
    const { node, lease } = this.apiserver;
    return structuredClone({
      texts: this.#texts,
      apiserver: { node, lease },
      memory: this.memory,
      nowMs: this.nowMs,
    });
  }

  /** Returns the requests to the apiserver since the last call. */
  take(): string[] {
    return this.#asked.splice(0);
  }

  evict(): void {
    this.memory = {};
  }

  /** Sets the limit of requests in a minute, and spends these requests. */
  limitRequests(aMinute: number, spent: Parameters<RequestBudget["spend"]>[0][]): void {
    this.requests = this.#budget(aMinute);
    for (const each of spent) this.requests.spend(each);
  }

  /** Runs the whole tick of a report. */
  async report(vitals: Vitals = HEALTHY, startId = "start-1"): Promise<TickOutcome> {
    this.#asked.length = 0;
    const { client: _client, log: _log, ...input } = this.context(vitals, startId);
    const KUBE = { fetch: (url: string, init: RequestInit) => this.#fetch(url, init) } as unknown as Fetcher;
    const outcome = await tick({
      ...input,
      env: { ...env, KUBE, REGISTER_AGAIN: this.registerAgain },
      token: { current: () => env.KUBE_TOKEN, instead: () => Promise.resolve(null) },
    });
    this.requests.keep();
    return outcome;
  }

  #budget(aMinute: number): RequestBudget {
    return new RequestBudget(this.records, aMinute, () => this.nowMs);
  }

  /** Returns the context of the tick of a report. */
  context(vitals: Vitals = HEALTHY, startId = "start-1"): StepContext {
    const nowMs = () => this.nowMs;
    const { noAnswerSeconds, requests } = this;
    return {
      name: NAME,
      deployment: env.DEPLOYMENT,
      registerAgain: this.registerAgain,
      marks: { deployment: env.DEPLOYMENT, roles: [], keepsTopologyLabels: this.keepsTopologyLabels },
      enrolment: {
        id: this.enrolmentId,
        name: NAME,
        key: "k",
        thumbprint: "t",
        machineID: "m-1",
        systemUUID: "s-1",
        token: "j",
        withoutFactsOnlyTaint: false,
        ...this.grant,
        pinnedAtMs: 0,
      },
      report: {
        protocol: 1,
        startId,
        machineTime: "2026-01-02T03:04:05Z",
        vitals,
        factsDigest: "d",
        ...(noAnswerSeconds !== undefined && { noAnswerSeconds }),
      },
      facts: this.facts,
      records: this.records,
      journal: this.#journal,
      memory: this.memory,
      requests,
      isWatched: () => Promise.resolve(this.isWatched),
      clusterMinor: () => this.clusterMinor,
      formTurn: () => Promise.resolve(this.formTurnMs),
      nodeTurn: (load) => {
        this.loads.push(load);
        return Promise.resolve(this.nodeTurn);
      },
      nowMs,
      random: () => 0.5,
      client: (withinMs) =>
        kubeClient({
          fetch: (url, init) => this.#fetch(url, init),
          url: "https://kube.test",
          token: () => "t",
          fieldManager: fieldManagerOf(env.DEPLOYMENT),
          withinMs,
          nowMs,
          mayAsk: (what) => requests.take(what),
          // No deadline passes in these tests, because no situation takes time.
          timer: () => () => undefined,
        }),
      log: (text) => void this.notes.push(`log: ${text}`),
    };
  }

  readonly #journal: Journal = {
    decide: ({ node, memory, events }) => {
      this.records.put("decided", decidedConditions(node));
      this.records.put("memory", memory);
      this.events.push(...events.map(({ reason }) => reason));
    },
    begin: ({ process }) => {
      this.records.put("process", process);
      this.records.put("decided", []);
    },
    tell: ({ reason }) => void this.events.push(reason),
    warn: (reason) => void this.events.push(reason),
    note: (kind, text) => void this.notes.push(`${kind}: ${text}`),
  };

  async #fetch(url: string, init: RequestInit): Promise<Response> {
    const { pathname, search } = new URL(url);
    const method = init.method ?? "GET";
    const what = pathname.includes("/leases") ? "lease" : pathname.endsWith("/status") ? "status" : "Node";
    const asked = `${method} ${what}${method === "GET" ? search : ""}`;
    this.#asked.push(asked);
    const ask = () => this.apiserver.fetch(url, init);
    return (await this.inBetween?.(asked, ask)) ?? ask();
  }
}
