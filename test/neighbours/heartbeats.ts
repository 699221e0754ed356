// Renews the leases of Nodes, as kubelets and the Worker do, until a Node is cut off.
import { setTimeout as wait } from "node:timers/promises";
import { type Kube, forAll, LEASES } from "./kube.ts";

/** The default interval of kubelets, and of rollcall's machines. */
const INTERVAL_MS = 10_000;
const LEASE_SECONDS = 40;

export class Heartbeats {
  readonly #kube: Kube;
  readonly #names = new Set<string>();
  #rounds: Promise<void> | undefined;
  #ending: AbortController | undefined;
  #intervalMs = INTERVAL_MS;

  constructor(kube: Kube) {
    this.#kube = kube;
  }

  /** Renews the experiment's leases at another interval, for a node controller with a shorter grace period. */
  setInterval(intervalMs: number): void {
    this.#intervalMs = intervalMs;
  }

  /** Creates the leases of these Nodes, and renews them from now on. */
  async start(names: readonly string[]): Promise<void> {
    await forAll(names, (name) =>
      this.#kube.create(LEASES, {
        apiVersion: "coordination.k8s.io/v1",
        kind: "Lease",
        metadata: { name },
        spec: { holderIdentity: name, leaseDurationSeconds: LEASE_SECONDS, renewTime: now() },
      }),
    );
    for (const name of names) this.#names.add(name);
    if (this.#rounds) return;
    this.#ending = new AbortController();
    this.#rounds = this.#renewUntil(this.#ending.signal);
  }

  /** Renews these leases for the last time, at the same moment, so that they expire together. */
  async cutOff(names: readonly string[]): Promise<void> {
    for (const name of names) this.#names.delete(name);
    await this.#renew(names);
  }

  /** Stops renewing the lease of a deleted Node. */
  forget(name: string): void {
    this.#names.delete(name);
  }

  async stopAll(): Promise<void> {
    this.#names.clear();
    this.#ending?.abort();
    await this.#rounds;
    this.#rounds = undefined;
    this.#intervalMs = INTERVAL_MS;
  }

  async #renewUntil(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#renew([...this.#names]);
      await wait(this.#intervalMs, undefined, { signal }).catch(() => undefined);
    }
  }

  #renew(names: readonly string[]): Promise<void> {
    return forAll(names, (name) => this.#kube.patch(`${LEASES}/${name}`, { spec: { renewTime: now() } }));
  }
}

/** Returns the time as a MicroTime, such as `2026-01-01T00:00:00.000000Z`. */
const now = () => new Date().toISOString().replace("Z", "000Z");
