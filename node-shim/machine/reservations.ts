// Checks once, before the first report, that this machine has what its configuration reserves.
import { machineInfoOf } from "../../shared/from-report/reported-status.ts";
import { pidAvailable } from "../sources/kernel/signals.ts";
import { reservationFault } from "../../shared/from-report/parsed-settings.ts";
import type { FactsOptions } from "./fact-groups.ts";
import { gatherMachine } from "./machine-facts.ts";
import { type MachineFlags, machineSettings } from "./settings.ts";
import { systemSources } from "./system-sources.ts";

/** For this machine, and what its flags and its file reserve. */
export async function requireOwnReservations(flags: MachineFlags): Promise<void> {
  const { rootDir, settings } = machineSettings(flags);
  await requireReservations({ ...systemSources(rootDir), settings });
}

/**
 * As the kubelet's container manager at its start: throws with what to change. What cannot be read is not checked here;
 * gathering warns about it.
 */
export async function requireReservations({
  root,
  settings,
  nodefsPath,
  readFileSystem,
}: Pick<FactsOptions, "root" | "settings" | "nodefsPath" | "readFileSystem">): Promise<void> {
  const machine = await gatherMachine(root, () => undefined);
  if (machine === undefined) return;
  const fileSystem = await readFileSystem(nodefsPath);
  const nodefs = fileSystem.ok ? fileSystem.value.bytes : fileSystem;
  const pids = pidAvailable(root);
  const fault = reservationFault(
    settings,
    machineInfoOf(machine),
    nodefs.ok ? nodefs.value[1] : undefined,
    pids.ok ? pids.value[1] : undefined,
  );
  if (fault !== null)
    throw new Error(`${fault} Change kubeReserved, systemReserved, reservedSystemCPUs or evictionHard.`);
}
