// What the shim weighs, as it is installed and with a containerd, on each Node.js of this machine; and a kubelet in the
// same minutes, where KUBEBUILDER_ASSETS holds one: what is promised is promised beside it.
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Containerd, containerd } from "../node-shim/sources/cri/containerd.ts";
import { nodes } from "../node-shim/nodes.ts";
import { missingForKubelet, startRealKubelet } from "../kubelet/real-kubelet.ts";
import type { Benchmark, Progress } from "./benchmark.ts";
import { type LocalFleet, withLocalFleet } from "./local-fleet.ts";
import { once } from "./once.ts";
import { weigh, type Weight } from "./process-weight.ts";
import { ROOT } from "./workerd.ts";

const KUBELET = "kubelet";
const ASSETS = process.env["KUBEBUILDER_ASSETS"] ?? "";
const hasKubelet = missingForKubelet(ASSETS) === null;

const shims = nodes().map(([version, program]) => {
  const major = /\d+/.exec(version)?.[0] ?? version;
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

async function weighBesideKubelet(progress: Progress, minutes: number): Promise<Map<string, Weight>> {
  const folder = mkdtempSync(join(tmpdir(), "rollcall-weight-"));
  progress("starting a kubelet");
  const kubelet = await startRealKubelet({ assets: ASSETS, folder, flags: [] });
  try {
    return await withLocalFleet(async (fleet) => {
      const pids = await startShims(fleet, kubelet.runtime);
      return weigh(pids.set(KUBELET, kubelet.pid), minutes, progress);
    });
  } finally {
    await kubelet.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function weighAlone(progress: Progress, minutes: number): Promise<Map<string, Weight>> {
  const runtime = containerd();
  try {
    runtime.network(true);
    await runtime.start();
    return await withLocalFleet(async (fleet) => weigh(await startShims(fleet, runtime), minutes, progress));
  } finally {
    await runtime.remove();
  }
}

const weights = once(hasKubelet ? weighBesideKubelet : weighAlone);

type Row = Pick<Benchmark, "name" | "what" | "unit" | "budget"> & {
  read: (weightOf: (name: string) => Weight) => number;
};

function shimRows({ name, major }: { name: string; major: string }): Row[] {
  const who = `shim on Node.js ${major}`;
  const ratio = (what: "resident" | "cpu") => (weightOf: (name: string) => Weight) =>
    weightOf(name)[what] / weightOf(KUBELET)[what];
  return [
    {
      name: `${name}-anonymous`,
      what: `${who}: anonymous memory`,
      unit: "MiB",
      budget: 22,
      read: (weightOf) => weightOf(name).anonymous,
    },
    {
      name: `${name}-growth`,
      what: `${who}: growth of it`,
      unit: "MiB",
      budget: 1,
      read: (weightOf) => weightOf(name).growth,
    },
    {
      name: `${name}-resident`,
      what: `${who}: resident memory`,
      unit: "MiB",
      budget: null,
      read: (weightOf) => weightOf(name).resident,
    },
    {
      name: `${name}-cpu`,
      what: `${who}: CPU`,
      unit: "% of a core",
      budget: null,
      read: (weightOf) => weightOf(name).cpu,
    },
    ...(hasKubelet
      ? ([
          {
            name: `${name}-resident-ratio`,
            what: `${who}: resident, of a kubelet's`,
            unit: "ratio",
            budget: 0.75,
            read: ratio("resident"),
          },
          {
            name: `${name}-cpu-ratio`,
            what: `${who}: CPU, of a kubelet's`,
            unit: "ratio",
            budget: 0.2,
            read: ratio("cpu"),
          },
        ] as const)
      : []),
  ];
}

const kubeletRows: Row[] = [
  {
    name: "shim-kubelet-resident",
    what: "kubelet beside it: resident memory",
    unit: "MiB",
    budget: null,
    read: (weightOf) => weightOf(KUBELET).resident,
  },
  {
    name: "shim-kubelet-anonymous",
    what: "kubelet beside it: anonymous memory",
    unit: "MiB",
    budget: null,
    read: (weightOf) => weightOf(KUBELET).anonymous,
  },
  {
    name: "shim-kubelet-cpu",
    what: "kubelet beside it: CPU",
    unit: "% of a core",
    budget: null,
    read: (weightOf) => weightOf(KUBELET).cpu,
  },
];

const rows = [...shims.flatMap(shimRows), ...(hasKubelet ? kubeletRows : [])];

export const shimWeights: Benchmark[] = rows.map(({ read, ...row }) => ({
  ...row,
  atLeast: false,
  measure: async (progress, minutes) => {
    const measured = await weights(progress, minutes);
    return read((name) => measured.get(name) as Weight);
  },
}));
