// The Durable Object of the deployment's cluster: keeps the token with which all objects speak to the apiserver, renews
// it, and watches the Nodes for all of them. One object for each deployment, a thin shell around worker/cluster.
import type { WatchState } from "../../shared/deployment/watch.ts";
import type { ClusterEvent } from "../../shared/protocol/operator-answers.ts";
import { DEPLOYMENT_LABEL } from "../../shared/node/ownership.ts";
import { type Environment, isNodeWatchOn, registry } from "../env.ts";
import { kubeConnector, pathTo } from "../kube/connect.ts";
import type { TokenSource } from "../kube/held-token.ts";
import type { KubeClient } from "../kube/kube-client.ts";
import { ApiserverProbe, askForNode } from "../kube/probe.ts";
import { watchNodes } from "../kube/watch-stream.ts";
import { tokenChainId } from "../kube/token-chain-id.ts";
import { Durations } from "../metrics/durations.ts";
import type { Measured } from "../metrics/metrics.ts";
import { LazyAlarm } from "../storage/lazy-alarm.ts";
import { migrate } from "../storage/migrations.ts";
import { StoredObject } from "../storage/stored-object.ts";
import { chainStore } from "./chain-store.ts";
import { type ClusterHistory, clusterHistory, type ClusterHistoryRequest } from "./cluster-history.ts";
import { clusterMetrics } from "./cluster-metrics.ts";
import { nodeRows, UNSURE } from "./node-rows.ts";
import { NodeWatch } from "./node-watch.ts";
import { Notices } from "./notices.ts";
import { CLUSTER_MIGRATIONS } from "./schema.ts";
import { sealer } from "../storage/sealed-text.ts";
import { TokenChain, type TokenStatus } from "./token-chain.ts";
import { NOT_WATCHED, type WatchStanding } from "./watch-standing.ts";
import { logClusterLine, logFailure, logNote } from "../log.ts";
import { currentMs, pause } from "../clock.ts";

/** The most that infra/rbac allows. */
const TOKEN_SECONDS = 24 * 3600;
/** A machine's object waits for two seconds. */
const WITHIN_MS = 1500;
/** After a fault of the object's own. */
const AGAIN_MS = 5 * 60_000;
/** Of a page of a list. */
const PAGE_WITHIN_MS = 20_000;

interface OwnChain {
  id: string;
  tokens: TokenChain;
}

export class ClusterObject extends StoredObject {
  #chain: Promise<OwnChain> | undefined;
  readonly #history: ClusterHistory;
  readonly #watch: NodeWatch | null;
  readonly #durations = new Durations(currentMs);
  readonly #apiserver: ApiserverProbe;
  readonly #alarm: LazyAlarm;

  constructor(ctx: DurableObjectState, env: Environment) {
    super(ctx, env);
    migrate(ctx.storage, CLUSTER_MIGRATIONS);
    const ask = askForNode(env, (withinMs) => this.#client(withinMs));
    this.#apiserver = new ApiserverProbe(ask, currentMs);
    this.#alarm = new LazyAlarm(ctx.storage, currentMs);
    this.#history = clusterHistory(ctx.storage.sql);
    this.#watch = isNodeWatchOn(env) && env.KUBE_URL ? this.#openWatch() : null;
  }

  /**
   * For machines' objects: the newest token that is good; null: this version of the Worker has another secret, apiserver
   * or deployment. `refused`: the token that was answered 401.
   */
  async tokenFor(chain: string, refused?: string): Promise<string | null> {
    const { id, tokens } = await this.#own();
    if (chain !== id) return null;
    const token = await tokens.tokenFor(refused);
    await this.#lookAt(await tokens.nextMs());
    return token;
  }

  /** For operators. */
  async tokenStatus(): Promise<TokenStatus> {
    return (await this.#own()).tokens.status();
  }

  /** For machines' objects, and at certain times: has the Nodes watched, if they are not. */
  async standing(name: string): Promise<WatchStanding> {
    const watch = this.#watch;
    if (!watch) return NOT_WATCHED;
    await this.watchNodes();
    const isWatched = watch.isWatched(name);
    return { isWatched, isSilenceSeen: isWatched && watch.hasNodeController };
  }

  /** Sees that the alarm rings that watches the Nodes: nobody else would find out that it does not. */
  async watchNodes(): Promise<void> {
    await this.#lookAt(this.#watch?.dueMs() ?? null);
  }

  /** For operators; `state` is null where this deployment does not watch. */
  watchState(): { state: WatchState | null } {
    return { state: this.#watch?.state() ?? null };
  }

  /** For GET /metrics. It asks the apiserver whether it answers, unless it has just done so. */
  async metrics(): Promise<Measured> {
    const [apiserver, token] = await Promise.all([this.#apiserver.probe(), this.tokenStatus()]);
    const { state } = this.watchState();
    return clusterMetrics({ apiserver: apiserver.finding, token, watch: state, durations: this.#durations });
  }

  /** What became of the watch, newest first. */
  history(query: ClusterHistoryRequest): ClusterEvent[] {
    return this.#history.read(query);
  }

  /** Renews the token, watches the Nodes for some minutes, and looks again when one of both is due. */
  override async alarm(): Promise<void> {
    this.#alarm.rang();
    const next = [await this.#step(async () => (await this.#own()).tokens.upkeep())];
    const watch = this.#watch;
    if (watch) next.push(await this.#step(() => watch.turn()));
    for (const atMs of next) await this.#lookAt(atMs);
  }

  /** Returns when the next one is due. One that fails must not keep the other from being done. */
  async #step(work: () => Promise<number | null>): Promise<number | null> {
    try {
      return await work();
    } catch (error) {
      logFailure({ message: "alarm of the cluster failed", error: String(error) });
      return currentMs() + AGAIN_MS;
    }
  }

  async #lookAt(atMs: number | null): Promise<void> {
    if (atMs !== null && this.env.KUBE_URL) await this.#alarm.atLatest(atMs);
  }

  #openWatch(): NodeWatch {
    const { env, ctx } = this;
    const labelSelector = `${DEPLOYMENT_LABEL}=${env.DEPLOYMENT}`;
    const rows = nodeRows(ctx.storage.sql);
    const knows = (name: string, told: (seen: string) => string) => {
      const row = rows.get(name);
      if (row) rows.put(name, { seen: row.seen, told: told(row.seen) });
    };
    const notices = new Notices({
      known: (names) => registry(env).known(names),
      tell: async (name, node) => env.NODES.getByName(name).noticeNode(node),
      onTelling: (name) => knows(name, () => UNSURE),
      onTold: (name) => knows(name, (seen) => seen),
      nowMs: currentMs,
      pause,
      log: logNote,
    });
    return new NodeWatch({
      deployment: env.DEPLOYMENT,
      list: async ({ limit, continue: token }) =>
        (await this.#client(PAGE_WITHIN_MS)).listNodes({ labelSelector, limit, continue: token }),
      watch: async (request) => {
        const { current: token, instead: otherToken } = await this.#tokens();
        return watchNodes({ ...this.#path(), token, otherToken }, { ...request, selector: labelSelector });
      },
      rows,
      notices,
      note: (text) => {
        this.#history.add(text, currentMs());
        logClusterLine(text);
      },
      nowMs: currentMs,
      random: Math.random,
    });
  }

  /** How the apiserver is reached: what is asked by it is counted. */
  #path(): ReturnType<typeof pathTo> {
    const { fetch, url } = pathTo(this.env);
    return { fetch: this.#durations.timed(fetch), url };
  }

  async #client(withinMs: number): Promise<KubeClient> {
    return this.#connect(await this.#tokens())(withinMs);
  }

  #connect(tokens: TokenSource): (withinMs: number) => KubeClient {
    return kubeConnector(this.env, tokens, currentMs, undefined, this.#path());
  }

  /** With the newest token, and another one where that is refused. */
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
