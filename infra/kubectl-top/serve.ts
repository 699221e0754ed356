// Runs the adapter: an HTTPS server with a certificate from files, the authority of the front proxy from the apiserver,
// and the usage from the Worker. Certificates and authority are read again every minute, since both are replaced.
import { constants } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { createServer, type Server, type ServerOptions } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { TLSSocket } from "node:tls";
import { every, monotonicMs, wallMs } from "../../node-shim/base/clock.ts";
import { faultOf } from "../../node-shim/base/fault.ts";
import { type UsageAnswer, usageSchema } from "../../shared/protocol/fleet-answers.ts";
import { failure, type Result, success } from "../../shared/result.ts";
import { ask, readAnswer, type WorkerConnection } from "../operator/client.ts";
import { Adapter } from "./adapter.ts";
import { ClusterServer } from "./cluster-server.ts";

export interface AdapterOptions {
  port: number;
  /** The folder with the server's `tls.crt` and `tls.key`. */
  tls: string;
  /** The apiserver's origin. */
  apiserver: string;
  /** The folder of the account's `token` and of the cluster's `ca.crt`. */
  account: string;
  metricsServer: string;
  /** The file of the authority that signs metrics-server's certificate; absent: its certificate is not checked. */
  metricsServerCa?: string;
}

/** A list in memory for this time answers all clients of that time with one request to the Worker. */
const USAGE_MS = 10_000;
/** The Worker's time limit: a list of Nodes waits for it, metrics of pods do not. */
const WORKER_MS = 5_000;
const READ_AGAIN_MS = 60_000;

/** Serves until `signal` is aborted. Returns the port. `say` writes a line of the log. */
export async function serveAdapter(
  options: AdapterOptions,
  connection: WorkerConnection,
  say: (line: string) => void,
  signal: AbortSignal,
): Promise<Result<number>> {
  const token = () => readFileSync(join(options.account, "token"), "utf8").trim();
  const pem = (file: string) => readFileSync(file, "utf8");
  const apiserver = new ClusterServer({
    origin: options.apiserver,
    ca: pem(join(options.account, "ca.crt")),
    token,
  });
  const metricsServer = new ClusterServer({
    origin: options.metricsServer,
    ca: options.metricsServerCa === undefined ? null : pem(options.metricsServerCa),
    token,
  });
  const read = await readFrontProxy(apiserver);
  if (!read.ok) return read;
  let frontProxy = read.value;
  const adapter = new Adapter({
    apiserver,
    metricsServer,
    usage: cachedFor(USAGE_MS, () => readUsage(connection)),
    isFrontProxy: (socket) => isFrontProxy(socket, frontProxy),
    nowMs: wallMs,
  });
  const server = createServer({
    ...secretsOf(options.tls, frontProxy),
    requestCert: true,
    rejectUnauthorized: false,
  });
  server.on("request", (request, response) => {
    adapter.answer(request, response).catch((error: unknown) => {
      say(`${request.url}: ${faultOf(error)}`);
      response.destroy();
    });
  });
  const stop = every(READ_AGAIN_MS, () => {
    void readFrontProxy(apiserver).then((again) => {
      if (again.ok) frontProxy = again.value;
      else say(again.error);
      renew(server, options.tls, frontProxy, say);
    });
  });
  signal.addEventListener("abort", () => {
    stop();
    server.close();
    server.closeIdleConnections();
    apiserver.close();
    metricsServer.close();
  });
  return listening(server, options.port);
}

/** Returns what the TLS server proves itself with, and which clients it accepts. */
function secretsOf(folder: string, { ca }: FrontProxy): ServerOptions {
  const [cert, key] = ["tls.crt", "tls.key"].map((name) => readFileSync(join(folder, name)));
  // A resumed session would carry an earlier check of the client's certificate.
  return { cert, key, ca, minVersion: "TLSv1.2", secureOptions: constants.SSL_OP_NO_TICKET };
}

function renew(server: Server, folder: string, frontProxy: FrontProxy, say: (line: string) => void): void {
  try {
    server.setSecureContext(secretsOf(folder, frontProxy));
  } catch (error) {
    say(`the certificate in ${folder} cannot be used: ${faultOf(error)}`);
  }
}

function listening(server: Server, port: number): Promise<Result<number>> {
  return new Promise((resolve) => {
    server.once("error", (error) => resolve(failure(faultOf(error))));
    server.listen(port, () => resolve(success((server.address() as AddressInfo).port)));
  });
}

/**
 * How the apiserver proves itself to the servers of aggregated APIs, as their front proxy. It has authenticated and
 * authorized a user before it passes the user's request on.
 */
export interface FrontProxy {
  /** The authorities of its client certificate (PEM). */
  ca: string;
  /** The accepted common names; each name if the list is empty. */
  names: readonly string[];
}

const PUBLISHED = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication";

/** Reads what each apiserver publishes for the servers of aggregated APIs. */
export async function readFrontProxy(apiserver: Pick<ClusterServer, "getJson">): Promise<Result<FrontProxy>> {
  const read = await apiserver.getJson(PUBLISHED);
  if (!read.ok) return failure(`ConfigMap extension-apiserver-authentication: ${read.error.message}`);
  const { data = {} } = read.value as { data?: Record<string, string> };
  const ca = data["requestheader-client-ca-file"];
  // Without this authority an apiserver has no aggregated APIs, and any certificate would be as good as its own.
  if (!ca)
    return failure("the apiserver has no --requestheader-client-ca-file, so that it has no aggregated APIs");
  return success({ ca, names: JSON.parse(data["requestheader-allowed-names"] ?? "[]") as string[] });
}

/** Returns true if the connection's client certificate is the front proxy's. */
export function isFrontProxy(
  socket: Pick<TLSSocket, "authorized" | "getPeerCertificate">,
  { names }: FrontProxy,
): boolean {
  if (!socket.authorized) return false;
  const { CN: name = "" } = socket.getPeerCertificate().subject ?? {};
  return names.length === 0 || [name].flat().some((each) => names.includes(each));
}

async function readUsage(connection: WorkerConnection): Promise<Result<UsageAnswer>> {
  const sent = await ask(connection, { method: "GET", path: "/v1/usage", withinMs: WORKER_MS });
  const read = sent.ok ? readAnswer(usageSchema, sent.value) : sent;
  return read.ok ? read : failure(read.error.message);
}

/** Returns a function that calls `read` at most once in `ms`. Callers meanwhile share the result, also a failure. */
export function cachedFor<T>(ms: number, read: () => Promise<T>, nowMs = monotonicMs): () => Promise<T> {
  let last: { value: Promise<T>; untilMs: number } | undefined;
  return () => {
    if (last === undefined || nowMs() >= last.untilMs) last = { value: read(), untilMs: nowMs() + ms };
    return last.value;
  };
}

/** The folder in which the kubelet puts the account's credentials. */
const ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount";

/** Returns the place of the apiserver and of the account in a pod. The error is a text for the user. */
export function inPod(
  env: Record<string, string | undefined>,
): Result<Pick<AdapterOptions, "apiserver" | "account">> {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port = "443" } = env;
  if (!host || !existsSync(ACCOUNT))
    return failure(
      "serve runs in a pod of the cluster (docs/kubectl-top.md), or with --apiserver and --account",
    );
  return success({
    apiserver: `https://${host.includes(":") ? `[${host}]` : host}:${port}`,
    account: ACCOUNT,
  });
}
