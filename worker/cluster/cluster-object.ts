// The cluster object, one per deployment: renews the shared apiserver token, watches Nodes for the machines' objects.
import type { CheckResult } from "../../shared/deployment/check-result.ts";
import type { WatchState } from "../../shared/deployment/watch.ts";
import { DEPLOYMENT_LABEL, UNWATCHED_LABEL } from "../../shared/node/ownership.ts";
import type { ObjectMeta } from "../../shared/kubernetes/types.ts";
import type { ClusterEvent } from "../../shared/protocol/operator-answers.ts";
import { currentMs, pause } from "../clock.ts";
import { type Environment, failsStrandedPods, isNodeWatchOn, registry } from "../env.ts";
import { kubeConnector, pathTo, tokenChainId } from "../kube/connect.ts";
import type { TokenSource } from "../kube/token.ts";
import type { KubeClient } from "../kube/kube-client.ts";
import { ApiserverProbe, askForNode } from "../kube/probe.ts";
import { watchObjects, type WatchEnd, type WatchRequest } from "../kube/watch-stream.ts";
import { logClusterLine, logFailure, logNote } from "../log.ts";
import { Durations, type Measured, type Sample } from "../metrics/metrics.ts";
import { LazyAlarm } from "../storage/lazy-alarm.ts";
import { migrate, type Migration, StoredObject } from "../storage/migrations.ts";
import { prune } from "../storage/prune.ts";
import { type Sealer, sealer } from "../storage/sealed-text.ts";
import { shortened } from "../storage/shortened.ts";
import { RATE_LIMITS, reserve, take, type TokenBucket } from "../storage/token-bucket.ts";
import { ClusterVersion, minorStore } from "./cluster-version.ts";
import { ExpiredLeases } from "./expired-leases.ts";
import { NodeWatch, NOT_WATCHED, type Standing, WATCH_LIMITS, WELL_FOR_MS } from "./node-watch.ts";
import { Notices } from "./notices.ts";
import { type Pod, STRANDED_PODS, StrandedPods } from "./stranded-pods.ts";
import {
  type ChainStore,
  type KeptChain,
  type RenewalFailure,
  TokenChain,
  type TokenStatus,
} from "./token-chain.ts";
import { nodeRows, UNSURE, wellTime } from "./watched-nodes.ts";

/** The requested life of a token for the apiserver, in seconds: the longest that infra/rbac allows. */
const TOKEN_SECONDS = 24 * 3600;
/** The deadline of a request to the apiserver, below the two seconds that a machine's object waits for the token. */
const WITHIN_MS = 1500;
/** The wait before the alarm repeats a step that threw an exception. */
const AGAIN_MS = 5 * 60_000;
/** The least wait before a silent machine's object asks again. */
const LEAST_WAIT_MS = 1000;
/** The deadline of one page of the list of Nodes. */
const PAGE_WITHIN_MS = 20_000;

/** The migrations of the cluster object. Append only: existing objects have run the earlier entries. */
const CLUSTER_MIGRATIONS: readonly Migration[] = [
  `CREATE TABLE token_chains (
     chain TEXT PRIMARY KEY, written_at_ms INTEGER NOT NULL, sealed_token TEXT, failure TEXT
   ) WITHOUT ROWID;`,
  `CREATE TABLE watched_nodes (name TEXT PRIMARY KEY, seen TEXT NOT NULL, told TEXT NOT NULL) WITHOUT ROWID;
   CREATE TABLE history (id INTEGER PRIMARY KEY, at_ms INTEGER NOT NULL, text TEXT NOT NULL);`,
  { sql: "CREATE TABLE watch_well (id INTEGER PRIMARY KEY, at_ms INTEGER NOT NULL);", usableFrom: 2 },
  { sql: "CREATE TABLE cluster_version (id INTEGER PRIMARY KEY, minor INTEGER NOT NULL);", usableFrom: 2 },
];

/** The number of stored token chains: a Worker version with an earlier secret, as in a rollback, finds its chain. */
const KEPT_CHAINS = 2;

interface OwnChain {
  id: string;
  tokens: TokenChain;
}

export class ClusterObject extends StoredObject {
  #chain: Promise<OwnChain> | undefined;
  readonly #history: ReturnType<typeof clusterHistory>;
  readonly #watch: NodeWatch | null;
  /** null unless FAIL_STRANDED_PODS is on and the Nodes are watched. */
  readonly #pods: StrandedPods | null;
  readonly #leases: ExpiredLeases;
  readonly #version: ClusterVersion;
  readonly #durations = new Durations(currentMs);
  readonly #apiserver: ApiserverProbe;
  readonly #alarm: LazyAlarm;
  #silentNodes: TokenBucket | undefined;
  #silentNodesAgain: TokenBucket | undefined;

  constructor(ctx: DurableObjectState, env: Environment) {
    super(ctx, env);
    migrate(ctx.storage, CLUSTER_MIGRATIONS);
    const ask = askForNode(env, (withinMs) => this.#client(withinMs));
    this.#apiserver = new ApiserverProbe(ask, currentMs);
    this.#alarm = new LazyAlarm(ctx.storage, currentMs);
    this.#history = clusterHistory(ctx.storage.sql);
    this.#version = new ClusterVersion({
      ask: async () => (await this.#client(WITHIN_MS)).getVersion(),
      store: minorStore(ctx.storage.sql),
      note: this.#note,
      nowMs: currentMs,
    });
    this.#watch = isNodeWatchOn(env) && env.KUBE_URL ? this.#openWatch() : null;
    this.#pods = this.#watch && failsStrandedPods(env) ? this.#openPods(this.#watch) : null;
    this.#leases = new ExpiredLeases({
      list: async () =>
        (await this.#client(PAGE_WITHIN_MS)).listLeases(`${UNWATCHED_LABEL}=${env.DEPLOYMENT}`),
      // The object of an earlier version of the Worker, as during a deploy, lacks the method.
      notify: async (name) => env.NODES.getByName(name).leaseExpired(),
      log: logNote,
      nowMs: currentMs,
      pause,
      timer: env.timer,
    });
  }

  /**
   * Returns the newest valid token for a machine's object; null if the caller's Worker version has another secret,
   * apiserver or deployment. `refused`: the token that the apiserver answered with 401.
   */
  async tokenFor(chain: string, refused?: string): Promise<string | null> {
    const { id, tokens } = await this.#own();
    if (chain !== id) return null;
    const token = await tokens.tokenFor(refused);
    await this.#setAlarm(await tokens.nextMs());
    return token;
  }

  async tokenStatus(): Promise<TokenStatus> {
    return (await this.#own()).tokens.status();
  }

  /**
   * Returns the watch's status and the cluster's minor version; starts a stopped watch. `isListed`: the machine's lease
   * has UNWATCHED_LABEL. The name stays, since older versions call it in a deploy.
   */
  async standing(name: string, isListed = false): Promise<Standing> {
    if (!this.env.KUBE_URL) return NOT_WATCHED;
    if (isListed && this.#watch) this.#leases.expect();
    await this.watchNodes();
    const clusterMinor = await this.#version.minor();
    return { ...(this.#watch?.statusOf(name) ?? NOT_WATCHED), clusterMinor };
  }

  /** Returns the cluster's minor version, and starts no watch; undefined if no apiserver has answered. */
  minor(): Promise<number | undefined> {
    return this.#version.minor();
  }

  /**
   * Returns 0 if a silent machine's object may write its Node now; else the milliseconds until the object may ask again.
   * Returns null while no Node is watched. Before a write the watch must have been live for a minute: the apiserver or its
   * connection may fail.
   */
  silentNodeTurn(): number | null {
    const nowMs = currentMs();
    const state = this.#watch?.state().state ?? "live";
    if (state === "paused") return null;
    // Objects that must wait ask again one after another, also when the watch has been live for a minute.
    const again = (leastMs: number) => {
      const { waitMs, bucket } = reserve(this.#silentNodesAgain, RATE_LIMITS.silentNodes, 1, nowMs);
      this.#silentNodesAgain = bucket;
      return leastMs + waitMs;
    };
    if (state === "down") return again(Math.max(0, (this.#watch?.dueMs() ?? nowMs) - nowMs) + WELL_FOR_MS);
    // After a deployment the watch starts within seconds, so that an object soon asks again.
    if (state !== "live") return again(LEAST_WAIT_MS);
    const leftMs = this.#watch ? WELL_FOR_MS - this.#watch.liveForMs() : 0;
    if (leftMs > 0) return again(leftMs);
    const { isTaken, bucket } = take(this.#silentNodes, RATE_LIMITS.silentNodes, nowMs);
    this.#silentNodes = bucket;
    return isTaken ? 0 : again(LEAST_WAIT_MS);
  }

  /** Sets the alarm that runs the watch, if none is set. */
  async watchNodes(): Promise<void> {
    await this.#setAlarm(this.#watch?.dueMs() ?? null);
  }

  /** Returns the state of the watch, for operators. `state` is null where this deployment does not watch its Nodes. */
  watchState(): { state: WatchState | null } {
    const leasesError = this.#leases.error && { leasesError: this.#leases.error };
    return { state: this.#watch && { ...this.#watch.state(), ...leasesError } };
  }

  /** Returns the samples for GET /metrics. Probes the apiserver, unless a recent result exists. */
  async metrics(): Promise<Measured> {
    const [apiserver, token] = await Promise.all([this.#apiserver.probe(), this.tokenStatus()]);
    const { state } = this.watchState();
    return clusterMetrics({ apiserver: apiserver.finding, token, watch: state, durations: this.#durations });
  }

  /** Returns the watch's events, newest first. */
  history(query: ClusterHistoryRequest): ClusterEvent[] {
    return this.#history.read(query);
  }

  /** Renews the token if its renewal is due, then runs one turn of the watch of Nodes, which takes some minutes. */
  override async alarm(): Promise<void> {
    this.#alarm.rang();
    const next = [await this.#step(async () => (await this.#own()).tokens.upkeep())];
    const watch = this.#watch;
    if (watch) next.push(await this.#step(() => this.#turn(watch)));
    for (const atMs of next) await this.#setAlarm(atMs);
  }

  /** Runs one turn of the watch of Nodes. Stranded pods and expired leases are watched as long. */
  async #turn(watch: NodeWatch): Promise<number | null> {
    const over = new AbortController();
    const failed = (error: unknown) => {
      logFailure({ message: "alarm of the cluster failed", error: String(error) });
    };
    const others = [this.#pods, this.#leases].map(async (each) => each?.watch(over.signal).catch(failed));
    try {
      return await watch.turn();
    } finally {
      over.abort();
      await Promise.all(others);
    }
  }

  /** Runs one step of the alarm and returns when the step is due next; AGAIN_MS from now after an exception. */
  async #step(work: () => Promise<number | null>): Promise<number | null> {
    try {
      return await work();
    } catch (error) {
      logFailure({ message: "alarm of the cluster failed", error: String(error) });
      return currentMs() + AGAIN_MS;
    }
  }

  async #setAlarm(atMs: number | null): Promise<void> {
    if (atMs !== null && this.env.KUBE_URL) await this.#alarm.atLatest(atMs);
  }

  /** Stores and logs a line for operators. */
  readonly #note = (text: string): void => {
    this.#history.add(text, currentMs());
    logClusterLine(text);
  };

  #openWatch(): NodeWatch {
    const { env, ctx } = this;
    const labelSelector = `${DEPLOYMENT_LABEL}=${env.DEPLOYMENT}`;
    const rows = nodeRows(ctx.storage.sql);
    const notices = new Notices({
      known: (names) => registry(env).known(names),
      notify: async (name, node) => env.NODES.getByName(name).noticeNode(node),
      onSending: (name, seen) => rows.put(name, { seen, told: UNSURE }),
      onDone: (name, seen) => rows.put(name, { seen, told: seen }),
      timer: env.timer,
      nowMs: currentMs,
      pause,
      log: logNote,
    });
    return new NodeWatch({
      deployment: env.DEPLOYMENT,
      list: async ({ limit, continue: token }) =>
        (await this.#client(PAGE_WITHIN_MS)).listNodes({ labelSelector, limit, continue: token }),
      watch: (request) => this.#stream({ ...request, resource: "nodes", selector: { labelSelector } }),
      rows,
      well: wellTime(ctx.storage.sql),
      notices,
      note: this.#note,
      nowMs: currentMs,
      random: Math.random,
    });
  }

  #openPods(nodes: NodeWatch): StrandedPods {
    const { env } = this;
    const client = () => this.#client(PAGE_WITHIN_MS);
    return new StrandedPods({
      deployment: env.DEPLOYMENT,
      watch: (request) =>
        this.#stream<Pod>({
          ...request,
          resource: "pods",
          selector: STRANDED_PODS,
          timeoutSeconds: 2 * WATCH_LIMITS.seconds,
        }),
      isOurs: (name) => nodes.isOurs(name),
      getNode: async (name) => (await client()).getNode(name, true),
      fail: async ({ metadata }, why) =>
        (await client()).patchPodStatus(metadata, { phase: "Failed", ...why }),
      remove: async ({ metadata }) => (await client()).deletePod(metadata),
      log: logNote,
      nowMs: currentMs,
      pause,
    });
  }

  async #stream<Thing extends { metadata?: ObjectMeta }>(request: WatchRequest<Thing>): Promise<WatchEnd> {
    const { current: token, instead: otherToken } = await this.#tokens();
    return watchObjects({ ...this.#path(), token, otherToken }, request);
  }

  /** Returns the apiserver's URL, the object's timer, and a `fetch` that measures the durations of requests. */
  #path(): ReturnType<typeof pathTo> {
    const path = pathTo(this.env);
    return { ...path, fetch: this.#durations.timed(path.fetch) };
  }

  async #client(withinMs: number): Promise<KubeClient> {
    return this.#connect(await this.#tokens())(withinMs);
  }

  #connect(tokens: TokenSource): (withinMs: number) => KubeClient {
    return kubeConnector(this.env, tokens, currentMs, undefined, this.#path());
  }

  /** Returns the newest token, and a function that gets another token if the apiserver refuses the newest token. */
  async #tokens(): Promise<TokenSource> {
    const { tokens } = await this.#own();
    const token = await tokens.tokenFor(undefined);
    return {
      current: () => token,
      instead: async (refused) => {
        const other = await tokens.tokenFor(refused);
        return other === refused ? null : other;
      },
    };
  }

  #own(): Promise<OwnChain> {
    return (this.#chain ??= this.#open());
  }

  async #open(): Promise<OwnChain> {
    const { env, ctx } = this;
    const id = await tokenChainId(env);
    const connect = (token: string) => {
      const alone = { current: () => token, instead: () => Promise.resolve(null) };
      return this.#connect(alone)(WITHIN_MS);
    };
    const tokens = new TokenChain({
      secret: env.KUBE_TOKEN,
      deployment: env.DEPLOYMENT,
      seconds: TOKEN_SECONDS,
      store: chainStore(ctx.storage.sql, id, await sealer(env.KUBE_TOKEN, id), currentMs),
      connect,
      nowMs: currentMs,
      log: logNote,
    });
    return { id, tokens };
  }
}

/** Returns the functions that read and write a chain of tokens: one row in SQLite, with the token sealed. */
function chainStore(
  sql: SqlStorage,
  chain: string,
  { seal, open }: Sealer,
  nowMs: () => number, // typically currentMs
): ChainStore {
  let known: KeptChain | undefined;

  async function load(): Promise<KeptChain> {
    const query = "SELECT sealed_token, failure FROM token_chains WHERE chain = ?";
    const [[sealed, failure] = [null, null]] = sql.exec(query, chain).raw<[string | null, string | null]>();
    const token = sealed === null ? null : await open(sealed);
    return {
      ...(token !== null && { token }),
      ...(failure !== null && { failure: JSON.parse(failure) as RenewalFailure }),
    };
  }

  return {
    read: async () => (known ??= await load()),
    async write(next) {
      const sealed = next.token === undefined ? null : await seal(next.token);
      const failure = next.failure === undefined ? null : JSON.stringify(next.failure);
      known = next;
      const put = `INSERT INTO token_chains VALUES (?, ?, ?, ?) ON CONFLICT (chain) DO UPDATE SET
        written_at_ms = excluded.written_at_ms, sealed_token = excluded.sealed_token, failure = excluded.failure`;
      sql.exec(put, chain, nowMs(), sealed, failure);
      const surplus = `DELETE FROM token_chains WHERE chain <> ?1 AND chain NOT IN
        (SELECT chain FROM token_chains WHERE chain <> ?1 ORDER BY written_at_ms DESC LIMIT ?2)`;
      sql.exec(surplus, chain, KEPT_CHAINS - 1);
    },
  };
}

export const CLUSTER_HISTORY_LIMITS = { entries: 500, entryLength: 512 } as const;

interface ClusterHistoryRequest {
  /** Only entries with a lower ID are returned; undefined: the newest entries. */
  before?: number | undefined;
  limit: number;
}

/** Stores lines for operators about failures and recoveries of the watch of Nodes. */
export function clusterHistory(sql: SqlStorage) {
  const { entries, entryLength } = CLUSTER_HISTORY_LIMITS;
  return {
    /** Adds a line to the history. Usually writes two rows: inserts the new line and deletes the oldest. */
    add(text: string, nowMs: number): void {
      sql.exec("INSERT INTO history (at_ms, text) VALUES (?, ?)", nowMs, shortened(text, entryLength));
      prune(sql, "history", { entries, atOnce: 2 });
    },
    /** Returns the history's entries, newest first. */
    read({ before, limit }: ClusterHistoryRequest): ClusterEvent[] {
      const rows = sql.exec<{ id: number; at_ms: number; text: string }>(
        "SELECT id, at_ms, text FROM history WHERE id < ? ORDER BY id DESC LIMIT ?",
        before ?? Number.MAX_SAFE_INTEGER,
        limit,
      );
      return [...rows].map(({ id, at_ms, text }) => ({ id, at: new Date(at_ms).toISOString(), text }));
    },
  };
}

export interface KnownOfCluster {
  /** The result of the last probe of the apiserver. */
  apiserver: CheckResult;
  token: TokenStatus;
  /** The state of the watch of Nodes; null if this deployment does not watch its Nodes. */
  watch: WatchState | null;
  durations: Pick<Durations, "samples">;
}

const WATCH_STATES: readonly WatchState["state"][] = ["live", "down", "paused", "starting"];

export function clusterMetrics({ apiserver, token, watch, durations }: KnownOfCluster): Measured {
  const { expiresAt, renewFrom, lastFailure } = token;
  const isRenewed = renewFrom !== undefined || lastFailure !== undefined;
  return {
    rollcall_cluster_reachable: one(apiserver.state === "ok" ? 1 : 0),
    ...(expiresAt !== undefined && {
      rollcall_cluster_token_expiry_timestamp_seconds: one(Date.parse(expiresAt) / 1000),
    }),
    // Only a renewed token has this sample. Without the sample, alerts warn of the token's expiry earlier.
    ...(isRenewed && { rollcall_cluster_token_renewal_failed: one(lastFailure ? 1 : 0) }),
    ...(watch && {
      rollcall_watch_state: WATCH_STATES.map((state) => ({
        labels: { state },
        value: state === watch.state ? 1 : 0,
      })),
      rollcall_watch_nodes: one(watch.nodes),
      rollcall_watch_waiting_changes: one(watch.waiting),
    }),
    rollcall_apiserver_request_duration_seconds: durations.samples(),
  };
}

const one = (value: number): Sample[] => [{ labels: {}, value }];
