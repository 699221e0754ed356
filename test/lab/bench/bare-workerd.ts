// Runs bare-worker.ts in a workerd of its own with our configuration. It is the yardstick of heartbeats by HTTP and by
// sockets, and of enrolments.
// oxlint-disable-next-line typescript/triple-slash-reference -- an ambient declaration is no module to import
/// <reference path="../../../infra/local/workerd-package.d.ts" />
import { randomBytes } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import workerd from "workerd";
import { freePort } from "../../../infra/local/ports.ts";
import { machineFacts, machineVitals, registeredNode } from "./machine.ts";
import { cpuMicrosecondsOf } from "./process-weight.ts";
import { bundle, type KubeAddress, ROOT, type RunningWorker, startWorkerd } from "./workerd.ts";

const ENTRY = fileURLToPath(new URL("bare-worker.ts", import.meta.url));

/** Starts the bare Worker. Its join token is any text of the right form: the bare Worker does not check it. */
export async function startBareWorker(kube: KubeAddress): Promise<RunningWorker> {
  const folder = mkdtempSync(join(tmpdir(), "rollcall-bench-"));
  const port = await freePort();
  mkdirSync(join(folder, "objects"));
  await bundle(ENTRY, join(folder, "worker.js"));
  const { node } = registeredNode(machineFacts(), machineVitals(0));
  const { uid: _, resourceVersion: __, managedFields: ___, ...metadata } = node.metadata ?? {};
  const file = join(folder, "workerd.capnp");
  const variables = { ORIGIN: `http://127.0.0.1:${port}`, KUBE_URL: kube.url, KUBE_TOKEN: kube.token };
  const bindings = { ...variables, NODE: JSON.stringify({ ...node, metadata }) };
  writeFileSync(file, bareCapnp(folder, port, new URL(kube.url).host, bindings), { mode: 0o600 });
  const { pid, url, stop } = await startWorkerd(folder, [workerd.default, "serve", file], port);
  const joinToken = `rcj1_${randomBytes(32).toString("base64url")}`;
  return { url, joinToken, cpuMicroseconds: () => cpuMicrosecondsOf(pid), stop };
}

function bareCapnp(folder: string, port: number, kube: string, texts: Record<string, string>): string {
  const text = (value: string) => JSON.stringify(value);
  const bindings = Object.entries(texts).map(
    ([name, value]) => `(name = ${text(name)}, text = ${text(value)}),\n    `,
  );
  return `using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [
    (name = "worker", worker = .worker),
    (name = "kube", external = (address = ${text(kube)}, http = ())),
    (name = "objects", disk = (path = ${text(join(folder, "objects"))}, writable = true)),
  ],
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "worker")],
);

const worker :Workerd.Worker = (
  modules = [(name = "worker.js", esModule = embed "worker.js")],
  compatibilityDate = ${text(compatibilityDate())},
  bindings = [
    ${bindings.join("")}(name = "ROWS", durableObjectNamespace = "RowObject"),
    (name = "GATEWAYS", durableObjectNamespace = "BareGatewayObject"),
    (name = "KUBE", service = "kube"),
  ],
  durableObjectNamespaces = [
    (className = "RowObject", uniqueKey = "bare-row", enableSql = true),
    (className = "BareGatewayObject", uniqueKey = "bare-gateway", enableSql = true),
  ],
  durableObjectStorage = (localDisk = "objects"),
);
`;
}

function compatibilityDate(): string {
  const toml = readFileSync(join(ROOT, "wrangler.toml"), "utf8");
  return /^compatibility_date = "(.+)"$/m.exec(toml)?.[1] ?? "";
}
