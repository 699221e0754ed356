// What is known of the container runtime. Asks nobody: its monitor does.
import type { Vitals } from "../../../shared/protocol/report.ts";
import type { RuntimeSnapshot } from "./monitor.ts";

/** The latest of the runtime; null on a machine that has none. Typically the monitor's. */
export type RuntimeReader = () => RuntimeSnapshot | null;

export function runtimeErrors(snapshot: RuntimeSnapshot | null): Pick<Vitals, "errors"> {
  if (snapshot === null || Object.keys(snapshot.errors).length === 0) return {};
  return { errors: snapshot.errors };
}
