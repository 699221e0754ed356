// Lists the deployment's Nodes, then watches them, so that a machine's object is notified when another writer changes its
// Node. Each alarm runs one turn. Only the rows of watched-nodes.ts outlive an eviction; the next turn lists again.
import { backOff } from "../../shared/back-off.ts";
import type { WatchState } from "../../shared/deployment/watch.ts";
import { type ApiError, apiErrorText, type ApiResult } from "../../shared/kubernetes/api-error.ts";
import type { Node, NodeList } from "../../shared/kubernetes/types.ts";
import { type NodeChange, SILENT_FOR_MS, type WatchEnd, type WatchRequest } from "../kube/watch-stream.ts";
import { fromTo } from "../storage/from-to.ts";
import type { Notices } from "./notices.ts";
import { MOST_NODES, type NodeRows, SeenNodes, type WellTime } from "./watched-nodes.ts";

export const WATCH_LIMITS = {
  /** The number of Nodes in one page of a list. */
  page: 100,
  /** The longest duration of one watch, in seconds. Each watch ends up to a fifth earlier, so that starts spread. */
  seconds: 300,
  /** The limit of characters that one turn reads: some seconds of CPU time, of the 30 that an invocation has. */
  turnLength: 32 * 1024 * 1024,
} as const;
/** The pause of the watch while the deployment has no Node. */
const PAUSE_MS = 5000;
/** The least duration of a watch without a change. A shorter watch failed: a proxy may have closed the connection. */
const LEAST_OPEN_MS = 5000;
/** The least time between the starts of two watches, since a proxy may close each watch soon. */
const LEAST_GAP_MS = 1000;

export const WAIT_LIMITS = {
  firstMs: 1000,
  /** The longest wait after failures. Each failure in a row doubles the wait, up to this limit. */
  longestMs: 60_000,
  /** The longest wait that a Retry-After of the apiserver can cause. */
  retryAfterMs: 300_000,
} as const;

/** The time for which the watch must be live before a silent machine's Node may be written. Then the watch is well. */
export const WELL_FOR_MS = 60_000;
/** The time between two writes of the time at which the watch was well. */
const WELL_EVERY_MS = 240_000;
/** The time for which a stored time shows that the watch was well: longer than WELL_EVERY_MS and a watch without data. */
const WELL_KEPT_MS = 600_000;

/** The two guarantees that the watch of Nodes gives to a machine's object. */
export interface WatchStatus {
  /** true if the object was notified of every change that other writers made to its Node. */
  isWatched: boolean;
  /** true if the object is notified when a node controller sets its Node's Ready to Unknown. */
  isSilenceSeen: boolean;
}

/** The cluster object's answer to a machine's object. */
export interface Standing extends WatchStatus {
  /** The cluster's minor version; absent if it is not known, or if an earlier version answers. */
  clusterMinor?: number | undefined;
}

export const NOT_WATCHED: WatchStatus = { isWatched: false, isSilenceSeen: false };

export interface ListPage {
  limit: number;
  /** The continue token of the previous page; undefined for the first page. */
  continue: string | undefined;
}

export interface WatchDependencies {
  deployment: string;
  list: (page: ListPage) => Promise<ApiResult<NodeList>>;
  watch: (request: Omit<WatchRequest, "resource" | "selector">) => Promise<WatchEnd>;
  rows: NodeRows;
  /** The time at which the watch was well, for the next instance of the object, as after a deployment. */
  well: WellTime;
  notices: Notices;
  /** Stores a line for operators in the history of the watch. */
  note: (text: string) => void;
  /** Returns milliseconds since 1970; typically currentMs. */
  nowMs: () => number;
  /** Returns a random number from 0 to 1; typically Math.random. */
  random: () => number;
}

/** A list of Nodes that has been read in part: more pages follow. */
interface Listing {
  continue?: string;
  /** The resourceVersion of the list's first page. */
  version?: string | undefined;
  names: Set<string>;
  /** true if the version is older than the last seen version: the cluster's etcd was restored. */
  isRewound?: boolean;
}

export class NodeWatch {
  readonly #with: WatchDependencies;
  /** The resourceVersion from which the next watch continues; undefined if the Nodes must be listed first. */
  #version: string | undefined;
  /** The last resourceVersion that the apiserver has sent. */
  #lastVersion: string | undefined;
  #listing: Listing | undefined;
  #listedAtMs: number | undefined;
  readonly #seen: SeenNodes;
  #hasNotedBeyond = false;
  #isPaused = false;
  /** When a watch last opened or delivered an event; undefined before that, and after a failure. */
  #heardAtMs: number | undefined;
  /** Since when the watch is live. */
  #liveSinceMs = 0;
  #failures = 0;
  #failedAtMs: number | undefined;
  #down: { sinceMs: number; error: ApiError } | undefined;
  /** The time of the apiserver's last answer; undefined unless the last request got none. */
  #unansweredSinceMs: number | undefined;
  #nextAtMs = 0;
  #isTurning = false;
  #turnLength = 0;

  constructor(dependencies: WatchDependencies) {
    this.#with = dependencies;
    this.#seen = new SeenNodes(dependencies);
  }

  /** Runs one turn of the watch, if due. Returns the next turn's time in Unix milliseconds; null without Nodes. */
  async turn(): Promise<number | null> {
    if (this.#with.nowMs() < this.#nextAtMs) return this.#nextAtMs;
    this.#isTurning = true;
    try {
      return await this.#turn();
    } catch (error) {
      // A malformed answer or a bug counts as a failure: the watch continues, but only after a wait.
      this.#listing = undefined;
      return this.#failed({ kind: "unanswered", message: String(error) });
    } finally {
      this.#isTurning = false;
    }
  }

  state(): WatchState {
    const { rows, notices, nowMs } = this.#with;
    const isHeard = this.#heardAtMs !== undefined && nowMs() - this.#heardAtMs <= SILENT_FOR_MS;
    const stateOf = () => (this.#isPaused ? "paused" : isHeard ? "live" : "starting");
    return {
      state: this.#down ? "down" : stateOf(),
      nodes: rows.size(),
      waiting: notices.size,
      beyond: this.#seen.beyond,
      ...(this.#down && { downSinceMs: this.#down.sinceMs, error: this.#down.error }),
      ...(this.#unansweredSinceMs !== undefined && { unansweredSinceMs: this.#unansweredSinceMs }),
      ...(this.#listedAtMs !== undefined && { listedAtMs: this.#listedAtMs }),
    };
  }

  /** Returns the milliseconds for which the watch has been live without an interruption; 0 if the watch is not live. */
  liveForMs(): number {
    return this.state().state === "live" ? this.#with.nowMs() - this.#liveSinceMs : 0;
  }

  statusOf(name: string): WatchStatus {
    const isWatched = this.state().state === "live" && this.#seen.isKnown(name);
    return { isWatched, isSilenceSeen: isWatched && this.#seen.hasNodeController };
  }

  /** Reports whether this deployment has a Node of this name, as far as the watch has seen. */
  isOurs(name: string): boolean {
    return this.#seen.has(name);
  }

  /** Returns when the next turn is due, in milliseconds since 1970; null while a turn is running. */
  dueMs(): number | null {
    return this.#isTurning ? null : this.#nextAtMs;
  }

  async #turn(): Promise<number | null> {
    const { nowMs, rows, notices } = this.#with;
    this.#turnLength = 0;
    if (this.#failures > 0 && this.#version !== undefined && !this.#down) await this.#detectRestore();
    const isListed = this.#version === undefined || this.#down !== undefined;
    if (isListed) {
      const listed = await this.#list();
      if (listed !== "listed") return listed === "more" ? nowMs() : this.#nextAtMs;
    }
    this.#isPaused = rows.size() === 0;
    if (this.#isPaused) return this.#pause();
    const over = new AbortController();
    notices.open(() => over.abort());
    try {
      return await this.#watch(over);
    } finally {
      // If no watch can be opened, the turn still sends the notices of the changes that its list found.
      await (isListed && this.#down ? notices.finish() : notices.close());
    }
  }

  /**
   * Detects, after a failed watch, that etcd was restored. The apiserver does not refuse a watch from a version ahead
   * of etcd's: such a watch would stay silent until etcd has reached that version.
   */
  async #detectRestore(): Promise<void> {
    const page = await this.#with.list({ limit: 1, continue: undefined });
    const version = page.ok ? page.value.metadata.resourceVersion : undefined;
    if (isOlder(version, this.#lastVersion)) this.#version = undefined;
  }

  #pause(): null {
    this.#version = undefined;
    this.#nextAtMs = this.#with.nowMs() + PAUSE_MS;
    this.#recovered();
    return null;
  }

  /** Reads the pages of the list that fit into one turn. Returns `more` if pages are left. */
  async #list(): Promise<"listed" | "more" | "failed"> {
    this.#listing ??= { names: new Set() };
    const listing = this.#listing;
    do {
      const page = await this.#with.list({ limit: WATCH_LIMITS.page, continue: listing.continue });
      if (!page.ok) {
        // The apiserver refuses an expired continue token each time, so the list starts again from its first page.
        this.#listing = undefined;
        this.#failed(page.error);
        return "failed";
      }
      this.#unansweredSinceMs = undefined;
      const { items, metadata } = page.value;
      listing.version ??= metadata.resourceVersion;
      listing.isRewound ??= isOlder(metadata.resourceVersion, this.#lastVersion);
      for (const node of items) this.#listed(node, listing);
      listing.continue = metadata.continue ?? "";
      if (listing.continue !== "" && this.#turnLength >= WATCH_LIMITS.turnLength) return "more";
    } while (listing.continue !== "");
    this.#complete(listing);
    return "listed";
  }

  #listed(node: Node, listing: Listing): void {
    const { length } = JSON.stringify(node);
    listing.names.add(node.metadata?.name ?? "");
    this.#turnLength += length;
    this.#seen.see(node, length, { isRewound: listing.isRewound === true });
  }

  #complete({ names, version, isRewound }: Listing): void {
    const { note, nowMs } = this.#with;
    this.#seen.onlyThese(names);
    const { beyond } = this.#seen;
    if (isRewound)
      note("the versions of the cluster's objects went back: all machines read their Nodes again");
    if (beyond > 0 && !this.#hasNotedBeyond) note(`${beyond} Nodes more than ${MOST_NODES} are not watched`);
    this.#hasNotedBeyond = beyond > 0;
    this.#goOnFrom(version);
    this.#listing = undefined;
    this.#listedAtMs = nowMs();
  }

  async #watch(over: AbortController): Promise<number> {
    const { watch, nowMs, random } = this.#with;
    const startedMs = nowMs();
    const isShort = () => nowMs() - startedMs < LEAST_OPEN_MS;
    let changes = 0;
    const end = await watch({
      version: this.#version ?? "",
      timeoutSeconds: Math.round(WATCH_LIMITS.seconds * (0.8 + 0.2 * random())),
      signal: over.signal,
      onOpen: () => {
        if (this.#failures === 0) this.#hear();
      },
      onChange: (change) => {
        changes++;
        this.#hear();
        if (!isShort()) this.#recovered();
        this.#take(change);
        if (this.#turnLength >= WATCH_LIMITS.turnLength) over.abort();
      },
    });
    if (end.kind === "failed") return this.#failed(end.error, end.retryAfterMs);
    if (end.kind === "expired") this.#version = undefined;
    const isCut = isShort() && !over.signal.aborted;
    // A watch also counts as failed if the version of the list before it has expired already.
    if (isCut && (changes === 0 || end.kind === "expired"))
      return this.#failed({ kind: "unanswered", message: `the watch ${end.kind} at once` });
    this.#recovered();
    // A proxy may close the watch after each change: the next watch then starts a second after this one's start.
    this.#nextAtMs = isCut ? startedMs + LEAST_GAP_MS : nowMs();
    return this.#nextAtMs;
  }

  #take(change: NodeChange): void {
    this.#turnLength += change.length;
    if (change.type === "BOOKMARK") return this.#goOnFrom(change.version);
    const { object: node, length, type } = change;
    if (type === "DELETED") this.#seen.gone(node.metadata?.name ?? "");
    else this.#seen.see(node, length, { isAdded: type === "ADDED" });
    // The version is updated last: if the handling of a change throws, the next watch receives the change again.
    this.#goOnFrom(node.metadata?.resourceVersion);
  }

  #hear(): void {
    const { nowMs: now, well } = this.#with;
    const nowMs = now();
    const isWithin = (ms: number) => Math.abs(nowMs - (well.get() ?? -Infinity)) <= ms;
    // The events that a paused Worker reads late do not show that the watch was live during the pause. The interruption
    // by a deployment is short, and no failure of the apiserver.
    if (nowMs - (this.#heardAtMs ?? -Infinity) > SILENT_FOR_MS)
      this.#liveSinceMs =
        this.#heardAtMs === undefined && isWithin(WELL_KEPT_MS) ? nowMs - WELL_FOR_MS : nowMs;
    this.#heardAtMs = nowMs;
    if (nowMs - this.#liveSinceMs >= WELL_FOR_MS && !isWithin(WELL_EVERY_MS)) well.put(nowMs);
  }

  #goOnFrom(version: string | undefined): void {
    this.#version = version;
    this.#lastVersion = version ?? this.#lastVersion;
  }

  #failed(error: ApiError, retryAfterMs = 0): number {
    const { nowMs, random, note } = this.#with;
    if (error.kind !== "unanswered") this.#unansweredSinceMs = undefined;
    else this.#unansweredSinceMs ??= this.#heardAtMs ?? nowMs();
    this.#heardAtMs = undefined;
    this.#with.well.put(null);
    this.#failedAtMs ??= nowMs();
    this.#failures++;
    // A single failure is not reported, since each restart of an apiserver causes a failure.
    if (this.#failures > 1 && !this.#down) note(`the Nodes are not watched: ${apiErrorText(error)}`);
    if (this.#failures > 1) this.#down = { sinceMs: this.#failedAtMs, error };
    this.#nextAtMs = nowMs() + waitAfter(this.#failures, retryAfterMs, random());
    return this.#nextAtMs;
  }

  #recovered(): void {
    const { nowMs, note } = this.#with;
    if (this.#down) note(`the Nodes are watched again: away ${fromTo(this.#down.sinceMs, nowMs())}`);
    this.#down = undefined;
    this.#unansweredSinceMs = undefined;
    this.#failedAtMs = undefined;
    this.#failures = 0;
  }
}

/** Compares two resourceVersions as numbers. Returns false if one of them is not a number. */
function isOlder(version: string | undefined, known: string | undefined): boolean {
  return Number(version) < Number(known);
}

/** Returns the wait after this number of failures in a row. `random`, from 0 to 1, spreads several Workers' retries. */
function waitAfter(failures: number, retryAfterMs: number, random: number): number {
  const waitMs = backOff(failures, WAIT_LIMITS.firstMs, WAIT_LIMITS.longestMs);
  return Math.max(waitMs * (0.75 + 0.25 * random), Math.min(retryAfterMs, WAIT_LIMITS.retryAfterMs));
}
