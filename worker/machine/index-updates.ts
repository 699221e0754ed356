// Tells the fleet index of this machine when something about it has changed: in the background, one telling at a time, and
// again by the object's alarm where that failed. A steady heartbeat writes and builds nothing. Its state is in SQLite, but
// for what an eviction may lose.
import { stateChangeText } from "../../shared/fleet/state.ts";
import { type KnownMachine, stateOf, summarize } from "../../shared/fleet/summarize.ts";
import type { MachineSummary, MachineTelling, ToldUntil } from "../../shared/fleet/summary.ts";
import { withDeadline } from "../kube/deadline.ts";
import { logFailure, logNote } from "../log.ts";
import { type Allowance, allowanceAt } from "../storage/allowance.ts";
import type { History } from "../storage/history.ts";
import type { LazyAlarm } from "../storage/lazy-alarm.ts";
import type { Enrolment, NodeRecordStore, Told } from "../storage/records.ts";
import type { Tables } from "../storage/tables.ts";
import { leftOutMessage } from "../tick/parts.ts";
import { isRegisteredReady, lastPhase } from "../tick/phase.ts";
import { hasReported } from "./contact.ts";
import type { MachineState } from "./machine-state.ts";

export const TELLING_LIMITS = {
  withinMs: 2000,
  /** Lines of history that one telling carries. */
  lines: 200,
  /** Those that an index gets that does not know the machine. */
  linesAnew: 100,
  firstWaitMs: 30_000,
  longestWaitMs: 600_000,
  addressEveryMs: 600_000,
  /** Tellings of a machine that changes all the time: one index has to bear all of them. */
  atOnce: 10,
  everyMs: 10_000,
} as const;

interface FleetIndex {
  tell: (telling: MachineTelling) => Promise<ToldUntil>;
  remove: (name: string, generation: number, text: string) => Promise<void>;
}

interface TellerDependencies {
  state: {
    records: NodeRecordStore;
    history: Pick<History, "add" | "after" | "lastId">;
    tables: Pick<Tables, "writes">;
  };
  alarm: Pick<LazyAlarm, "atLatest">;
  index: () => FleetIndex;
  /** Typically currentMs. */
  nowMs: () => number;
  /** Typically Math.random. */
  random: () => number;
}

type Known = Omit<Told, "again">;
const NOTHING: Known = { generation: -1, version: 0, entryId: 0, text: "", address: "", addressAtMs: 0 };

export class IndexTeller {
  readonly #with: TellerDependencies;
  /** The writes as of which the index knows all. After an eviction of a machine that it was told of, that is looked at once. */
  #toldAsOf: number;
  #address = "";
  #lastVersion = 0;
  #isAnew = false;
  /** The index itself has asked: whatever failed before, it answers now. */
  #isUrgent = false;
  #left: Allowance | undefined;
  #isTelling = false;
  #underWay: Promise<void> | undefined;

  constructor(dependencies: TellerDependencies) {
    this.#with = dependencies;
    this.#toldAsOf = this.#told ? -1 : 0;
  }

  /**
   * Call it after whatever may have changed something, before anything is awaited. Writes the line of history about another
   * state, and tells in the background. `address`: from which the machine has just reported.
   */
  look(address?: string): void {
    if (address !== undefined) this.#address = address;
    const isSame = this.#with.state.tables.writes() === this.#toldAsOf;
    if ((isSame && !this.#isMoved()) || !this.#keepState() || this.#isTelling) return;
    this.#run();
  }

  /** For an alarm: the same, also after an eviction. It waits for the end, and sees that the alarm rings for what is left. */
  async finish(): Promise<void> {
    if (this.#keepState() && !this.#isTelling) this.#run();
    await this.#underWay;
    const { again } = this.#told ?? {};
    if (again) await this.#with.alarm.atLatest(again.atMs);
  }

  /** For the index: tells all anew. False: that has failed. */
  async tellAnew(): Promise<boolean> {
    this.#isAnew = true;
    this.#isUrgent = true;
    await this.finish();
    // What was under way may have failed.
    if (this.#isUrgent) await this.finish();
    return !this.#isAnew;
  }

  /** The summary as it is now; null: it is not what the index was told, or there is none. */
  toldSummary(): MachineSummary | null {
    const { records, history } = this.#with.state;
    const [enrolment, since, told] = [records.get("enrolment"), records.get("state"), this.#told];
    if (!enrolment || !since || !told || told.again || records.get("isLeaving")) return null;
    if (told.generation !== (enrolment.generation ?? 0) || told.entryId !== history.lastId()) return null;
    const summary = summarize(this.#known(enrolment, told), since);
    return told.text === JSON.stringify(summary) ? summary : null;
  }

  /** Before the object erases itself; false: it has to be repeated, by the alarm at the latest. */
  async remove({ name, generation = 0 }: Enrolment, text: string): Promise<boolean> {
    const { records } = this.#with.state;
    await this.#underWay;
    const removed = () =>
      this.#with
        .index()
        .remove(name, generation, text)
        .then(() => true);
    const isDone = await this.#inTime<boolean>(name, removed, false);
    if (!isDone && records.get("isLeaving")) await this.#tryAgain();
    return isDone;
  }

  get #told(): Told | undefined {
    return this.#with.state.records.get("told");
  }

  #isMoved(): boolean {
    const told = this.#told;
    return told !== undefined && this.#addressOf(told) !== told.address;
  }

  /** One that changes all the time is told now and then. That of the name's former machine counts for nothing. */
  #addressOf(told: Known): string {
    const { records } = this.#with.state;
    if (!hasReported(records)) return "";
    const address = told.generation === (records.get("enrolment")?.generation ?? 0) ? told.address : "";
    const isRecent = Math.abs(this.#with.nowMs() - told.addressAtMs) < TELLING_LIMITS.addressEveryMs;
    return this.#address === "" || (isRecent && address !== "") ? address : this.#address;
  }

  #known(enrolment: Enrolment, told: Known): KnownMachine {
    return knownMachine(this.#with.state, enrolment, this.#addressOf(told));
  }

  /** false: there is nothing to tell of. */
  #keepState(): boolean {
    const { records, history } = this.#with.state;
    const enrolment = records.get("enrolment");
    if (!enrolment || records.get("isLeaving")) return false;
    const known = this.#known(enrolment, this.#told ?? NOTHING);
    const [state, before] = [stateOf(known), records.get("state")];
    if (state === before?.state) return true;
    const nowMs = this.#with.nowMs();
    const sinceMs = state === "silent" ? (known.silentSinceMs ?? nowMs) : nowMs;
    records.put("state", { state, sinceMs });
    history.add("state", [stateChangeText(before?.state ?? null, state)], nowMs);
    return true;
  }

  #run(): void {
    this.#underWay = this.#tellAll();
  }

  /** Nothing is awaited after the last look, so that no change is left between two runs. */
  async #tellAll(): Promise<void> {
    this.#isTelling = true;
    try {
      for (let next = this.#next(); next; next = this.#next()) if (!(await this.#tell(next))) break;
    } catch (error) {
      logFailure({ message: "the fleet index was not told", error: String(error) });
    } finally {
      this.#isTelling = false;
    }
  }

  /** null: the index knows all, or it is not time yet. */
  #next(): MachineTelling | null {
    const { state, nowMs } = this.#with;
    const { records, history, tables } = state;
    const [enrolment, since, told] = [records.get("enrolment"), records.get("state"), this.#told];
    if (!enrolment || !since || records.get("isLeaving")) return null;
    if (told?.again && nowMs() < told.again.atMs && !this.#isUrgent) return null;
    const asOf = tables.writes();
    const known = told ?? NOTHING;
    const { name, generation = 0 } = enrolment;
    const isAnew = this.#isAnew || known.generation < 0;
    const entryId = isAnew ? Math.max(0, history.lastId() - TELLING_LIMITS.linesAnew) : known.entryId;
    const entries = history.after(entryId, TELLING_LIMITS.lines);
    const summary = summarize(this.#known(enrolment, known), since);
    const isTold = known.generation === generation && known.text === JSON.stringify(summary);
    if (!isAnew && isTold && entries.length === 0) {
      this.#toldAsOf = asOf;
      return null;
    }
    this.#lastVersion = Math.max(nowMs(), known.version + 1, this.#lastVersion + 1);
    return {
      name,
      generation,
      version: this.#lastVersion,
      summary,
      entries,
      ...(!isAnew && { isSequel: true }),
    };
  }

  /** false: it has failed, and the alarm repeats it. */
  async #tell(telling: MachineTelling): Promise<boolean> {
    this.#isUrgent = false;
    if (telling.isSequel && !this.#mayTell())
      return this.#waitUntil(this.#told ?? NOTHING, this.#with.nowMs() + TELLING_LIMITS.everyMs, 0);
    const until = await this.#inTime(telling.name, () => this.#with.index().tell(telling), null);
    const told = this.#told ?? NOTHING;
    const { records } = this.#with.state;
    // Another machine may have the name by now: what was told is of the time before.
    if ((records.get("enrolment")?.generation ?? 0) !== telling.generation) return true;
    if (until === null) return this.#tryAgain(telling.version);
    // This index knows less than it was told: it was lost, or restored.
    this.#isAnew = telling.isSequel === true && until.entryId < told.entryId;
    if (this.#isAnew) return true;
    const { generation, version, summary } = telling;
    const isMoved = summary.address !== told.address;
    records.put("told", {
      generation,
      version,
      entryId: until.entryId,
      text: JSON.stringify(summary),
      address: summary.address,
      addressAtMs: isMoved ? this.#with.nowMs() : told.addressAtMs,
    });
    return true;
  }

  #mayTell(): boolean {
    const atMs = this.#with.nowMs();
    const left = allowanceAt(this.#left, TELLING_LIMITS, atMs);
    const mayTell = left >= 1;
    this.#left = { left: mayTell ? left - 1 : left, atMs };
    return mayTell;
  }

  #tryAgain(version = 0): Promise<boolean> {
    const told = this.#told ?? NOTHING;
    const failures = (told as Told).again?.failures ?? 0;
    const { firstWaitMs, longestWaitMs } = TELLING_LIMITS;
    const waitMs = Math.min(firstWaitMs * 2 ** failures, longestWaitMs) * (0.5 + 0.5 * this.#with.random());
    const known = { ...told, version: Math.max(version, told.version) };
    return this.#waitUntil(known, this.#with.nowMs() + waitMs, failures + 1);
  }

  /** In SQLite, so that whatever wakes the object next knows that something is left to tell. */
  async #waitUntil(told: Known, atMs: number, failures: number): Promise<false> {
    this.#with.state.records.put("told", { ...told, again: { failures, atMs: Math.round(atMs) } });
    await this.#with.alarm.atLatest(Math.round(atMs));
    return false;
  }

  async #inTime<T>(name: string, work: () => Promise<T>, late: T): Promise<T> {
    try {
      return await withDeadline(TELLING_LIMITS.withinMs, work, late);
    } catch (error) {
      logNote({ node: name, message: "the fleet index was not told", error: String(error) });
      return late;
    }
  }
}

// What this object knows of its machine, for the fleet index: gathered from the records. Decides and writes nothing.

/** `address`: from which it reports. Of a machine that has not reported with its pin, nothing older counts. */
function knownMachine(
  { records }: Pick<MachineState, "records">,
  enrolment: Enrolment,
  address: string,
): KnownMachine {
  const isUsed = hasReported(records);
  const node = isUsed ? records.get("node")?.node : undefined;
  const { thumbprint, token, pinnedAtMs } = enrolment;
  const withheld = [leftOutMessage(records), records.get("bounded")];
  return {
    isRevoked: enrolment.isRevoked ?? false,
    phase: (isUsed && lastPhase(records)) || null,
    isReady: isRegisteredReady(records, node),
    node,
    decided: (isUsed && records.get("decided")) || [],
    facts: records.get("facts")?.facts,
    skewMs: (records.get("isSkewed") && records.get("skewMs")) || 0,
    silentSinceMs: records.get("silentSinceMs") ?? null,
    withheld: withheld.filter((each) => each !== undefined).join("; "),
    address,
    process: (isUsed && records.get("process")?.startId) || "",
    transport: (isUsed && records.get("transport")) || "http",
    key: { thumbprint, token, pinnedAtMs, isUsed },
  };
}
