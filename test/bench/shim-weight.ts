// What the shim weighs, as it is installed and with a containerd, on each Node.js of this machine; beside a kubelet in the
// same minutes, where there is one.
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Containerd } from "../node-shim/sources/cri/containerd.ts";
import { nodes } from "../node-shim/nodes.ts";
import type { Benchmark, Progress } from "./benchmark.ts";
import { majorOf, shimBudgetOf } from "./budgets.ts";
import { withKubelet } from "./kubelet.ts";
import { type LocalFleet, withLocalFleet } from "./local-fleet.ts";
import { once } from "./once.ts";
import { weigh, type Weight } from "./process-weight.ts";
import { ROOT } from "./workerd.ts";

const KUBELET = "kubelet";

const shims = nodes().map(([version, program]) => {
  const major = majorOf(version);
  return { name: `shim-${major}`, major, program };
});

/** What the unit sets for every shim that runs as a service. */
function unitEnvironment(): string[] {
  const unit = readFileSync(join(ROOT, "infra/systemd/rollcall-node-shim.service"), "utf8");
  return [...unit.matchAll(/^Environment=(.+)$/gm)].map(([, setting = ""]) => setting);
}

async function startShims(fleet: LocalFleet, { socketPath }: Containerd): Promise<Map<string, number>> {
  const token = await fleet.joinTokenFile("shim-*", shims.length);
  const started = shims.map(({ name, program }): [string, number] => {
    const state = join(fleet.folder, name);
    mkdirSync(state, { mode: 0o700 });
    const command = ["env", ...unitEnvironment(), program, join(ROOT, "node-shim/bin/node-shim.cjs"), "run"];
    command.push("--url", fleet.workerUrl, "--state", state, "--join-token-file", token);
    command.push("--hostname-override", name, "--container-runtime-endpoint", `unix://${socketPath}`);
    const part = fleet.parts.start(name, command, join(fleet.folder, `${name}.log`));
    return [name, part.process.pid as number];
  });
  return new Map(started);
}

const weights = once((progress: Progress, minutes: number) =>
  withKubelet(progress, (runtime, kubelet) =>
    withLocalFleet(async (fleet) => {
      const pids = await startShims(fleet, runtime);
      if (kubelet) pids.set(KUBELET, kubelet.pid());
      return weigh(pids, minutes, progress);
    }),
  ),
);

const ROWS: [general: string, figure: keyof Weight][] = [
  ["shim-resident", "resident"],
  ["shim-anonymous", "anonymous"],
  ["shim-growth", "growth"],
  ["shim-cpu", "cpu"],
];

export const shimWeights: Benchmark[] = shims.flatMap(({ name, major }) =>
  ROWS.map(([general, figure]): Benchmark => {
    const budget = shimBudgetOf(general, major);
    const measure: Benchmark["measure"] = async (progress, minutes) => {
      const measured = await weights(progress, minutes);
      const ours = measured.get(name)?.[figure] ?? Number.NaN;
      const yardstick = budget.against && measured.get(KUBELET)?.[figure];
      return [{ ours, ...(yardstick !== undefined && { yardstick }) }];
    };
    return { ...budget, measure };
  }),
);
