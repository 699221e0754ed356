// Keeps what an operator says of a machine's container runtime. Reports are decided by it from then on.
import type { RuntimeNeed } from "../../shared/protocol/operator-api.ts";
import type { Stored } from "../storage/journal.ts";

/** A line of history where it changes something; false: no machine is enrolled. */
export function setNeededRuntime({ records, journal }: Stored, need: RuntimeNeed, nowMs: number): boolean {
  if (!records.get("enrolment")) return false;
  const { isWaived: wasWaived = false, ...known } = records.get("runtime") ?? {};
  const isWaived = need === "none";
  if (isWaived === wasWaived) return true;
  records.put("runtime", isWaived ? { ...known, isWaived } : known);
  const text = isWaived
    ? "that the machine needs no container runtime"
    : "that a container runtime counts again";
  journal.note("runtime", `an operator said ${text}`, nowMs);
  return true;
}

/** What holds now. */
export function neededRuntime(records: Stored["records"]): RuntimeNeed {
  return records.get("runtime")?.isWaived ? "none" : "auto";
}
