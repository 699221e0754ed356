// Sends the fleet index an update when this machine has changed, in the background and one update at a time.
// The alarm repeats what failed. A steady report writes nothing and sends nothing.
import { backOff } from "../../shared/back-off.ts";
import { stateChangeText } from "../../shared/fleet/state.ts";
import { type KnownMachine, stateOf, summarize } from "../../shared/fleet/summarize.ts";
import type { MachineSummary, MachineUpdate, UpdatedUntil } from "../../shared/fleet/summary.ts";
import { withDeadline } from "../kube/deadline.ts";
import { logFailure, logNote } from "../log.ts";
import { RATE_LIMITS, take, type TokenBucket } from "../storage/token-bucket.ts";
import type { History } from "../storage/history.ts";
import type { LazyAlarm } from "../storage/lazy-alarm.ts";
import type { Enrolment, NodeRecordStore, Told } from "../storage/records.ts";
import type { Tables } from "../storage/tables.ts";
import { leftOutMessage } from "../tick/parts.ts";
import { isRegisteredReady, lastPhase } from "../tick/phase.ts";
import { hasReported } from "./contact.ts";

export const UPDATE_LIMITS = {
  withinMs: 2000,
  /** Lines of history in one update. */
  lines: 200,
  /** Lines of history for an index that does not know the machine. */
  linesOfAll: 100,
  firstWaitMs: 30_000,
  longestWaitMs: 600_000,
  addressEveryMs: 600_000,
} as const;

interface FleetIndex {
  tell: (update: MachineUpdate) => Promise<UpdatedUntil>;
  remove: (name: string, generation: number, text: string) => Promise<void>;
}

interface UpdateDependencies {
  state: {
    records: NodeRecordStore;
    history: Pick<History, "add" | "after" | "lastId">;
    tables: Pick<Tables, "writes">;
    alarm: Pick<LazyAlarm, "atLatest">;
  };
  index: () => FleetIndex;
  /** Typically currentMs. */
  nowMs: () => number;
  /** Typically Math.random. */
  random: () => number;
}

type Sent = Omit<Told, "again">;
const NOTHING_SENT: Sent = { generation: -1, version: 0, entryId: 0, text: "", address: "", addressAtMs: 0 };

export class IndexUpdates {
  readonly #with: UpdateDependencies;
  /** The number of writes after which the last update was made. -1 after an eviction: `update` compares once. */
  #sentAsOf: number;
  #address = "";
  #lastVersion = 0;
  #mustSendAll = false;
  /** The index has requested an update, so that it is available although earlier ones may have failed. */
  #isRequested = false;
  #bucket: TokenBucket | undefined;
  #isSending = false;
  #sending: Promise<void> | undefined;

  constructor(dependencies: UpdateDependencies) {
    this.#with = dependencies;
    this.#sentAsOf = this.#sent ? -1 : 0;
  }

  /**
   * Call it after each possible change, before anything is awaited. Adds a line of history if the machine's state is another
   * one, and sends an update in the background. `address`: the machine's, if it has just reported.
   */
  update(address?: string): void {
    if (address !== undefined) this.#address = address;
    const isSame = this.#with.state.tables.writes() === this.#sentAsOf;
    if ((isSame && !this.#hasMoved()) || !this.#noteState() || this.#isSending) return;
    this.#sending = this.#sendUpdates();
  }

  /** For the alarm: sends what is left, also after an eviction, and waits for it. Sets the alarm for the next attempt. */
  async finish(): Promise<void> {
    if (this.#noteState() && !this.#isSending) this.#sending = this.#sendUpdates();
    await this.#sending;
    const { again } = this.#sent ?? {};
    if (again) await this.#with.state.alarm.atLatest(again.atMs);
  }

  /** For the index: sends everything about the machine again; false if that failed. */
  async sendAll(): Promise<boolean> {
    this.#mustSendAll = true;
    this.#isRequested = true;
    await this.finish();
    // The update that was in progress may have failed.
    if (this.#isRequested) await this.finish();
    return !this.#mustSendAll;
  }

  /** Returns the machine's summary if it is the one that was sent; null if an update is left, or no machine is enrolled. */
  sentSummary(): MachineSummary | null {
    const { records, history } = this.#with.state;
    const [enrolment, since, sent] = [records.get("enrolment"), records.get("state"), this.#sent];
    if (!enrolment || !since || !sent || sent.again || records.get("isLeaving")) return null;
    if (sent.generation !== (enrolment.generation ?? 0) || sent.entryId !== history.lastId()) return null;
    const summary = summarize(this.#known(enrolment, sent), since);
    return sent.text === JSON.stringify(summary) ? summary : null;
  }

  /** Reports the removal of the machine, before the object erases itself; false if the alarm must repeat it. */
  async remove({ name, generation = 0 }: Enrolment, text: string): Promise<boolean> {
    const { records } = this.#with.state;
    await this.#sending;
    const removed = () =>
      this.#with
        .index()
        .remove(name, generation, text)
        .then(() => true);
    const isDone = await this.#inTime<boolean>(name, removed, false);
    if (!isDone && records.get("isLeaving")) await this.#retry();
    return isDone;
  }

  get #sent(): Told | undefined {
    return this.#with.state.records.get("told");
  }

  #hasMoved(): boolean {
    const sent = this.#sent;
    return sent !== undefined && this.#addressOf(sent) !== sent.address;
  }

  /** Returns the address to send. Ignores that of the name's former machine, and a change sooner than addressEveryMs. */
  #addressOf(sent: Sent): string {
    const { records } = this.#with.state;
    if (!hasReported(records)) return "";
    const address = sent.generation === (records.get("enrolment")?.generation ?? 0) ? sent.address : "";
    const isRecent = Math.abs(this.#with.nowMs() - sent.addressAtMs) < UPDATE_LIMITS.addressEveryMs;
    return this.#address === "" || (isRecent && address !== "") ? address : this.#address;
  }

  /** Gathers what the index gets to know. Until the machine reports with its pin, the former machine's records are ignored. */
  #known(enrolment: Enrolment, sent: Sent): KnownMachine {
    const { records } = this.#with.state;
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
      address: this.#addressOf(sent),
      process: (isUsed && records.get("process")?.startId) || "",
      transport: (isUsed && records.get("transport")) || "http",
      key: { thumbprint, token, pinnedAtMs, isUsed },
    };
  }

  /** Records the machine's state if it is another one; false if no machine is enrolled, or it leaves. */
  #noteState(): boolean {
    const { records, history } = this.#with.state;
    const enrolment = records.get("enrolment");
    if (!enrolment || records.get("isLeaving")) return false;
    const known = this.#known(enrolment, this.#sent ?? NOTHING_SENT);
    const [state, before] = [stateOf(known), records.get("state")];
    if (state === before?.state) return true;
    const nowMs = this.#with.nowMs();
    const sinceMs = state === "silent" ? (known.silentSinceMs ?? nowMs) : nowMs;
    records.put("state", { state, sinceMs });
    history.add("state", [stateChangeText(before?.state ?? null, state)], nowMs);
    return true;
  }

  /** Awaits nothing after the last `#next`, so that no change is lost between two runs. */
  async #sendUpdates(): Promise<void> {
    this.#isSending = true;
    try {
      for (let next = this.#next(); next; next = this.#next()) if (!(await this.#send(next))) break;
    } catch (error) {
      logFailure({ message: "the fleet index was not told", error: String(error) });
    } finally {
      this.#isSending = false;
    }
  }

  /** Returns the next update; null if none is left, or the next attempt is later. */
  #next(): MachineUpdate | null {
    const { state, nowMs } = this.#with;
    const { records, history, tables } = state;
    const [enrolment, since, sent] = [records.get("enrolment"), records.get("state"), this.#sent];
    if (!enrolment || !since || records.get("isLeaving")) return null;
    if (sent?.again && nowMs() < sent.again.atMs && !this.#isRequested) return null;
    const asOf = tables.writes();
    const known = sent ?? NOTHING_SENT;
    const { name, generation = 0 } = enrolment;
    const isAll = this.#mustSendAll || known.generation < 0;
    const entryId = isAll ? Math.max(0, history.lastId() - UPDATE_LIMITS.linesOfAll) : known.entryId;
    const entries = history.after(entryId, UPDATE_LIMITS.lines);
    const summary = summarize(this.#known(enrolment, known), since);
    const isKnown = known.generation === generation && known.text === JSON.stringify(summary);
    if (!isAll && isKnown && entries.length === 0) {
      this.#sentAsOf = asOf;
      return null;
    }
    this.#lastVersion = Math.max(nowMs(), known.version + 1, this.#lastVersion + 1);
    return {
      name,
      generation,
      version: this.#lastVersion,
      summary,
      entries,
      ...(!isAll && { isSequel: true }),
    };
  }

  /** false if the update failed, or must wait: the alarm repeats it. */
  async #send(update: MachineUpdate): Promise<boolean> {
    this.#isRequested = false;
    if (update.isSequel && !this.#maySend())
      return this.#waitUntil(
        this.#sent ?? NOTHING_SENT,
        this.#with.nowMs() + RATE_LIMITS.indexUpdates.everyMs,
        0,
      );
    const until = await this.#inTime(update.name, () => this.#with.index().tell(update), null);
    const sent = this.#sent ?? NOTHING_SENT;
    const { records } = this.#with.state;
    // Another machine may have the name by now. The update was about the one before.
    if ((records.get("enrolment")?.generation ?? 0) !== update.generation) return true;
    if (until === null) return this.#retry(update.version);
    // The index knows fewer lines than were sent: it was lost, or restored from a backup.
    this.#mustSendAll = update.isSequel === true && until.entryId < sent.entryId;
    if (this.#mustSendAll) return true;
    const { generation, version, summary } = update;
    const isMoved = summary.address !== sent.address;
    records.put("told", {
      generation,
      version,
      entryId: until.entryId,
      text: JSON.stringify(summary),
      address: summary.address,
      addressAtMs: isMoved ? this.#with.nowMs() : sent.addressAtMs,
    });
    return true;
  }

  #maySend(): boolean {
    const { isTaken, bucket } = take(this.#bucket, RATE_LIMITS.indexUpdates, this.#with.nowMs());
    this.#bucket = bucket;
    return isTaken;
  }

  #retry(version = 0): Promise<boolean> {
    const sent = this.#sent ?? NOTHING_SENT;
    const failures = ((sent as Told).again?.failures ?? 0) + 1;
    const { firstWaitMs, longestWaitMs } = UPDATE_LIMITS;
    const waitMs = backOff(failures, firstWaitMs, longestWaitMs) * (0.5 + 0.5 * this.#with.random());
    const known = { ...sent, version: Math.max(version, sent.version) };
    return this.#waitUntil(known, this.#with.nowMs() + waitMs, failures);
  }

  /** Stores the time of the next attempt, which so outlives an eviction. */
  async #waitUntil(sent: Sent, atMs: number, failures: number): Promise<false> {
    this.#with.state.records.put("told", { ...sent, again: { failures, atMs: Math.round(atMs) } });
    await this.#with.state.alarm.atLatest(Math.round(atMs));
    return false;
  }

  async #inTime<T>(name: string, work: () => Promise<T>, late: T): Promise<T> {
    try {
      return await withDeadline(UPDATE_LIMITS.withinMs, work, late);
    } catch (error) {
      logNote({ node: name, message: "the fleet index was not told", error: String(error) });
      return late;
    }
  }
}
