// How facts and vitals read what the monitor knows about the container runtime.
import type { Vitals } from "../../../shared/protocol/report.ts";
import type { RuntimeSnapshot } from "./monitor.ts";

/** The latest snapshot; null on a machine without a runtime. Typically the monitor's. */
export type RuntimeReader = () => RuntimeSnapshot | null;

export function runtimeErrors(snapshot: RuntimeSnapshot | null): Pick<Vitals, "errors"> {
  if (snapshot === null || Object.keys(snapshot.errors).length === 0) return {};
  return { errors: snapshot.errors };
}
