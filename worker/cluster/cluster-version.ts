// Follows the cluster's minor version, which each Node reports as its kubelet's. During an upgrade the apiservers differ,
// and a kubelet must not be newer than any of them: the version falls at once, and rises only after an hour of answers.
import { COMPARED_MINORS, minorOf } from "../../shared/from-report/kubelet-version.ts";
import type { ApiResult } from "../../shared/kubernetes/api-error.ts";
import type { ServerVersion } from "../kube/kube-client.ts";

/** The time between two requests for the version. */
const ASK_EVERY_MS = 3_600_000;
/** The time between two requests without an answer, or while the version may rise: each may reach another apiserver. */
const ASK_SOON_MS = 300_000;
/** The time for which all answers must be higher before the version rises. */
const RISE_AFTER_MS = 3_600_000;

export interface FollowedVersion {
  /** The minor version that the Nodes report. */
  minor: number;
  /** The least of the higher answers since `sinceMs`; absent if the last answer was not higher. */
  rise?: { minor: number; sinceMs: number };
}

/** Returns the version after an apiserver's answer. The first answer counts at once. */
export function followed(
  before: FollowedVersion | undefined,
  answered: number,
  nowMs: number,
): FollowedVersion {
  if (!before || answered <= before.minor) return { minor: answered };
  const { minor, sinceMs } = before.rise ?? { minor: answered, sinceMs: nowMs };
  const rise = { minor: Math.min(minor, answered), sinceMs };
  return nowMs - sinceMs >= RISE_AFTER_MS ? { minor: rise.minor } : { minor: before.minor, rise };
}

interface VersionDependencies {
  ask: () => Promise<ApiResult<ServerVersion>>;
  store: MinorStore;
  /** Stores a line for operators in the cluster's history. */
  note: (text: string) => void;
  /** Returns milliseconds since 1970; typically currentMs. */
  nowMs: () => number;
}

export class ClusterVersion {
  readonly #with: VersionDependencies;
  #followed: FollowedVersion | undefined;
  #askedAtMs = Number.NEGATIVE_INFINITY;
  #asking: Promise<void> | undefined;
  #everyMs = ASK_SOON_MS;

  constructor(dependencies: VersionDependencies) {
    this.#with = dependencies;
    const minor = dependencies.store.get();
    if (minor !== null) this.#followed = { minor };
  }

  /** Returns the cluster's minor version; undefined until an apiserver has answered. Asks an apiserver if due. */
  async minor(): Promise<number | undefined> {
    if (Math.abs(this.#with.nowMs() - this.#askedAtMs) >= this.#everyMs)
      this.#asking ??= this.#ask().finally(() => (this.#asking = undefined));
    await this.#asking;
    return this.#followed?.minor;
  }

  async #ask(): Promise<void> {
    const { ask, store, note, nowMs } = this.#with;
    const before = this.#followed?.minor;
    this.#askedAtMs = nowMs();
    this.#everyMs = ASK_SOON_MS;
    const answer = await ask();
    const answered = answer.ok ? minorOf(answer.value.gitVersion) : undefined;
    if (answered === undefined) return;
    this.#followed = followed(this.#followed, answered, nowMs());
    const { minor, rise } = this.#followed;
    if (!rise) this.#everyMs = ASK_EVERY_MS;
    if (minor === before) return;
    store.put(minor);
    note(versionText(minor));
  }
}

function versionText(minor: number): string {
  const reported = Math.min(minor, COMPARED_MINORS.newest);
  return `the cluster has Kubernetes 1.${minor}: with its next status, each Node reports 1.${reported}`;
}

type MinorStore = ReturnType<typeof minorStore>;

/** Returns the functions that read and write the cluster's minor version in SQLite. */
export function minorStore(sql: SqlStorage) {
  return {
    /** Returns null before the first answer. */
    get: () => sql.exec<{ minor: number }>("SELECT minor FROM cluster_version").toArray()[0]?.minor ?? null,
    put: (minor: number) => void sql.exec("INSERT OR REPLACE INTO cluster_version VALUES (1, ?)", minor),
  };
}
