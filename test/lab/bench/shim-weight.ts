// Measures memory and CPU time of the installed shim with a containerd, on each Node.js of this computer. In the
// same minutes it measures a shim without a socket and, if there is one, a kubelet.
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { statusPath, type StatusFile } from "../../../node-shim/status/status-file.ts";
import type { Containerd } from "../../node-shim/sources/cri/containerd.ts";
import { nodes } from "../../runtimes/node-shim/nodes.ts";
import type { Benchmark, Progress, Round } from "./benchmark.ts";
import { majorOf, shimBudgetOf } from "./budgets.ts";
import { withKubelet } from "./kubelet.ts";
import { type LocalFleet, withLocalFleet } from "./local-fleet.ts";
import { once } from "./once.ts";
import { weigh, type Weight } from "./process-weight.ts";
import { ROOT } from "./workerd.ts";

const KUBELET = "kubelet";
const TRANSPORTS = ["auto", "http"] as const;

type Choice = (typeof TRANSPORTS)[number];

const majors = nodes().map(([version, program]) => ({ major: majorOf(version), program }));
const shims = majors.flatMap(({ major, program }) =>
  TRANSPORTS.map((transport) => ({ name: nameOf(major, transport), transport, program })),
);

function nameOf(major: string, transport: Choice): string {
  return `shim-${major}-${transport}`;
}

/** Returns the environment that the systemd unit gives to every shim that runs as a service. */
function unitEnvironment(): string[] {
  const unit = readFileSync(join(ROOT, "infra/systemd/rollcall-node-shim.service"), "utf8");
  return [...unit.matchAll(/^Environment=(.+)$/gm)].map(([, setting = ""]) => setting);
}

async function startShims(fleet: LocalFleet, { socketPath }: Containerd): Promise<Map<string, number>> {
  const token = await fleet.joinTokenFile("shim-*", shims.length);
  const started = shims.map(({ name, transport, program }): [string, number] => {
    const state = join(fleet.folder, name);
    mkdirSync(state, { mode: 0o700 });
    const command = ["env", ...unitEnvironment(), program, join(ROOT, "node-shim/bin/node-shim.cjs"), "run"];
    command.push("--url", fleet.workerUrl, "--state", state, "--join-token-file", token);
    command.push("--hostname-override", name, "--container-runtime-endpoint", `unix://${socketPath}`);
    command.push("--transport", transport);
    const part = fleet.parts.start(name, command, join(fleet.folder, `${name}.log`));
    return [name, part.process.pid as number];
  });
  return new Map(started);
}

/** Throws unless each shim uses its transport. Without this check, two shims of the same kind could be compared. */
function expectSockets({ folder }: LocalFleet): void {
  for (const { name, transport } of shims) {
    const { transport: used } = JSON.parse(
      readFileSync(statusPath(join(folder, name), {}), "utf8"),
    ) as StatusFile;
    const expected = transport === "auto" ? "socket" : "http";
    if (used?.via !== expected) throw new Error(`${name} reports by ${used?.via}: ${used?.fault}`);
  }
}

const weights = once((progress: Progress, minutes: number) =>
  withKubelet(progress, (runtime, kubelet) =>
    withLocalFleet(async (fleet) => {
      const pids = await startShims(fleet, runtime);
      if (kubelet) pids.set(KUBELET, kubelet.pid());
      const weighed = await weigh(pids, minutes, progress);
      expectSockets(fleet);
      return weighed;
    }),
  ),
);

interface Weighed {
  ours: Weight;
  http: Weight;
  kubelet: Weight | undefined;
}

const ROWS: [general: string, round: (weighed: Weighed) => Round][] = [
  ["shim-resident", besideKubelet("resident")],
  ["shim-anonymous", besideKubelet("anonymous")],
  ["shim-growth", ({ ours }) => ({ ours: ours.growth })],
  ["shim-cpu", besideKubelet("cpu")],
  ["shim-socket-anonymous", ({ ours, http }) => ({ ours: ours.anonymous - http.anonymous })],
  ["shim-socket-cpu", ({ ours, http }) => ({ ours: ours.cpu, yardstick: http.cpu })],
];

function besideKubelet(figure: keyof Weight): (weighed: Weighed) => Round {
  return ({ ours, kubelet }) => ({
    ours: ours[figure],
    ...(kubelet && { yardstick: kubelet[figure] }),
  });
}

export const shimWeights: Benchmark[] = majors.flatMap(({ major }) =>
  ROWS.map(([general, round]): Benchmark => {
    const measure: Benchmark["measure"] = async (progress, minutes) => {
      const measured = await weights(progress, minutes);
      const of = (transport: Choice) => measured.get(nameOf(major, transport));
      const [ours, http] = [of("auto"), of("http")];
      if (!ours || !http) throw new Error("a shim was not weighed");
      return [round({ ours, http, kubelet: measured.get(KUBELET) })];
    };
    return { ...shimBudgetOf(general, major), measure };
  }),
);
