// Sends the fleet index an update after each change of this machine, in the background and one update at a time.
// The alarm repeats a failed update. A report without a change writes nothing and sends nothing.
import { backOff } from "../../shared/back-off.ts";
import { stateChangeText } from "../../shared/fleet/state.ts";
import { type KnownMachine, stateOf, summarize } from "../../shared/fleet/summarize.ts";
import type { MachineSummary, MachineUpdate, UpdatedUntil } from "../../shared/fleet/summary.ts";
import type { Timer } from "../clock.ts";
import { withDeadline } from "../kube/deadline.ts";
import { logFailure, logNote } from "../log.ts";
import { RATE_LIMITS, take, type TokenBucket } from "../storage/token-bucket.ts";
import type { History } from "../storage/history.ts";
import type { LazyAlarm } from "../storage/lazy-alarm.ts";
import type { Enrolment, NodeRecordStore, Told } from "../storage/records.ts";
import type { Tables } from "../storage/tables.ts";
import { nodeFeatureMessage } from "../tick/node-feature.ts";
import { leftOutMessage } from "../tick/parts.ts";
import { isRegisteredReady, lastPhase } from "../tick/phase.ts";
import { hasReported } from "./contact.ts";

export const UPDATE_LIMITS = {
  withinMs: 2000,
  /** The largest number of history lines in one update. */
  lines: 200,
  /** The most lines that a fleet index without the machine gets: the latest lines of the history. */
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
  /** The object's timer. */
  timer: Timer | undefined;
  /** Returns the current time in milliseconds. Typically currentMs. */
  nowMs: () => number;
  /** Returns a random number below 1. Typically Math.random. */
  random: () => number;
}

type Sent = Omit<Told, "again">;
const NOTHING_SENT: Sent = { generation: -1, version: 0, entryId: 0, text: "", address: "", addressAtMs: 0 };

export class IndexUpdates {
  readonly #with: UpdateDependencies;
  /** The tables' write count at the last update; -1 after an eviction, so that the next `update` compares once. */
  #sentAsOf: number;
  #address = "";
  #lastVersion = 0;
  #mustSendAll = false;
  /** true if the fleet index has requested an update: the index is reachable now, even after failed updates. */
  #isRequested = false;
  #bucket: TokenBucket | undefined;
  #isSending = false;
  #sending: Promise<void> | undefined;

  constructor(dependencies: UpdateDependencies) {
    this.#with = dependencies;
    this.#sentAsOf = this.#sent ? -1 : 0;
  }

  /**
   * Sends an update in the background if the machine has changed. Adds a line of history if the machine's state has
   * changed. Call `update` after each possible change, before the next await. `address`: the machine's address, if the
   * machine has just reported.
   */
  update(address?: string): void {
    if (address !== undefined) this.#address = address;
    const isSame = this.#with.state.tables.writes() === this.#sentAsOf;
    if ((isSame && !this.#hasMoved()) || !this.#noteState() || this.#isSending) return;
    this.#sending = this.#sendUpdates();
  }

  /** Sends and awaits the updates that are left, and sets the alarm for the next attempt. The alarm calls `finish`. */
  async finish(): Promise<void> {
    if (this.#noteState() && !this.#isSending) this.#sending = this.#sendUpdates();
    await this.#sending;
    const { again } = this.#sent ?? {};
    if (again) await this.#with.state.alarm.atLatest(again.atMs);
  }

  /** Sends everything about the machine again, at the fleet index's request; returns false if the sending failed. */
  async sendAll(): Promise<boolean> {
    this.#mustSendAll = true;
    this.#isRequested = true;
    await this.finish();
    // The update that `finish` waited for may have begun before the index's request, and may have failed.
    if (this.#isRequested) await this.finish();
    return !this.#mustSendAll;
  }

  /** Returns the machine's summary if the fleet index has it; null if an update is left, or no machine is enrolled. */
  sentSummary(): MachineSummary | null {
    const { records, history } = this.#with.state;
    const [enrolment, since, sent] = [records.get("enrolment"), records.get("state"), this.#sent];
    if (!enrolment || !since || !sent || sent.again || this.#isGoing()) return null;
    if (sent.generation !== (enrolment.generation ?? 0) || sent.entryId !== history.lastId()) return null;
    const summary = summarize(this.#known(enrolment, sent), since);
    return sent.text === JSON.stringify(summary) ? summary : null;
  }

  /** Reports the removal to the index before the node object is erased; returns false if the alarm must repeat that. */
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

  /** Reports whether a removal is in progress that has not failed yet. After a failure, the index shows the removal. */
  #isGoing(): boolean {
    const { records } = this.#with.state;
    return records.get("isLeaving") !== undefined && records.get("notRemoved") === undefined;
  }

  #hasMoved(): boolean {
    const sent = this.#sent;
    return sent !== undefined && this.#addressOf(sent) !== sent.address;
  }

  /** Returns the address to send. The sent address stays for addressEveryMs, unless a former machine sent it. */
  #addressOf(sent: Sent): string {
    const { records } = this.#with.state;
    if (!hasReported(records)) return "";
    const address = sent.generation === (records.get("enrolment")?.generation ?? 0) ? sent.address : "";
    const isRecent = Math.abs(this.#with.nowMs() - sent.addressAtMs) < UPDATE_LIMITS.addressEveryMs;
    return this.#address === "" || (isRecent && address !== "") ? address : this.#address;
  }

  /** Gathers the data for the index. Ignores a former machine's records until this machine reports with its own pin. */
  #known(enrolment: Enrolment, sent: Sent): KnownMachine {
    const { records } = this.#with.state;
    const isUsed = hasReported(records);
    const node = isUsed ? records.get("node")?.node : undefined;
    const { thumbprint, token, pinnedAtMs } = enrolment;
    const withheld = [leftOutMessage(records), nodeFeatureMessage(records), records.get("bounded")];
    const isLeaving = records.get("isLeaving") !== undefined;
    return {
      isRevoked: enrolment.isRevoked ?? false,
      isLeaving,
      phase: (isLeaving ? records.get("notRemoved") : isUsed && lastPhase(records)) || null,
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
      rules: records.get("ruled")?.result?.matched ?? [],
      key: { thumbprint, token, pinnedAtMs, isUsed },
    };
  }

  /** Records the machine's state if the state has changed; returns false if no machine is enrolled or it is leaving. */
  #noteState(): boolean {
    const { records, history } = this.#with.state;
    const enrolment = records.get("enrolment");
    if (!enrolment || this.#isGoing()) return false;
    const known = this.#known(enrolment, this.#sent ?? NOTHING_SENT);
    const [state, before] = [stateOf(known), records.get("state")];
    if (state === before?.state) return true;
    const nowMs = this.#with.nowMs();
    const sinceMs = state === "silent" ? (known.silentSinceMs ?? nowMs) : nowMs;
    records.put("state", { state, sinceMs });
    history.add("state", [stateChangeText(before?.state ?? null, state)], nowMs);
    return true;
  }

  /** Sends updates until none is left. Awaits nothing after the last `#next`, so that no change is lost. */
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

  /** Returns the next update; null if no update is left, or the next attempt is not due. */
  #next(): MachineUpdate | null {
    const { state, nowMs } = this.#with;
    const { records, history, tables } = state;
    const [enrolment, since, sent] = [records.get("enrolment"), records.get("state"), this.#sent];
    if (!enrolment || !since || this.#isGoing()) return null;
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

  /** Sends an update; returns false if the update failed or must wait. Then the alarm repeats the update. */
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
    // Another machine may have got the name during the index's answer. The update was about the former machine.
    if ((records.get("enrolment")?.generation ?? 0) !== update.generation) return true;
    if (until === null) return this.#retry(update.version);
    // The fleet index has fewer lines than this object sent: the index was lost, or restored from a backup.
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

  /** Stores the time of the next attempt, so that it outlives an eviction, and sets the alarm. Returns false. */
  async #waitUntil(sent: Sent, atMs: number, failures: number): Promise<false> {
    this.#with.state.records.put("told", { ...sent, again: { failures, atMs: Math.round(atMs) } });
    await this.#with.state.alarm.atLatest(Math.round(atMs));
    return false;
  }

  async #inTime<T>(name: string, work: () => Promise<T>, late: T): Promise<T> {
    try {
      return await withDeadline(UPDATE_LIMITS.withinMs, work, late, this.#with.timer);
    } catch (error) {
      logNote({ node: name, message: "the fleet index was not told", error: String(error) });
      return late;
    }
  }
}
