// The apiserver of the local cluster: the embedded one, a real etcd + kube-apiserver, or one that exists already.
import { readFileSync } from "node:fs";
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

async function startReal({ folder, parts }: Place, port: number, assets: string): Promise<Credentials> {
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
  return { caFile, tokenFile };
}
