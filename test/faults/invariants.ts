// Checks the rules for all writes that took effect, on any apiserver and after any fault.
import { expect } from "vitest";
import type { Lease, Node } from "../../shared/kubernetes/types.ts";
import type { Write } from "../worker/support/fault.ts";

/**
 * Expects that no time goes back: each renewTime is later than the one before, and no heartbeat or transition time
 * is earlier. `writes` are in the order in which they took effect.
 */
export function expectNoTimeMovedBack(writes: readonly Write[]): void {
  const last = new Map<string, string>();
  for (const { object } of writes) {
    const uid = String(object.metadata?.uid);
    if (object.kind === "Lease") {
      const { renewTime = "" } = (object as Lease).spec ?? {};
      const before = last.get(uid) ?? "";
      expect(renewTime > before, `renewTime ${renewTime} after ${before}`).toBe(true);
      last.set(uid, renewTime);
    }
    if (object.kind !== "Node") continue;
    for (const condition of (object as Node).status?.conditions ?? []) {
      for (const field of ["lastHeartbeatTime", "lastTransitionTime"] as const) {
        const key = `${uid} ${condition.type} ${field}`;
        const [time, before] = [condition[field] ?? "", last.get(key) ?? ""];
        expect(time >= before, `${key}: ${time} after ${before}`).toBe(true);
        last.set(key, time);
      }
    }
  }
}
