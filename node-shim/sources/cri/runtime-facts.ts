// What is known of the container runtime, as facts and vitals. Asks nobody: the monitor of node-shim/cri does.
import type { Facts } from "../../../shared/protocol/facts.ts";
import type { Vitals } from "../../../shared/protocol/report.ts";
import type { RuntimeSnapshot } from "./monitor.ts";

/** The latest of the runtime; null on a machine that has none. Typically the monitor's. */
export type RuntimeReader = () => RuntimeSnapshot | null;

type RuntimeFacts = Pick<Facts, "runtime" | "images" | "runtimeHandlers" | "runtimeFeatures">;

/** What was never heard of the runtime is absent, as it is in the kubelet's first status. */
export function runtimeFacts(snapshot: RuntimeSnapshot | null): RuntimeFacts {
  if (snapshot === null) return { runtime: null };
  const { runtime, images, handlers, features } = snapshot;
  return {
    ...(runtime && { runtime }),
    // Before the first list the kubelet's is empty, and that is no error.
    images: images ?? [],
    ...(handlers && { runtimeHandlers: handlers }),
    ...(features && { runtimeFeatures: features }),
  };
}

export function runtimeErrors(snapshot: RuntimeSnapshot | null): Pick<Vitals, "errors"> {
  if (snapshot === null || Object.keys(snapshot.errors).length === 0) return {};
  return { errors: snapshot.errors };
}
