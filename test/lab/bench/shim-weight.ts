// Measures memory and CPU time of the installed shim with a containerd, on each Node.js of this computer. In the
// same minutes it measures a shim without a socket and, if there is one, a kubelet.
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { QUESTION_NAMES } from "../../../shared/protocol/questions.ts";
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
/** The flags of the shims that are compared. Two are equal: their difference is the noise of the measurement. */
const FLAGS = {
  auto: [],
  again: [],
  http: ["--transport", "http"],
  questions: ["--questions", QUESTION_NAMES.join(",")],
} as const;

type Choice = keyof typeof FLAGS;
// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- These are the keys of the table.
const CHOICES = Object.keys(FLAGS) as Choice[];

const majors = nodes().map(([version, program]) => ({ major: majorOf(version), program }));
const shims = majors.flatMap(({ major, program }) =>
  CHOICES.map((choice) => ({ name: nameOf(major, choice), choice, program })),
);

function nameOf(major: string, choice: Choice): string {
  return `shim-${major}-${choice}`;
}

/** Returns the environment that the systemd unit gives to every shim that runs as a service. */
function unitEnvironment(): string[] {
  const unit = readFileSync(join(ROOT, "infra/systemd/rollcall-node-shim.service"), "utf8");
  return [...unit.matchAll(/^Environment=(.+)$/gm)].map(([, setting = ""]) => setting);
}

async function startShims(fleet: LocalFleet, { socketPath }: Containerd): Promise<Map<string, number>> {
  const token = await fleet.joinTokenFile("shim-*", shims.length);
  const started = shims.map(({ name, choice, program }): [string, number] => {
    const state = join(fleet.folder, name);
    mkdirSync(state, { mode: 0o700 });
    const command = ["env", ...unitEnvironment(), program, join(ROOT, "node-shim/bin/node-shim.cjs"), "run"];
    command.push("--url", fleet.workerUrl, "--state", state, "--join-token-file", token);
    command.push("--hostname-override", name, "--container-runtime-endpoint", `unix://${socketPath}`);
    command.push(...FLAGS[choice]);
    const part = fleet.parts.start(name, command, join(fleet.folder, `${name}.log`));
    return [name, part.process.pid as number];
  });
  return new Map(started);
}

/** Throws unless each shim uses its transport. Without this check, two shims of the same kind could be compared. */
function expectSockets({ folder }: LocalFleet): void {
  for (const { name, choice } of shims) {
    const { transport: used } = JSON.parse(
      readFileSync(statusPath(join(folder, name), {}), "utf8"),
    ) as StatusFile;
    const expected = choice === "http" ? "http" : "socket";
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
  again: Weight;
  questions: Weight;
  kubelet: Weight | undefined;
}

const ROWS: [general: string, round: (weighed: Weighed) => Round][] = [
  ["shim-resident", besideKubelet("resident")],
  ["shim-anonymous", besideKubelet("anonymous")],
  ["shim-growth", ({ ours }) => ({ ours: ours.growth })],
  ["shim-cpu", besideKubelet("cpu")],
  ["shim-socket-anonymous", ({ ours, http }) => ({ ours: ours.anonymous - http.anonymous })],
  ["shim-socket-cpu", ({ ours, http }) => ({ ours: ours.cpu, yardstick: http.cpu })],
  ["shim-questions-anonymous", ({ ours, questions }) => ({ ours: questions.anonymous - ours.anonymous })],
  ["shim-questions-cpu", ({ ours, questions }) => ({ ours: questions.cpu - ours.cpu })],
  ["shim-noise-anonymous", ({ ours, again }) => ({ ours: Math.abs(again.anonymous - ours.anonymous) })],
  ["shim-noise-cpu", ({ ours, again }) => ({ ours: Math.abs(again.cpu - ours.cpu) })],
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
      const of = (choice: Choice) => measured.get(nameOf(major, choice));
      const [ours, http, again, questions] = [of("auto"), of("http"), of("again"), of("questions")];
      if (!ours || !http || !again || !questions) throw new Error("a shim was not weighed");
      return [round({ ours, http, again, questions, kubelet: measured.get(KUBELET) })];
    };
    return { ...shimBudgetOf(general, major), measure };
  }),
);
