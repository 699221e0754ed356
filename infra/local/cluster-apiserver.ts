// The apiserver of the local cluster: the embedded one, a real etcd + kube-apiserver, or one that exists already.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isReady, prepareRealApiserver } from "./real-apiserver.ts";
import { type Cluster, writeKubeconfig } from "./kubernetes.ts";
import { untilReady } from "./parts.ts";
import type { Place } from "./place.ts";
import { freePort } from "./ports.ts";
import { saveState } from "./settings.ts";

export interface Apiserver {
  cluster: Cluster;
  /** For kubectl. */
  kubeconfig: string;
}

export async function startApiserver(place: Place): Promise<Apiserver> {
  const { flags, folder, state } = place;
  if (flags.kubeconfig !== undefined) {
    // Its client takes half a second to load, which no other start has to wait for.
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
  const command = [
    process.execPath,
    join(root, "infra/local/apiserver/main.ts"),
    "--port",
    String(port),
    "--data",
    data,
  ];
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

/** What marks silent Nodes Unknown, taints them, and collects what they leave. setup-envtest does not bring it. */
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
