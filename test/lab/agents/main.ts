// Measures what nfd-worker and node-problem-detector cost on a machine, next to the shim with and without the same work, in
// the same minutes (`npm run compare-agents`): at rest, while a log grows by 100 lines a second, and while some of these
// are problems. Needs Go, root and KUBEBUILDER_ASSETS.
import { execFileSync } from "node:child_process";
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { buildProgram, programOf, programVersion, sourcesOf } from "../../neighbours/programs.ts";
import { type LocalFleet, nodesOf, readyOf, until, withLocalFleet } from "../bench/local-fleet.ts";
import { weigh } from "../bench/process-weight.ts";
import { ROOT } from "../bench/workerd.ts";
import { linesPerSecond } from "./lines.ts";
import { agentsTable, type Measured } from "./table.ts";

const HELP = `npm run compare-agents [-- --minutes N]: what node-feature-discovery's and node-problem-detector's agents cost
on a machine, next to the shim. Takes three times the minutes (default: 3) and four more.
`;
const NODE = "agents";
const PROBLEM_EVERY_S = 30;
const NAMESPACE = "node-feature-discovery";
/** The time in which the shims have registered, and in which the detectors' conditions are on their Nodes. */
const WITHIN_MS = 120_000;

async function compare(minutes: number): Promise<void> {
  if (!process.env["KUBEBUILDER_ASSETS"])
    throw new Error("set KUBEBUILDER_ASSETS to a folder with etcd, kube-apiserver and kubectl");
  for (const name of ["nfd-worker", "nodeproblemdetector"] as const) {
    const fault = buildProgram(name);
    if (fault !== null) throw new Error(`${name} cannot be built: ${fault}`);
  }
  // The shim reads only configurations whose folders belong to root and that no other user may change.
  const folder = mkdtempSync(join(homedir(), ".rollcall-agents-"));
  try {
    process.stdout.write(agentsTable(await withLocalFleet((fleet) => measure(fleet, folder, minutes))));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function measure(fleet: LocalFleet, folder: string, minutes: number): Promise<Measured> {
  const log = join(folder, "kern.log");
  writeFileSync(log, "");
  const configuration = monitorOf(folder, log);
  const pids = new Map([
    ...startAgents(fleet, folder, configuration),
    ...(await startShims(fleet, folder, configuration)),
  ]);
  await until("the shims' Nodes", async () => (await readyNodes(fleet)).length >= 4, 1000, WITHIN_MS);
  const rest = await weigh(pids, minutes, progress("at rest"));
  let seconds = 0;
  let hasProblems = false;
  const append = () =>
    appendFileSync(log, linesPerSecond(new Date(), hasProblems && seconds++ % PROBLEM_EVERY_S === 0));
  const writing = setInterval(append, 1000);
  try {
    const busy = await weigh(pids, minutes, progress("100 lines a second"));
    hasProblems = true;
    const ill = await weigh(pids, minutes, progress(`and a problem every ${PROBLEM_EVERY_S} s`));
    await until(
      "all detectors' conditions",
      async () => (await deadlocked(fleet)).length >= 3,
      1000,
      WITHIN_MS,
    );
    return { rest, busy, ill };
  } finally {
    clearInterval(writing);
  }
}

const progress = (what: string) => (text: string) => void process.stderr.write(`${what}: ${text}\n`);

/** Writes NPD's own configuration for the kernel's messages in a file, for this log. Returns its path. */
function monitorOf(folder: string, logPath: string): string {
  const source = join(sourcesOf("nodeproblemdetector"), "config/kernel-monitor-filelog.json");
  const file = join(folder, "kernel-monitor-filelog.json");
  const text = readFileSync(source, "utf8");
  writeFileSync(file, JSON.stringify({ ...(JSON.parse(text) as object), logPath }), { mode: 0o600 });
  return file;
}

function startAgents(fleet: LocalFleet, folder: string, configuration: string): [string, number][] {
  const kubeconfig = join(folder, "kubeconfig");
  writeFileSync(kubeconfig, fleet.admin.exportConfig(), { mode: 0o600 });
  const kubectl = (args: readonly string[], input?: string) =>
    execFileSync(
      join(process.env["KUBEBUILDER_ASSETS"] ?? "", "kubectl"),
      ["--kubeconfig", kubeconfig, ...args],
      {
        ...(input !== undefined && { input }),
      },
    );
  kubectl(
    ["create", "-f", "-"],
    JSON.stringify({ apiVersion: "v1", kind: "Node", metadata: { name: NODE } }),
  );
  kubectl(["create", "namespace", NAMESPACE]);
  const definitions = join(sourcesOf("nfd-worker"), "deployment/base/nfd-crds/nfd-api-crds.yaml");
  kubectl(["apply", "--server-side", "-f", definitions]);
  kubectl(["wait", "--for=condition=Established", "crd/nodefeatures.nfd.k8s-sigs.io"]);
  const nfd = ["env", `NODE_NAME=${NODE}`, `KUBERNETES_NAMESPACE=${NAMESPACE}`, programOf("nfd-worker")];
  nfd.push("-kubeconfig", kubeconfig, "-port", "0");
  const server = fleet.admin.getCurrentCluster()?.server;
  const npd = [programOf("nodeproblemdetector"), `--config.system-log-monitor=${configuration}`];
  npd.push(`--apiserver-override=${server}?inClusterConfig=false&auth=${kubeconfig}`);
  npd.push(`--hostname-override=${NODE}`, "--port=0", "--prometheus-port=0");
  return [
    started(fleet, `nfd-worker ${programVersion("nfd-worker")}`, nfd),
    started(fleet, `node-problem-detector ${programVersion("nodeproblemdetector")}`, npd),
  ];
}

async function startShims(
  fleet: LocalFleet,
  folder: string,
  configuration: string,
): Promise<[string, number][]> {
  const features = ["--features", "all"];
  const problems = ["--problem-detectors", configuration];
  const token = await fleet.joinTokenFile("shim-*", 4);
  const kinds: [what: string, flags: string[]][] = [
    ["the shim", []],
    ["the shim with features", features],
    ["the shim with problem detectors", problems],
    ["the shim with both", [...features, ...problems]],
  ];
  return kinds.map(([what, flags], at) => {
    const state = join(folder, `shim-${at}`);
    mkdirSync(state, { mode: 0o700 });
    const program = join(ROOT, "node-shim/bin/node-shim.cjs");
    const command = ["env", ...unitEnvironment(), process.execPath, program, "run", "--url", fleet.workerUrl];
    command.push("--state", state, "--join-token-file", token, "--hostname-override", `shim-${at}`, ...flags);
    return started(fleet, what, command);
  });
}

/** Returns the environment that the systemd unit gives to every shim that runs as a service. */
function unitEnvironment(): string[] {
  const unit = readFileSync(join(ROOT, "infra/systemd/rollcall-node-shim.service"), "utf8");
  return [...unit.matchAll(/^Environment=(.+)$/gm)].map(([, setting = ""]) => setting);
}

function started({ parts, folder }: LocalFleet, name: string, command: string[]): [string, number] {
  const log = join(folder, `${name.replaceAll(" ", "-")}.log`);
  const { pid } = parts.start(name, command, log).process;
  if (pid === undefined) throw new Error(`${name} did not start`);
  return [name, pid];
}

const readyNodes = async ({ admin }: LocalFleet) =>
  (await nodesOf(admin)).filter((node) => readyOf(node) !== "");

/** Returns the Nodes whose condition shows that a detector has read the log. */
const deadlocked = async ({ admin }: LocalFleet) =>
  (await nodesOf(admin)).filter(({ status }) =>
    status?.conditions?.some(({ type, status: is }) => type === "KernelDeadlock" && is === "True"),
  );

const { values } = parseArgs({
  options: { minutes: { type: "string", default: "3" }, help: { type: "boolean" } },
});
if (values.help) process.stdout.write(HELP);
else await compare(Number(values.minutes));
