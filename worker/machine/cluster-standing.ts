// Asks the cluster object about the watch of a machine's Node, and about the cluster's version. The objects of an isolate
// share what they learn, so that not each of them asks.
import { currentMs } from "../clock.ts";
import { NOT_WATCHED, type Standing, type WatchStatus } from "../cluster/node-watch.ts";
import { clusterObject, type Environment, isNodeWatchOn } from "../env.ts";
import { knownCluster } from "../kube/connect.ts";
import { withDeadline } from "../kube/deadline.ts";
import type { KnownCluster } from "../kube/token.ts";

const ASK_WITHIN_MS = 1000;
/** The time for which an answer that the watch of Nodes is live counts for all objects of the isolate. */
const WATCH_KEPT_MS = 10_000;
/** The time between two requests of an isolate if the Nodes are not watched, and only the version is of interest. */
const VERSION_KEPT_MS = 3_600_000;

export class ClusterStanding {
  /** The last answer about this Node; undefined before the first answer, or if the Nodes are not watched. */
  watch: WatchStatus | undefined;
  readonly #env: Environment;
  readonly #known: KnownCluster;

  constructor(env: Environment) {
    this.#env = env;
    this.#known = knownCluster(env);
  }

  /** The cluster's minor version; undefined if no object of this isolate has learned it. */
  get minor(): number | undefined {
    return this.#known.minor;
  }

  /**
   * Returns true if the cluster object notifies this object of each change of the Node by another writer. While the
   * watch is live, the last answer about this Node holds: a Node that leaves the watch causes a notice.
   */
  async isWatched(name: string, isListed: boolean): Promise<boolean> {
    const isKept = this.watch?.isWatched && !isOver(this.#known.watchedAtMs, WATCH_KEPT_MS);
    return isKept || this.ask(name, isListed);
  }

  /** Asks for the cluster's version alone: a watch that starts before the first Node exists pauses. Never rejects. */
  async learnMinor(): Promise<void> {
    const [env, known] = [this.#env, this.#known];
    if (!env.KUBE_URL || known.minor !== undefined) return;
    const ask = async () => clusterObject(env).minor();
    const asked = withDeadline<number | undefined>(ASK_WITHIN_MS, ask, undefined, env.timer);
    const minor = await asked.catch(() => undefined);
    if (minor !== undefined) known.minor = minor;
  }

  /** Asks the cluster object. `isListed`: the machine's lease has UNWATCHED_LABEL. Never rejects. */
  async ask(name: string, isListed: boolean): Promise<boolean> {
    const [env, known, isOn] = [this.#env, this.#known, isNodeWatchOn(this.#env)];
    if (!env.KUBE_URL || !(isOn || isOver(known.askedAtMs, VERSION_KEPT_MS))) return false;
    known.askedAtMs = currentMs();
    const ask = () => clusterObject(env).standing(name, isListed);
    const asked = withDeadline<Standing>(ASK_WITHIN_MS, ask, NOT_WATCHED, env.timer);
    const { clusterMinor, ...watch } = await asked.catch((): Standing => NOT_WATCHED);
    if (clusterMinor !== undefined) known.minor = clusterMinor;
    if (isOn) this.watch = watch;
    if (watch.isWatched) known.watchedAtMs = currentMs();
    return watch.isWatched;
  }
}

/** Reports whether more time than `ms` has passed, in either direction, since `atMs`; true if `atMs` is absent. */
function isOver(atMs: number | undefined, ms: number): boolean {
  return Math.abs(currentMs() - (atMs ?? Infinity)) >= ms;
}
