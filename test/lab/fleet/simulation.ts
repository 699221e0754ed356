// Starts the process of infra/local/simulate.ts, for any Worker.
import { mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Part, Parts } from "../../../infra/local/parts.ts";
import type { SimulatedFault } from "../../../infra/local/simulated-machine.ts";
import { writeFaults } from "./broken-fleet.ts";

const ROOT = resolve(import.meta.dirname, "../../..");

export interface SimulatedMachines {
  /** The URL of the Worker. */
  worker: string;
  /** The path of a folder that no other process uses. */
  folder: string;
  count: number;
  /** A join token that has twice as many uses as there are machines. */
  joinToken: string;
  /** The text of a KubeletConfiguration. Absent: the kubelet's defaults. */
  config?: string;
}

/** Starts the simulated machines with these faults. */
export function simulation(
  parts: Parts,
  { worker, folder, count, joinToken, config }: SimulatedMachines,
  faults: ReadonlyMap<string, SimulatedFault>,
): Part {
  mkdirSync(folder, { mode: 0o700 });
  writeFaults(folder, faults);
  const tokenFile = join(folder, "join-token");
  writeFileSync(tokenFile, joinToken, { mode: 0o600 });
  const command = [
    process.execPath,
    join(ROOT, "infra/local/simulate.ts"),
    "--url",
    worker,
    "--state",
    folder,
  ];
  command.push("--join-token-file", tokenFile, "--nodes", String(count));
  if (config !== undefined) command.push("--config", config);
  return parts.start("machines", command, join(folder, "../..", "machines.log"));
}
