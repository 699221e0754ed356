// Gathers the facts that a kubelet does not have: cloud, hardware, drop-ins. The shim reads them in the background.
import { runChild, runForCode } from "../base/child.ts";
import { uptime } from "node:os";
import { cpuMs, monotonicMs, pause, wallMs } from "../base/clock.ts";
import type { Facts } from "../../shared/protocol/facts.ts";
import type { Vitals } from "../../shared/protocol/report.ts";
import { type CloudFlags, machineCloud } from "../sources/cloud/provider.ts";
import { programText } from "../base/program-lines.ts";
import { dropInFolder } from "../sources/drop-ins/drop-ins.ts";
import { bootID, firstProcessMs } from "../sources/kernel/names.ts";
import { type ProblemDetectors, problemDetectors } from "../sources/problems/detectors.ts";
import { problemStore } from "../sources/problems/problem-store.ts";
import { valueOr } from "../../shared/result.ts";
import type { Note } from "./fact-groups.ts";
import type { Warn } from "../base/reading.ts";
import { hardware, keptInventory } from "../sources/inventory/inventory.ts";

export interface ExtraFlags extends CloudFlags {
  inventory?: string;
  inventoryLabels?: boolean;
  factsDir?: string;
}

export interface Extras {
  facts: Pick<Facts, "cloud" | "inventory" | "dropIns" | "custom" | "problems">;
  vitals: Pick<Vitals, "remainingSeconds">;
}

export const FACTS_FOLDER = "/etc/rollcall/facts.d";
const DROP_IN_DEADLINE_MS = 10_000;

/** Returns a getter of cloud, hardware and drop-in facts ("wait": reads them first). Throws with the flag to change. */
export function machineExtras(
  flags: ExtraFlags,
  intervalMs: number, // typically nodeStatusUpdateFrequency
  warn: Warn,
  note?: Note,
  detectors: ProblemDetectors | null = null,
): (wait?: "wait") => Promise<Extras> {
  const cloud = machineCloud(flags, intervalMs, warn);
  const look = machineInventory(flags, warn);
  const folder = flags.factsDir ?? FACTS_FOLDER;
  const dropInsOf = dropInFolder({
    folder,
    run: runChild,
    deadlineMs: DROP_IN_DEADLINE_MS,
    wallMs,
    nowMs: monotonicMs,
    ...(detectors && { others: detectors.dropIns }),
  });
  if (cloud) note?.("/cloud", cloud.where);
  note?.("/inventory", look ? "systeminformation, in a process of its own" : "--inventory off");
  note?.("/dropIns", folder);
  note?.("/custom", folder);
  return async (wait) => {
    const metadata = await cloud?.read();
    const inventory = look === null ? null : await look(wait === "wait");
    const { dropIns, custom, remainingSeconds } = await dropInsOf(wait === "wait");
    const problems = detectors?.facts();
    return {
      facts: {
        ...(metadata && { cloud: metadata }),
        ...(inventory !== undefined && { inventory }),
        ...(dropIns !== undefined && { dropIns }),
        ...(custom && { custom }),
        ...(problems && { problems }),
      },
      vitals: remainingSeconds ? { remainingSeconds } : {},
    };
  };
}

/** Returns the problem detectors; null without their files. */
export function machineDetectors(
  paths: readonly string[],
  state: string | undefined, // the state folder; undefined for a command that does not run
  warn: Warn,
): ProblemDetectors | null {
  if (paths.length === 0) return null;
  const warnOf = (message: string) => warn("problem detectors", message);
  return problemDetectors({
    paths,
    nowMs: monotonicMs,
    cpuMs,
    wallMs,
    uptimeMs: () => uptime() * 1000,
    firstProcessMs: () => valueOr(firstProcessMs("/"), 0),
    run: programText,
    runForCode,
    pause: (ms, signal) => pause(ms, { signal, ref: false }),
    store: state === undefined ? null : problemStore(state, valueOr(bootID("/"), ""), wallMs, warnOf),
    warn,
  });
}

/** Returns the reader of the hardware inventory; null if the flags turn it off. */
function machineInventory({ inventory = "on", inventoryLabels }: ExtraFlags, warn: Warn) {
  if (!["on", "off", "serials"].includes(inventory))
    throw new Error(`--inventory ${inventory}: must be on, off or serials`);
  if (inventory === "off" && inventoryLabels)
    throw new Error("--inventory-labels: needs an inventory; drop --inventory off");
  if (inventory === "off") return null;
  const withSerials = inventory === "serials";
  return keptInventory({ read: () => hardware(withSerials, runChild), nowMs: monotonicMs, warn });
}
