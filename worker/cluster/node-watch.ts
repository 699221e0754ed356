// Watches the deployment's Nodes for all machines' objects: lists them, then follows what changes, and has an object told
// where somebody else than this deployment changed its Node. One turn for each ring of the alarm; what it knows beyond
// node-rows.ts may be lost.
import type { WatchState } from "../../shared/deployment/watch.ts";
import { type ApiError, type ApiResult, apiErrorText } from "../../shared/kubernetes/api-error.ts";
import type { Node, NodeList } from "../../shared/kubernetes/types.ts";
import { fromTo } from "../storage/from-to.ts";
import { type NodeChange, SILENT_FOR_MS, type WatchEnd, type WatchRequest } from "../kube/watch-stream.ts";
import type { NodeRows } from "./node-rows.ts";
import type { Notices } from "./notices.ts";
import { MOST_NODES, SeenNodes } from "./seen-nodes.ts";
import { waitAfter } from "./watch-wait.ts";

export const WATCH_LIMITS = {
  /** Nodes of one page of a list. */
  page: 100,
  /** A watch ends by itself at the latest after so long, and some of it sooner, so that not all of them do at once. */
  seconds: 300,
  /** Characters that one turn reads: some seconds of CPU, of the 30 that an invocation has. */
  turnLength: 32 * 1024 * 1024,
} as const;
/** A machine whose Node is the first one asks at once. */
const PAUSE_MS = 5000;
/** A watch that ends sooner, and without a change, is none: something in between does not let it through. */
const LEAST_OPEN_MS = 5000;
/** From one watch to the next, where something in between cuts them. */
const LEAST_GAP_MS = 1000;

export interface ListPage {
  limit: number;
  /** Of the page before; absent: the first one. */
  continue: string | undefined;
}

export interface WatchDependencies {
  deployment: string;
  list: (page: ListPage) => Promise<ApiResult<NodeList>>;
  watch: (request: Omit<WatchRequest, "selector">) => Promise<WatchEnd>;
  rows: NodeRows;
  notices: Notices;
  /** A line for operators. */
  note: (text: string) => void;
  /** Typically currentMs. */
  nowMs: () => number;
  /** Typically Math.random. */
  random: () => number;
}

/** A list under way; its version is that of the first page. */
interface Listing {
  continue?: string;
  version?: string | undefined;
  names: Set<string>;
  /** It is older than what was known: the cluster's etcd was restored. */
  isRewound?: boolean;
}

export class NodeWatch {
  readonly #with: WatchDependencies;
  /** Where a watch goes on; undefined: list first. */
  #version: string | undefined;
  /** The last version that there was. */
  #lastVersion: string | undefined;
  #listing: Listing | undefined;
  #listedAtMs: number | undefined;
  readonly #seen: SeenNodes;
  #hasNotedBeyond = false;
  #isPaused = false;
  /** When something came last through a watch; undefined: none was open yet, or the last one failed. */
  #heardAtMs: number | undefined;
  #failures = 0;
  #failedAtMs: number | undefined;
  #down: { sinceMs: number; error: ApiError } | undefined;
  #nextAtMs = 0;
  #isTurning = false;
  #turnLength = 0;

  constructor(dependencies: WatchDependencies) {
    this.#with = dependencies;
    this.#seen = new SeenNodes(dependencies);
  }

  /** Returns when the next turn is due, in milliseconds since 1970; null: there is nothing to watch. */
  async turn(): Promise<number | null> {
    if (this.#with.nowMs() < this.#nextAtMs) return this.#nextAtMs;
    this.#isTurning = true;
    try {
      return await this.#turn();
    } catch (error) {
      // An answer that is no list of Nodes, or a fault of ours: neither may end the watch, or repeat it at once.
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
      ...(this.#listedAtMs !== undefined && { listedAtMs: this.#listedAtMs }),
    };
  }

  /** Is every change of this Node known to its machine's object? */
  isWatched(name: string): boolean {
    return this.state().state === "live" && this.#seen.isKnown(name);
  }

  /** Where a controller writes taints or gives Nodes up, silence is known without an alarm for each machine. */
  get hasNodeController(): boolean {
    return this.#seen.hasNodeController;
  }

  /** When a turn is due, in milliseconds since 1970; null: one is under way. */
  dueMs(): number | null {
    return this.#isTurning ? null : this.#nextAtMs;
  }

  async #turn(): Promise<number | null> {
    const { nowMs, rows, notices } = this.#with;
    this.#turnLength = 0;
    if (this.#failures > 0 && this.#version !== undefined && !this.#down) await this.#lookForRestore();
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
      // What the list of this turn has brought is told, also where no watch gets through.
      await (isListed && this.#down ? notices.finish() : notices.close());
    }
  }

  /**
   * After a watch has failed. One from a version that is ahead of what etcd has, since that was restored, is not refused:
   * nothing would come for a long time. Where this question fails as well, so does the watch.
   */
  async #lookForRestore(): Promise<void> {
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

  /** All pages, or as many as a turn may read. */
  async #list(): Promise<"listed" | "more" | "failed"> {
    this.#listing ??= { names: new Set() };
    const listing = this.#listing;
    do {
      const page = await this.#with.list({ limit: WATCH_LIMITS.page, continue: listing.continue });
      if (!page.ok) {
        // One that took too long cannot go on: it begins again.
        this.#listing = undefined;
        this.#failed(page.error);
        return "failed";
      }
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
        if (this.#failures === 0) this.#heardAtMs = nowMs();
      },
      onChange: (change) => {
        changes++;
        this.#heardAtMs = nowMs();
        if (!isShort()) this.#recovered();
        this.#take(change);
        if (this.#turnLength >= WATCH_LIMITS.turnLength) over.abort();
      },
    });
    if (end.kind === "failed") return this.#failed(end.error, end.retryAfterMs);
    if (end.kind === "expired") this.#version = undefined;
    const isCut = isShort() && !over.signal.aborted;
    // Also a version that the list itself has named, and that is expired at once.
    if (isCut && (changes === 0 || end.kind === "expired"))
      return this.#failed({ kind: "unanswered", message: `the watch ${end.kind} at once` });
    this.#recovered();
    // One that is cut after each change goes on once a second.
    this.#nextAtMs = isCut ? startedMs + LEAST_GAP_MS : nowMs();
    return this.#nextAtMs;
  }

  #take(change: NodeChange): void {
    this.#turnLength += change.length;
    if (change.type === "BOOKMARK") return this.#goOnFrom(change.version);
    const { node, length, type } = change;
    if (type === "DELETED") this.#seen.gone(node.metadata?.name ?? "");
    else this.#seen.see(node, length, { isAdded: type === "ADDED" });
    // Last: one that could not be taken comes again.
    this.#goOnFrom(node.metadata?.resourceVersion);
  }

  #goOnFrom(version: string | undefined): void {
    this.#version = version;
    this.#lastVersion = version ?? this.#lastVersion;
  }

  #failed(error: ApiError, retryAfterMs = 0): number {
    const { nowMs, random, note } = this.#with;
    this.#heardAtMs = undefined;
    this.#failedAtMs ??= nowMs();
    this.#failures++;
    // One that is cut once, as by an apiserver's restart, just goes on.
    if (this.#failures > 1 && !this.#down) note(`the Nodes are not watched: ${apiErrorText(error)}`);
    if (this.#failures > 1) this.#down = { sinceMs: this.#failedAtMs, error };
    this.#nextAtMs = nowMs() + waitAfter(this.#failures, retryAfterMs, random());
    return this.#nextAtMs;
  }

  #recovered(): void {
    const { nowMs, note } = this.#with;
    if (this.#down) note(`the Nodes are watched again: away ${fromTo(this.#down.sinceMs, nowMs())}`);
    this.#down = undefined;
    this.#failedAtMs = undefined;
    this.#failures = 0;
  }
}

/** By the numbers that versions are; false where they are none. */
function isOlder(version: string | undefined, known: string | undefined): boolean {
  return Number(version) < Number(known);
}
