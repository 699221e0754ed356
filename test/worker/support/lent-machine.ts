// Runs a node object without keys, over real storage, and its gateway: the effects of a report and of a quiet
// heartbeat in each. Decides nothing itself.
import { env } from "cloudflare:workers";
import { customSetters } from "../../../shared/setters/custom.ts";
import type { Facts } from "../../../shared/protocol/facts.ts";
import type { Report, Vitals } from "../../../shared/protocol/report.ts";
import { reportIntervalMs } from "../../../shared/protocol/settings.ts";
import { nextRenewTime } from "../../../shared/node/lease.ts";
import { expanded, shortened } from "../../../shared/quiet/heartbeat-vitals.ts";
import { isQuiet, type Quiet, quietForMs, quietOf } from "../../../shared/quiet/quiet.ts";
import { recordContact, recordOutage, runningOf } from "../../../worker/machine/contact.ts";
import { type MachineState, openMachineState } from "../../../worker/machine/machine-state.ts";
import type { TickMemory } from "../../../worker/tick/memory.ts";
import { recordPhase } from "../../../worker/tick/phase.ts";
import { RequestBudget } from "../../../worker/tick/budgets.ts";
import { tick, type TickOutcome } from "../../../worker/tick/tick.ts";
import { SmallApiserver } from "./small-apiserver.ts";

/** The state of a machine that one heartbeat reports. A full report has all fields. */
export interface Said {
  atMs: number;
  facts: Facts;
  /** The digest of the facts. */
  digest: string;
  vitals: Vitals;
  /** Milliseconds by which the machine's clock is ahead. */
  skewMs: number;
  startId: string;
}

/** The loan in a gateway's memory. */
interface Order {
  base: Said;
  quiet: Quiet;
  untilMs: number;
}

const NAME = "edge-1";

export class LentMachine {
  readonly apiserver = new SmallApiserver();
  readonly #sql: SqlStorage;
  readonly #state: MachineState;
  readonly #memory: TickMemory = {};
  #order: Order | null = null;

  /** Opens the machine's state. The storage must be empty. */
  constructor(storage: DurableObjectStorage) {
    this.#sql = storage.sql;
    this.#state = openMachineState(storage, env);
  }

  /** Applies a full report as a node object does, then lends the lease if that is allowed. */
  async report(said: Said): Promise<void> {
    const { records, facts, samples } = this.#state;
    const { atMs, vitals, skewMs, startId, digest } = said;
    const machineTime = new Date(atMs + skewMs).toISOString();
    const report: Report = { protocol: 1, startId, machineTime, vitals, factsDigest: digest };
    const before = runningOf(records);
    facts.take(report, { ok: true, value: said.facts }, atMs);
    samples.observe(vitals, atMs);
    recordContact(this.#state, report, atMs, before);
    recordOutage(this.#state, report, atMs);
    const outcome = await this.#tick(report, atMs);
    recordPhase(this.#state, outcome.phase, atMs);
    this.#order = outcome.phase === "registered" ? this.#orderOf(said) : null;
  }

  /** Handles a heartbeat as a gateway does. Returns false if a full report is needed. */
  async heartbeat({ atMs, vitals, digest, startId, skewMs }: Said): Promise<boolean> {
    const { base, quiet, untilMs } = this.#order ?? {};
    if (!base || !quiet || untilMs === undefined) return false;
    if (digest !== base.digest || startId !== base.startId || atMs >= untilMs) return false;
    const short = shortened(vitals, base.vitals);
    if (!short || !isQuiet(quiet, expanded(short, base.vitals), skewMs)) return false;
    const lease = this.#memory.lease!;
    const renewTime = nextRenewTime(atMs * 1000, lease);
    this.#memory.lease = await this.apiserver.putLease({ ...lease, spec: { ...lease.spec, renewTime } });
    this.#memory.renewedAtMs = atMs;
    return true;
  }

  /** Returns all stored data, and all data in memory that the next decision depends on. */
  known(): Record<string, unknown> {
    // Leaves out the lease with its renewal time and budget, whose copies are as old as the object's last renewal.
    // Leaves out `written`, which expires after ten minutes without a row (shared/node/parts.ts).
    const { lease: _lease, renewedAtMs: _at, budget: _budget, written: _written, ...memory } = this.#memory;
    const rows = (table: string) => this.#sql.exec(`SELECT * FROM ${table} ORDER BY 1`).toArray();
    const records = this.#sql.exec("SELECT key, value FROM records ORDER BY key").toArray();
    return {
      node: this.apiserver.node,
      renewTime: this.apiserver.lease?.spec?.renewTime,
      memory,
      records,
      history: rows("history"),
      outbox: rows("outbox"),
      writes: this.#state.tables.writes(),
    };
  }

  #orderOf(base: Said): Order | null {
    const { records, facts } = this.#state;
    const { lease, setters, status, withheld } = this.#memory;
    const inForce = facts.current();
    const lastMs = status?.lastStatusReportTimeMs ?? null;
    if (!lease || !setters || !inForce || !status || lastMs === null || withheld !== undefined) return null;
    // The record of a reverted part of the Node expires with time, which a gateway does not notice.
    if (records.get("putBack")) return null;
    const { vitals, atMs } = base;
    const clock = { isSkewed: records.get("isSkewed") ?? false, skewMs: records.get("skewMs") ?? 0 };
    const quiet = quietOf({ vitals, facts: inForce, memory: setters, clock, custom: customSetters });
    if (!quiet) return null;
    const { nodeStatusReportFrequencyMs } = facts.timing();
    const statusDueInMs = lastMs + nodeStatusReportFrequencyMs + status.delayAfterNodeStatusChangeMs - atMs;
    const forMs = quietForMs(quiet, vitals, { statusDueInMs, intervalMs: reportIntervalMs(facts.timing()) });
    return { base, quiet, untilMs: atMs + forMs };
  }

  #tick(report: Report, nowMs: number): Promise<TickOutcome> {
    const { records, journal, facts } = this.#state;
    const fetch = (url: string, init: RequestInit) => this.apiserver.fetch(url, init);
    return tick({
      env: { ...env, KUBE: { fetch } as unknown as Fetcher },
      marks: { deployment: env.DEPLOYMENT, roles: [] },
      token: { current: () => env.KUBE_TOKEN, instead: () => Promise.resolve(null) },
      enrolment: {
        id: "e",
        name: NAME,
        key: "k",
        thumbprint: "t",
        machineID: "m-1",
        systemUUID: "s-1",
        token: "j",
        withoutFactsOnlyTaint: false,
        pinnedAtMs: 0,
      },
      report,
      facts: facts.current(),
      records,
      journal,
      memory: this.#memory,
      requests: new RequestBudget(records, 1_000_000, () => nowMs),
      isWatched: () => Promise.resolve(true),
      clusterMinor: () => undefined,
      nodeTurn: () => Promise.resolve({ waitMs: 0, isGranted: true, limit: "" }),
      nowMs: () => nowMs,
      random: () => 0.5,
    });
  }
}
