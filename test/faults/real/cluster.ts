// A real etcd and kube-apiserver, kube-controller-manager where there is one, and `npm start` behind a proxy in which
// a test can have the Worker's requests go wrong.
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, request as httpsRequest } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { KubeConfig } from "@kubernetes/client-node";
import { writeKubeconfig } from "../../../infra/local/kubernetes.ts";
import { loadCredentials } from "../../../infra/local/apiserver/certificates.ts";
import { startRealApiserver } from "../../../infra/local/real-apiserver.ts";
import { adminOf, type Start, startLocal, temporaryFolder } from "../../e2e/local-cluster.ts";
import type { Write } from "../../worker/support/fault.ts";

/** What becomes of a request of the Worker's: it may be changed, or answered in the apiserver's place. */
export interface Asked {
  /** `PUT /apis/…`, without the query. */
  line: string;
  headers: IncomingMessage["headers"];
}
type InBetween = (asked: Asked) => Promise<{ code: number; text: string } | undefined | void>;

export interface Proxy {
  url: string;
  ca: string;
  inBetween: InBetween | undefined;
  /** The Worker's writes that took effect. */
  writes: Write[];
  /** Connections are refused until `accept`. */
  refuse: () => Promise<void>;
  accept: () => Promise<void>;
}

export interface RealCluster {
  /** Past the proxy. */
  admin: KubeConfig;
  proxy: Proxy;
  start: Start;
  stop: () => Promise<void>;
}

/** Fast, so that the tests are; a status is due with every second report. */
const CONFIGURATION = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
nodeStatusUpdateFrequency: 1s
nodeStatusReportFrequency: 2s
nodeLeaseDurationSeconds: 4
`;

export function controllerManagerOf(assets: string): string | undefined {
  const program = join(assets, "kube-controller-manager");
  return existsSync(program) ? program : undefined;
}

export async function startRealCluster(assets: string, simulated: number): Promise<RealCluster> {
  const folder = temporaryFolder();
  const apiserver = await startRealApiserver({ dir: join(folder.path, "kube-apiserver"), assets });
  const ca = readFileSync(apiserver.caFile, "utf8");
  const direct = join(folder.path, "kubeconfig");
  writeKubeconfig(direct, apiserver.url, ca, apiserver.adminToken);
  const proxy = await startProxy(join(folder.path, "proxy"), apiserver.url, ca);
  const proxied = join(folder.path, "proxied");
  writeKubeconfig(proxied, proxy.url, proxy.ca, apiserver.adminToken);
  const configuration = join(folder.path, "kubelet.yaml");
  writeFileSync(configuration, CONFIGURATION);
  const manager = startControllerManager(assets, direct);
  const flags = [
    "--state",
    join(folder.path, "state"),
    "--kubeconfig",
    proxied,
    "--yes",
    "--config",
    configuration,
  ];
  const start = startLocal([...flags, "--nodes", String(simulated)]);
  const stop = async () => {
    start.process.kill("SIGINT");
    await start.ended;
    manager?.kill("SIGKILL");
    await proxy.refuse();
    await apiserver.stop();
    folder.remove();
  };
  return { admin: adminOf(folder.path), proxy, start, stop };
}

function startControllerManager(assets: string, kubeconfig: string): ChildProcess | undefined {
  const program = controllerManagerOf(assets);
  if (program === undefined) return undefined;
  const flags = [
    `--kubeconfig=${kubeconfig}`,
    // A simulated machine reports every 9.4 to 9.8 s: it is the healthy node beside the silent one.
    "--controllers=node-lifecycle-controller,daemonset-controller",
    "--leader-elect=false",
    "--node-monitor-grace-period=15s",
    "--node-monitor-period=1s",
    "--node-startup-grace-period=15s",
    "--secure-port=0",
  ];
  return spawn(program, flags, { stdio: "ignore" });
}

async function startProxy(folder: string, target: string, targetCa: string): Promise<Proxy> {
  const { certificate: cert, key } = await loadCredentials(folder);
  const proxy: Proxy = {
    url: "",
    ca: readFileSync(join(folder, "ca.crt"), "utf8"),
    inBetween: undefined,
    writes: [],
    refuse: () =>
      new Promise<void>((done) => {
        server.close(() => done());
        server.closeAllConnections();
      }),
    accept: () => listen(port),
  };
  const server = createServer({ cert, key }, (incoming, outgoing) => {
    pass(proxy, target, targetCa, incoming, outgoing).catch(() => outgoing.destroy());
  });
  const listen = (on: number) =>
    new Promise<void>((done, failed) => {
      server.once("error", failed).listen(on, "127.0.0.1", done);
    });
  await listen(0);
  const { port } = server.address() as AddressInfo;
  proxy.url = `https://127.0.0.1:${port}`;
  return proxy;
}

async function pass(
  proxy: Proxy,
  target: string,
  ca: string,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const { method = "GET", url = "/" } = incoming;
  const body = Buffer.concat((await incoming.toArray()) as Buffer[]);
  const headers = { ...incoming.headers };
  const line = `${method} ${url.split("?")[0]}`;
  const isWorker = headers["user-agent"] === "rollcall";
  const instead = isWorker ? await proxy.inBetween?.({ line, headers }) : undefined;
  if (instead) {
    outgoing.writeHead(instead.code, { "content-type": "application/json" }).end(instead.text);
    return;
  }
  const answer = await new Promise<IncomingMessage>((answered, failed) => {
    httpsRequest(target + url, { method, headers, ca }, answered)
      .on("error", failed)
      .end(body);
  });
  const { statusCode = 502 } = answer;
  if (!isWorker) {
    outgoing.writeHead(statusCode, answer.headers);
    outgoing.flushHeaders();
    answer.pipe(outgoing);
    return;
  }
  const text = Buffer.concat((await answer.toArray()) as Buffer[]).toString();
  if (method !== "GET" && statusCode < 300)
    proxy.writes.push({ request: line, object: JSON.parse(text) as Write["object"] });
  outgoing.writeHead(statusCode, { "content-type": "application/json" }).end(text);
}
