// Runs ticks without a node object. The embedded apiserver is behind a function that may answer, delay or record
// requests.
import { env } from "cloudflare:workers";
import type { Report, Vitals } from "../../../shared/protocol/report.ts";
import type { NodeRecords, NodeRecordStore } from "../../../worker/storage/records.ts";
import type { Grant } from "../../../shared/protocol/join-tokens.ts";
import { decidedConditions } from "../../../shared/node/decided.ts";
import type { Journal } from "../../../worker/storage/journal.ts";
import type { TickMemory } from "../../../worker/tick/memory.ts";
import { RequestBudget } from "../../../worker/tick/budgets.ts";
import { tick, type TickOutcome } from "../../../worker/tick/tick.ts";
import { facts, HEALTHY } from "./machine.ts";

const bound = env as unknown as { KUBE: Fetcher };

/** Returns an answer in the apiserver's place; undefined if the apiserver itself must answer. */
type InBetween = (
  method: string,
  path: string,
  ask: () => Promise<Response>,
) => Response | undefined | Promise<Response | undefined>;

export function statusResponse(code: number, reason: string, more: object = {}): Response {
  const status = { kind: "Status", apiVersion: "v1", status: "Failure", code, reason, message: reason };
  return Response.json({ ...status, ...more }, { status: code });
}

/** Returns records that store texts as a node object does, and that count writes. */
export function countingRecords(texts = new Map<string, string>()): NodeRecordStore & { writes: number } {
  return {
    writes: 0,
    get(key) {
      const text = texts.get(key);
      return text === undefined ? undefined : JSON.parse(text);
    },
    holds: (key, value) => texts.get(key) === JSON.stringify(value),
    put(key, value) {
      const text = JSON.stringify(value);
      if (texts.get(key) === text) return;
      texts.set(key, text);
      this.writes++;
    },
    remove(key) {
      if (texts.delete(key)) this.writes++;
    },
  };
}

/** Returns a simulated node object without keys and signatures. `report` runs one tick; `evict` deletes the memory. */
export function tickingMachine(name: string, requestsAMinute = 1_000_000) {
  const records = countingRecords();
  const budget = () => new RequestBudget(records, requestsAMinute, () => machine.nowMs);
  const machine = {
    records,
    memory: {} as TickMemory,
    /** The variables of the Worker that replace those of the tests. */
    variables: {} as { REGISTER_AGAIN?: string },
    /** The seconds without an answer that the next report states. */
    noAnswerSeconds: undefined as number | undefined,
    /** The ID of the enrolment. A changed value means that another machine has the name. */
    enrolmentId: "e",
    /** true if the cluster object watches the Node. */
    isWatched: false,
    requestBudget: undefined as RequestBudget | undefined,
    nowMs: Date.parse("2026-02-03T04:05:06Z"),
    /** The requests since the last report, as ["PUT /apis/…", …]. */
    requests: [] as string[],
    inBetween: undefined as InBetween | undefined,
    /** The reasons of the events that decisions caused, in order. */
    events: [] as string[],
    /** The value of NODE_ROLE. */
    roles: [] as string[],
    /** The value of NODE_UNSCHEDULABLE. */
    isUnschedulable: false,
    isPassedOver: false,
    /** The grant of the machine's join token. */
    grant: {} as Partial<Grant>,
    journal: {
      decide: ({ node, memory, events }) => {
        records.put("decided", decidedConditions(node));
        records.put("memory", memory);
        machine.events.push(...events.map(({ reason }) => reason));
      },
      begin: ({ process }) => {
        records.put("process", process);
        records.put("decided", []);
      },
      tell: ({ reason }) => void machine.events.push(reason),
      warn: (reason) => void machine.events.push(reason),
      note: () => undefined,
    } as Journal,
    evict() {
      machine.memory = {};
      machine.requestBudget = undefined;
    },
    setFacts(more: Parameters<typeof facts>[1] = {}) {
      records.put("facts", { digest: "d", facts: facts(name, more) });
    },
    async report(vitals: Vitals = HEALTHY, startId = "start-1"): Promise<TickOutcome> {
      machine.requests = [];
      const report: Report = {
        protocol: 1,
        startId,
        machineTime: "2026-01-02T03:04:05Z",
        vitals,
        factsDigest: "d",
        ...(machine.noAnswerSeconds !== undefined && { noAnswerSeconds: machine.noAnswerSeconds }),
      };
      const fetch = async (url: string, init: RequestInit) => {
        const { pathname, search } = new URL(url);
        const method = init.method ?? "GET";
        const path = pathname + (method === "GET" ? search : "");
        machine.requests.push(`${method} ${path}`);
        const ask = () => bound.KUBE.fetch(url, init);
        return (await machine.inBetween?.(method, path, ask)) ?? ask();
      };
      const enrolment: NodeRecords["enrolment"] = {
        id: machine.enrolmentId,
        name,
        key: "k",
        thumbprint: "t",
        machineID: "m-1",
        systemUUID: "s-1",
        token: "j",
        withoutFactsOnlyTaint: false,
        ...machine.grant,
        pinnedAtMs: 0,
      };
      const requests = (machine.requestBudget ??= budget());
      const outcome = await tick({
        marks: {
          deployment: env.DEPLOYMENT,
          roles: machine.roles,
          isUnschedulable: machine.isUnschedulable,
          isPassedOver: machine.isPassedOver,
        },
        env: { ...env, ...machine.variables, KUBE: { fetch } as unknown as Fetcher },
        token: { current: () => env.KUBE_TOKEN, instead: () => Promise.resolve(null) },
        enrolment,
        report,
        facts: records.get("facts")?.facts,
        records,
        journal: machine.journal,
        memory: machine.memory,
        requests,
        isWatched: () => Promise.resolve(machine.isWatched),
        clusterMinor: () => undefined,
        nodeTurn: () => Promise.resolve({ waitMs: 0, isGranted: true, limit: "" }),
        nowMs: () => machine.nowMs,
        random: () => 0.5,
      });
      requests.keep();
      return outcome;
    },
  };
  machine.setFacts();
  return machine;
}
