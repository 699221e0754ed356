// What this object knows of its machine, for the fleet index: gathered from the records. Decides and writes nothing.
import type { KnownMachine } from "../../shared/fleet/summarize.ts";
import type { Enrolment } from "../storage/records.ts";
import { leftOutMessage } from "../tick/parts.ts";
import { isRegisteredReady, lastPhase } from "../tick/phase.ts";
import { hasReported } from "./contact.ts";
import type { MachineState } from "./machine-state.ts";

/** `address`: from which it reports. Of a machine that has not reported with its pin, nothing older counts. */
export function knownMachine(
  { records }: Pick<MachineState, "records">,
  enrolment: Enrolment,
  address: string,
): KnownMachine {
  const isUsed = hasReported(records);
  const node = isUsed ? records.get("node")?.node : undefined;
  const { thumbprint, token, pinnedAtMs } = enrolment;
  const withheld = [leftOutMessage(records), records.get("bounded")];
  return {
    isRevoked: enrolment.isRevoked ?? false,
    phase: (isUsed && lastPhase(records)) || null,
    isReady: isRegisteredReady(records, node),
    node,
    decided: (isUsed && records.get("decided")) || [],
    facts: records.get("facts")?.facts,
    skewMs: (records.get("isSkewed") && records.get("skewMs")) || 0,
    silentSinceMs: records.get("silentSinceMs") ?? null,
    withheld: withheld.filter((each) => each !== undefined).join("; "),
    address,
    process: (isUsed && records.get("process")?.startId) || "",
    transport: (isUsed && records.get("transport")) || "http",
    key: { thumbprint, token, pinnedAtMs, isUsed },
  };
}
