// Fails stranded pods: pods that are bound to a Node of this deployment that runs no pods, and that no program starts.
// Pods with a controller stay Pending, since a controller replaces each failed pod by another. docs/pending-pods.md.
import { backOff } from "../../shared/back-off.ts";
import { type ApiResult, apiErrorText, isConflict, isNotFound } from "../../shared/kubernetes/api-error.ts";
import type { Node, ObjectMeta } from "../../shared/kubernetes/types.ts";
import { isBystander } from "../../shared/node/bystander.ts";
import { OWNER_ANNOTATION } from "../../shared/node/ownership.ts";
import type { WatchEnd, WatchRequest } from "../kube/watch-stream.ts";
import type { Log } from "../log.ts";
import { type Pace, paced } from "../paced.ts";

/** The fields of a pod that decide about it. */
export interface Pod {
  metadata: ObjectMeta;
  spec?: { nodeName?: string };
  status?: { phase?: string; startTime?: string };
}

/** The watched pods: bound to a Node, and not started. A kubelet starts a pod within seconds. */
export const STRANDED_PODS = { fieldSelector: "spec.nodeName!=,status.phase=Pending" } as const;

export const STRANDED_POD_LIMITS = {
  /** The pace of pods that are failed or deleted. Two at once leave the object four of its six connections. */
  pace: { aSecond: 10, atOnce: 2 } satisfies Pace,
  /** The number of pods that one watch handles. The next watch, within five minutes, begins with the others. */
  aWatch: 200,
  /** The longest wait after failed watches, for example without the rights of infra/rbac/pods.yaml. */
  longestWaitMs: 300_000,
} as const;
const FIRST_WAIT_MS = 1000;

export interface StrandedPodDependencies {
  deployment: string;
  watch: (
    request: Pick<WatchRequest<Pod>, "version" | "signal" | "onOpen" | "onChange">,
  ) => Promise<WatchEnd>;
  /** Reports without a request whether the deployment has a Node of this name. */
  isOurs: (node: string) => boolean;
  getNode: (name: string) => Promise<ApiResult<Node>>;
  /** Sets the pod's phase to Failed, unless the pod has changed since. */
  fail: (pod: Pod, why: { reason: string; message: string }) => Promise<ApiResult<unknown>>;
  /** Deletes the pod with this uid without a grace period. */
  remove: (pod: Pod) => Promise<ApiResult<unknown>>;
  log: Log;
  nowMs: () => number; // typically currentMs
  pause: (ms: number) => Promise<void>;
}

export class StrandedPods {
  readonly #with: StrandedPodDependencies;
  /** The pods that wait for their turn, by uid. */
  readonly #waiting = new Map<string, Pod>();
  #left = 0;
  #running: Promise<void> | undefined;
  #failures = 0;
  #nextAtMs = 0;

  constructor(dependencies: StrandedPodDependencies) {
    this.#with = dependencies;
  }

  /**
   * Watches until `signal` aborts or the watch ends, and handles each stranded pod. Each watch begins with all existing
   * pods, so that no version is kept. Returns at once during the wait after a failed watch.
   */
  async watch(signal: AbortSignal): Promise<void> {
    const { watch, nowMs, log } = this.#with;
    if (nowMs() < this.#nextAtMs) return;
    this.#left = STRANDED_POD_LIMITS.aWatch;
    const end = await watch({
      version: "0",
      signal,
      onOpen: () => (this.#failures = 0),
      onChange: (change) => {
        if (change.type === "ADDED" || change.type === "MODIFIED") this.#put(change.object);
      },
    });
    this.#waiting.clear();
    await this.#running;
    if (end.kind !== "failed") return;
    this.#failures++;
    const waitMs = backOff(this.#failures, FIRST_WAIT_MS, STRANDED_POD_LIMITS.longestWaitMs);
    this.#nextAtMs = nowMs() + waitMs;
    // A single failure is not logged, since each restart of an apiserver causes a failure.
    if (this.#failures === 2)
      log({ message: "stranded pods are not watched", error: apiErrorText(end.error) });
  }

  #put(pod: Pod): void {
    const { uid = "" } = pod.metadata;
    if (duty(pod) === null || !this.#with.isOurs(pod.spec?.nodeName ?? "")) this.#waiting.delete(uid);
    else if (this.#waiting.has(uid) || this.#left-- > 0) this.#waiting.set(uid, pod);
    this.#running ??= this.#run().finally(() => (this.#running = undefined));
  }

  async #run(): Promise<void> {
    await paced(this.#works(), STRANDED_POD_LIMITS.pace, this.#with.pause);
  }

  *#works(): Generator<Promise<void>> {
    // A Map iterates over entries that are added meanwhile.
    for (const [uid, pod] of this.#waiting) {
      this.#waiting.delete(uid);
      yield this.#handle(pod);
    }
  }

  async #handle(pod: Pod): Promise<void> {
    const { deployment, getNode, fail, remove, log } = this.#with;
    const { nodeName = "" } = pod.spec ?? {};
    const node = await getNode(nodeName);
    if (!node.ok || !runsNoPods(node.value, deployment)) return;
    const what = duty(pod);
    const done = await (what === "remove" ? remove(pod) : fail(pod, noKubelet(nodeName)));
    const line = { pod: `${pod.metadata.namespace}/${pod.metadata.name}`, node: nodeName };
    if (done.ok) log({ message: `a stranded pod was ${what === "remove" ? "removed" : "failed"}`, ...line });
    // After a conflict the watch sends the changed pod.
    else if (!isConflict(done.error) && !isNotFound(done.error))
      log({ message: "a stranded pod stays", ...line, error: apiErrorText(done.error) });
  }
}

/** Returns what is to be done with a pod on a Node that runs no pods; null for a pod to leave alone. */
function duty({ metadata, spec, status }: Pod): "fail" | "remove" | null {
  // A kubelet has accepted a pod that has a start time.
  if (!spec?.nodeName || status?.phase !== "Pending" || status.startTime !== undefined) return null;
  if (metadata.deletionTimestamp !== undefined) return "remove";
  return metadata.ownerReferences?.some(({ controller }) => controller) ? null : "fail";
}

function runsNoPods(node: Node, deployment: string): boolean {
  return node.metadata?.annotations?.[OWNER_ANNOTATION] === deployment && isBystander(node, true);
}

function noKubelet(node: string): { reason: string; message: string } {
  return {
    reason: "NoKubelet",
    message: `Node ${node} has no kubelet: no program can start this pod there. Run the pod on another Node.`,
  };
}
