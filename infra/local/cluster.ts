// Starts the parts of the local cluster: apiserver, RBAC and token, Worker, join tokens, shim, simulated machines.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { monotonicMs } from "../../node-shim/base/clock.ts";
import {
  loadConfiguration,
  type LoadedConfiguration,
  readConfiguration,
} from "../../node-shim/config/config.ts";
import { nodeName } from "../../node-shim/machine/settings.ts";
import { countSockets, machineNames, mintPageLink, mintToken } from "./admin.ts";
import { apiFault, type KubeAdmin } from "./kube-admin.ts";
import {
  allowWithoutFactsOnlyTaint,
  applyFile,
  type Cluster,
  workerToken,
  writeKubeconfig,
} from "./kubernetes.ts";
import { type Part, untilReady } from "./parts.ts";
import { freePort } from "./ports.ts";
import { isReady, prepareRealApiserver } from "./real-apiserver.ts";
import { adminSecret, type Place, saveState } from "./settings.ts";
import {
  breakageText,
  leftoverLines,
  leftovers,
  OthersNeedIt,
  plannedLines,
  remove,
  simulatedNames,
} from "./users-cluster.ts";
import { prepareWorker } from "./workerd.ts";

const DEPLOYMENT = "rollcall";

/** Returns true if the shim's configuration replaces the taint, as the local cluster's operator may. */
function replacesTaint({ active }: LoadedConfiguration): boolean {
  return active.registerWithTaints !== null;
}

interface StartedCluster extends Apiserver {
  /** The link to the page, which signs in one browser. */
  page: string;
  /** Returns the number of machines on sockets, or undefined if the Worker does not answer. */
  sockets: () => Promise<number | undefined>;
}

/** Starts all parts, each after the parts that it needs. */
export async function startCluster(place: Place): Promise<StartedCluster> {
  const { flags, progress, folder } = place;
  if (flags.config !== undefined) loadConfiguration(flags.config);
  mkdirSync(join(folder, "logs"), { recursive: true, mode: 0o700 });
  const apiserver = await startApiserver(place);
  if (flags.kubeconfig === undefined) progress(`apiserver ready at ${apiserver.cluster.url}`);
  else await announce(place, apiserver);
  await applyFile(apiserver.cluster, rightsFile(place));
  if (replacesTaint(readConfiguration(flags.config, {})))
    await allowWithoutFactsOnlyTaint(apiserver.cluster.admin, DEPLOYMENT);
  progress("infra/rbac applied");
  const workerUrl = await startWorker(place, apiserver);
  progress(`Worker ready at ${workerUrl}`);
  const { secret } = adminSecret(folder);
  const shim = await startShim(place, workerUrl, secret);
  await untilReported(shim, apiserver.cluster.admin, nodeName(flags));
  progress("shim started");
  if (flags.nodes > 0) {
    await startSimulation(place, workerUrl, secret);
    progress(`${flags.nodes} simulated machines started; ${FAULTS_HINT} ${faultsFile(folder)}`);
  }
  const page = await mintPageLink(workerUrl, secret);
  return { ...apiserver, page, sockets: () => countSockets(workerUrl, secret) };
}

const faultsFile = (folder: string) => join(folder, "simulated", "faults.json");
const FAULTS_HINT = 'to break some, write {"sim-1": "down"} into';

const rightsFile = ({ root }: Place) => join(root, "infra/rbac/rollcall.yaml");

/** Lists the objects that a start puts into the user's own cluster, and asks for confirmation before any change. */
async function announce(place: Place, { cluster: { url, admin } }: Apiserver): Promise<void> {
  const { flags, progress, confirm } = place;
  const objects = await readAt(url, plannedLines(admin, rightsFile(place)));
  const simulated = flags.nodes > 0 ? `, and sim-1 to sim-${flags.nodes},` : "";
  const nodes = `Node ${nodeName(flags)}${simulated} with a lease in kube-node-lease`;
  progress([`Into the cluster at ${url} go:`, ...[...objects, nodes].map((line) => `  ${line}`)].join("\n"));
  const breakage = await breakageText(admin, 1 + flags.nodes);
  if (breakage !== null)
    progress(
      `\n${breakage}\n\`rollcall impact\` lists all effects of the Nodes there, also those that break nothing.\n`,
    );
  await confirm(`${objects.length + 1 + flags.nodes} objects are put into ${url}`);
}

/** Explains a failed read of the user's cluster, before anything is written: the kubeconfig may be wrong. */
async function readAt<T>(url: string, read: Promise<T>): Promise<T> {
  return read.catch((error: unknown) => {
    if (error instanceof OthersNeedIt) throw error;
    const fault = `the cluster at ${url} cannot be read: ${apiFault(error)}`;
    throw new Error(`${fault}; check that apiserver and the kubeconfig's rights`, { cause: error });
  });
}

/** Removes the objects that starts with this state folder have put into the cluster of --kubeconfig. */
export async function removeFromUsersCluster(place: Place): Promise<void> {
  const { flags, folder, progress, confirm } = place;
  const apiserver = await startApiserver(place);
  const { admin, url } = apiserver.cluster;
  const machines = [nodeName(flags), ...simulatedNames(folder)];
  const owner = { deployment: DEPLOYMENT, machines, joined: () => joinedMachines(place, apiserver) };
  const found = await readAt(url, leftovers(admin, rightsFile(place), owner));
  const lines = leftoverLines(found);
  if (found.nodes.length + found.objects.length === 0)
    return progress([`no objects of npm start are at ${url}`, ...lines].join("\n"));
  progress([`From the cluster at ${url} go:`, ...lines.map((line) => `  ${line}`)].join("\n"));
  await confirm(`${found.nodes.length + found.objects.length} objects are removed from ${url}`);
  await remove(admin, found, (what) => progress(`removed ${what}`));
  const boxes = found.nodes.filter((name) => !machines.includes(name));
  if (boxes.length > 0)
    progress(
      `On ${boxes.join(", ")}: end the shim, with \`node-shim uninstall-service\` if it is a service.`,
    );
}

/** Returns the names of all machines of the state folder's Worker, which runs only for this question. */
async function joinedMachines(place: Place, apiserver: Apiserver): Promise<string[]> {
  const { folder, parts, progress } = place;
  if (!existsSync(join(folder, "worker/objects"))) return [];
  progress(
    "The cluster has Nodes of other machines. The Worker starts, to list the machines that joined it.",
  );
  const url = await startWorker(place, apiserver);
  try {
    return await machineNames(url, adminSecret(folder).secret);
  } finally {
    // A running Worker would create the Node of a machine that reports again.
    await parts.stop();
  }
}

/** Milliseconds until workerd is killed: it would wait until other computers' machines and pages close their sockets. */
const WORKER_GRACE_MS = 500;

async function startWorker(place: Place, { cluster }: Apiserver): Promise<string> {
  const { folder, root, flags, state, parts } = place;
  const port = await freePort("--worker-port", flags.workerPort, state.workerPort);
  state.workerPort = port;
  saveState(folder, state);
  const command = await prepareWorker({
    folder: join(folder, "worker"),
    root,
    port,
    deployment: DEPLOYMENT,
    kubeUrl: cluster.url,
    kubeCa: cluster.ca,
    kubeServerName: cluster.serverName,
    kubeToken: await workerToken(cluster.admin),
    macKeys: state.macKeys,
    adminSecretSha256: adminSecret(folder).sha256,
  });
  const part = parts.start("worker", command, join(folder, "logs/worker.log"), WORKER_GRACE_MS);
  const url = `http://127.0.0.1:${port}`;
  await untilReady(part, async () => (await fetch(`${url}/livez`)).ok);
  return url;
}

/** Returns a command that runs this Node.js with `words`, and with those flags that have a value. */
function nodeCommand(words: string[], flags: Record<string, string | undefined>): string[] {
  const given = Object.entries(flags).flatMap(([name, value]) =>
    value === undefined ? [] : [`--${name}`, value],
  );
  return [process.execPath, ...words, ...given];
}

async function startShim(place: Place, workerUrl: string, secret: string): Promise<Part> {
  const { root, flags } = place;
  // The join token must allow the shim to replace the taint if the shim's configuration does so.
  const withoutFactsOnlyTaint = replacesTaint(readConfiguration(flags.config, {}));
  const token = await mintToken(workerUrl, secret, {
    names: nodeName(flags),
    uses: 1,
    withoutFactsOnlyTaint,
  });
  const words = [join(root, "node-shim/bin/node-shim.cjs"), "run"];
  return startMachines(place, "shim", words, {
    workerUrl,
    token,
    config: flags.config && resolve(flags.config),
    "hostname-override": flags.hostnameOverride,
  });
}

/** Milliseconds that a start waits for this machine's Node. The table then shows a Node that comes later. */
const FIRST_NODE_MS = 10_000;

/** Waits for this machine's Node. Throws with a line of the log if the shim ends before. */
async function untilReported(shim: Part, admin: KubeAdmin, name: string): Promise<void> {
  const giveUpAt = monotonicMs() + FIRST_NODE_MS;
  const isThere = async () => {
    if (monotonicMs() >= giveUpAt) return true;
    await admin({ method: "GET", path: `/api/v1/nodes/${name}` });
    return true;
  };
  await untilReady(shim, isThere);
}

async function startSimulation(place: Place, workerUrl: string, secret: string): Promise<void> {
  const { root, flags } = place;
  // Each machine has two uses: with the fault "another asks", another machine enrols with the same name.
  const wish = { names: "sim-*", uses: 2 * flags.nodes, withoutFactsOnlyTaint: false };
  const token = await mintToken(workerUrl, secret, wish);
  const words = [join(root, "infra/local/simulate.ts")];
  startMachines(place, "simulated", words, { workerUrl, token, nodes: String(flags.nodes) });
}

interface MachinesFlags {
  workerUrl: string;
  token: string;
  config?: string | undefined;
  "hostname-override"?: string | undefined;
  nodes?: string;
}

/** Starts a process of machines with this name. Their state is in the folder `name`; the machines enrol with the token. */
function startMachines(
  { folder, flags, parts }: Place,
  name: string,
  words: string[],
  { workerUrl: url, token, ...more }: MachinesFlags,
): Part {
  const state = join(folder, name);
  const tokenFile = join(state, "join-token");
  mkdirSync(state, { recursive: true, mode: 0o700 });
  writeFileSync(tokenFile, `${token}\n`, { mode: 0o600 });
  const given = { url, state, "join-token-file": tokenFile, ...more, transport: flags.transport };
  return parts.start(name, nodeCommand(words, given), join(folder, `logs/${name}.log`));
}

export interface Apiserver {
  cluster: Cluster;
  /** The path of the kubeconfig, for kubectl. */
  kubeconfig: string;
}

export async function startApiserver(place: Place): Promise<Apiserver> {
  const { flags, folder, state } = place;
  if (flags.kubeconfig !== undefined) {
    // kubeconfig.ts is loaded on demand, because its Kubernetes client takes half a second to load.
    const { readKubeconfig } = await import("./kubeconfig.ts");
    return { cluster: readKubeconfig(flags.kubeconfig), kubeconfig: flags.kubeconfig };
  }
  const port = await freePort("--apiserver-port", flags.apiserverPort, state.apiserverPort);
  state.apiserverPort = port;
  saveState(folder, state);
  const assets = process.env["KUBEBUILDER_ASSETS"];
  const { caFile, tokenFile } = assets
    ? await startReal(place, port, assets)
    : await startEmbedded(place, port);
  const kubeconfig = join(folder, "kubeconfig");
  const url = `https://127.0.0.1:${port}`;
  const token = readFileSync(tokenFile, "utf8").trim();
  return { cluster: writeKubeconfig(kubeconfig, url, readFileSync(caFile, "utf8"), token), kubeconfig };
}

interface Credentials {
  caFile: string;
  tokenFile: string;
}

async function startEmbedded({ folder, root, parts }: Place, port: number): Promise<Credentials> {
  const data = join(folder, "apiserver");
  const command = nodeCommand([join(root, "infra/local/apiserver/main.ts")], { port: String(port), data });
  const part = parts.start("apiserver", command, join(folder, "logs/apiserver.log"));
  await untilReady(part, () => isReady(`https://127.0.0.1:${port}`));
  return { caFile: join(data, "ca.crt"), tokenFile: join(data, "admin-token") };
}

const PROGRAMS = ["etcd", "kube-apiserver"];
const CONTROLLER_MANAGER = "kube-controller-manager";

async function startReal(place: Place, port: number, assets: string): Promise<Credentials> {
  const missing = PROGRAMS.filter((program) => !existsSync(join(assets, program)));
  if (missing.length > 0) {
    throw new Error(
      `KUBEBUILDER_ASSETS: ${assets} has no ${missing.join(" and no ")}. Unset it for the embedded apiserver, ` +
        "or name a folder that has both (setup-envtest makes one)",
    );
  }
  const { folder, parts } = place;
  const { url, caFile, tokenFile, commands } = await prepareRealApiserver({
    dir: join(folder, "kube-apiserver"),
    assets,
    port,
  });
  const logs = join(folder, "logs");
  const { etcd, kubeApiserver } = commands;
  parts.start(etcd.name, [etcd.program, ...etcd.args], join(logs, "etcd.log"));
  const part = parts.start(
    kubeApiserver.name,
    [kubeApiserver.program, ...kubeApiserver.args],
    join(logs, "kube-apiserver.log"),
  );
  await untilReady(part, () => isReady(url));
  startControllers(place, assets, { url, caFile, tokenFile });
  return { caFile, tokenFile };
}

/** Starts kube-controller-manager, which setup-envtest does not install, if `assets` has the program. */
function startControllers(
  { folder, parts, progress }: Place,
  assets: string,
  { url, caFile, tokenFile }: Credentials & { url: string },
): void {
  const program = join(assets, CONTROLLER_MANAGER);
  if (!existsSync(program)) {
    progress(
      `${assets} has no ${CONTROLLER_MANAGER}: the Node of a machine that falls silent stays Ready, and its lease and ` +
        "events are not collected",
    );
    return;
  }
  const dir = join(folder, "kube-apiserver");
  const kubeconfig = join(dir, "controller-manager.kubeconfig");
  writeKubeconfig(kubeconfig, url, readFileSync(caFile, "utf8"), readFileSync(tokenFile, "utf8").trim());
  const flags = {
    kubeconfig,
    "root-ca-file": caFile,
    "service-account-private-key-file": join(dir, "service-account.key"),
    "leader-elect": "false",
    "secure-port": "0",
  };
  const command = [program, ...Object.entries(flags).map(([flag, value]) => `--${flag}=${value}`)];
  parts.start(CONTROLLER_MANAGER, command, join(folder, "logs", `${CONTROLLER_MANAGER}.log`));
  progress(`${CONTROLLER_MANAGER} started`);
}
