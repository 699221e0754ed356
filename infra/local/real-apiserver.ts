// A real etcd and kube-apiserver on loopback, for tests and for local runs. Needs the two programs in a
// folder (KUBEBUILDER_ASSETS); knows nothing of the embedded apiserver.
import { type ChildProcess, spawn } from "node:child_process";
import { generateKeyPairSync, randomBytes } from "node:crypto";
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { request } from "node:https";
import { createServer } from "node:net";
import { join } from "node:path";
import { after, monotonicMs, pause } from "../../node-shim/base/clock.ts";

/** One program with its arguments, as it was started and as it can be started again. */
export interface Command {
  name: "etcd" | "kube-apiserver" | "kube-controller-manager";
  program: string;
  args: string[];
}

export interface RealApiserver {
  url: string;
  /** PEM file that clients trust; kube-apiserver's own self-signed certificate. */
  caFile: string;
  /** Bearer token of a member of system:masters. */
  adminToken: string;
  pids: { etcd: number; kubeApiserver: number };
  commands: { etcd: Command; kubeApiserver: Command };
  /** Stops kube-apiserver, then etcd. The folder stays. */
  stop: () => Promise<void>;
}

export interface RealApiserverOptions {
  /** Holds etcd's data, certificates, keys, tokens and logs; made when missing, continued from when not. */
  dir: string;
  /** Folder of `etcd` and `kube-apiserver`; typically $KUBEBUILDER_ASSETS. */
  assets: string;
  /** kube-apiserver's port; a free one when absent. */
  port?: number;
  /** More kube-apiserver flags. */
  flags?: string[];
  /** How long it may take until /readyz says ok; 90 s when absent. */
  readyTimeoutMs?: number;
}

const adminUser = "admin";
const stopTimeoutMs = 5_000;
const pollIntervalMs = 100;

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(0, "127.0.0.1", resolve);
  });
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === "string") throw new Error("a TCP server has a port");
  return address.port;
}

/** Keys and the administrator's token are made once per folder, so that a second run accepts what the first one issued. */
function prepareFolder(dir: string): void {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const keyFile = join(dir, "service-account.key");
  if (!existsSync(keyFile)) {
    const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
    writeFileSync(keyFile, privateKey.export({ type: "pkcs8", format: "pem" }), { mode: 0o600 });
  }
  const tokenFile = join(dir, "admin-token");
  if (!existsSync(tokenFile)) writeFileSync(tokenFile, randomBytes(24).toString("hex"), { mode: 0o600 });
  const token = readFileSync(tokenFile, "utf8").trim();
  writeFileSync(join(dir, "tokens.csv"), `${token},${adminUser},${adminUser},"system:masters"\n`, {
    mode: 0o600,
  });
}

function etcdCommand(options: RealApiserverOptions, clientUrl: string, peerUrl: string): Command {
  return {
    name: "etcd",
    program: join(options.assets, "etcd"),
    args: [
      `--data-dir=${join(options.dir, "etcd")}`,
      `--listen-client-urls=${clientUrl}`,
      `--advertise-client-urls=${clientUrl}`,
      `--listen-peer-urls=${peerUrl}`,
      "--unsafe-no-fsync",
      "--log-level=warn",
    ],
  };
}

function apiserverCommand(options: RealApiserverOptions, etcdUrl: string, port: number): Command {
  const keyFile = join(options.dir, "service-account.key");
  return {
    name: "kube-apiserver",
    program: join(options.assets, "kube-apiserver"),
    args: [
      `--etcd-servers=${etcdUrl}`,
      `--secure-port=${port}`,
      "--bind-address=127.0.0.1",
      `--cert-dir=${join(options.dir, "certificates")}`,
      "--service-account-issuer=https://kubernetes.default.svc",
      `--service-account-key-file=${keyFile}`,
      `--service-account-signing-key-file=${keyFile}`,
      "--service-cluster-ip-range=10.0.0.0/24",
      "--authorization-mode=RBAC",
      `--token-auth-file=${join(options.dir, "tokens.csv")}`,
      "--disable-admission-plugins=ServiceAccount",
      ...(options.flags ?? []),
    ],
  };
}

/** Its output goes to the end of the file. */
export function startProgram(command: Pick<Command, "program" | "args">, logFile: string): ChildProcess {
  const log = openSync(logFile, "a");
  const child = spawn(command.program, command.args, { stdio: ["ignore", log, log] });
  closeSync(log);
  return child;
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

/** SIGTERM, and SIGKILL a few seconds later. */
export async function stopProgram(child: ChildProcess): Promise<void> {
  if (hasEnded(child) || child.pid === undefined) return;
  const ended = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGTERM");
  const cancel = after(stopTimeoutMs, () => child.kill("SIGKILL"));
  await ended;
  cancel();
}

/** True when /readyz answers 200. The certificate is not checked: this is a question of life, on loopback. */
export async function isReady(url: string): Promise<boolean> {
  return await new Promise((resolve) => {
    const probe = request(
      `${url}/readyz`,
      { rejectUnauthorized: false, timeout: 2_000, agent: false },
      (response) => {
        response.resume();
        resolve(response.statusCode === 200);
      },
    );
    probe.on("timeout", () => probe.destroy());
    probe.on("error", () => resolve(false));
    probe.end();
  });
}

async function waitUntilReady(url: string, children: ChildProcess[], timeoutMs: number): Promise<void> {
  const deadline = monotonicMs() + timeoutMs;
  while (!(await isReady(url))) {
    if (children.some(hasEnded)) throw new Error("etcd or kube-apiserver ended before it was ready");
    if (monotonicMs() > deadline) throw new Error(`kube-apiserver is not ready after ${timeoutMs} ms`);
    await pause(pollIntervalMs);
  }
}

/** What is to be started, and what clients of it need. */
export interface PreparedApiserver {
  url: string;
  /** PEM file that clients trust; kube-apiserver's own self-signed certificate, made when it starts. */
  caFile: string;
  /** Bearer token of a member of system:masters. */
  tokenFile: string;
  /** etcd first: kube-apiserver must be stopped before it. */
  commands: { etcd: Command; kubeApiserver: Command };
}

/** Makes what the two programs need in `dir`, and says how to start them. */
export async function prepareRealApiserver(options: RealApiserverOptions): Promise<PreparedApiserver> {
  prepareFolder(options.dir);
  const etcdUrl = `http://127.0.0.1:${await freePort()}`;
  const port = options.port ?? (await freePort());
  return {
    url: `https://127.0.0.1:${port}`,
    caFile: join(options.dir, "certificates", "apiserver.crt"),
    tokenFile: join(options.dir, "admin-token"),
    commands: {
      etcd: etcdCommand(options, etcdUrl, `http://127.0.0.1:${await freePort()}`),
      kubeApiserver: apiserverCommand(options, etcdUrl, port),
    },
  };
}

/**
 * Starts etcd and kube-apiserver and returns once /readyz says ok. Throws, with both stopped, when one of them ends
 * early or the time is over; their output is in `dir`/etcd.log and `dir`/kube-apiserver.log.
 */
export async function startRealApiserver(options: RealApiserverOptions): Promise<RealApiserver> {
  const { url, caFile, tokenFile, commands } = await prepareRealApiserver(options);
  const etcd = startProgram(commands.etcd, join(options.dir, "etcd.log"));
  const kubeApiserver = startProgram(commands.kubeApiserver, join(options.dir, "kube-apiserver.log"));
  const failures: Error[] = [];
  for (const child of [etcd, kubeApiserver]) child.on("error", (error) => failures.push(error));
  const stop = async () => {
    await stopProgram(kubeApiserver);
    await stopProgram(etcd);
  };
  try {
    await waitUntilReady(url, [etcd, kubeApiserver], options.readyTimeoutMs ?? 90_000);
    if (etcd.pid === undefined || kubeApiserver.pid === undefined)
      throw new Error("a process that answers has a pid");
  } catch (error) {
    await stop();
    throw new Error(`${failures[0]?.message ?? String(error)}; see the logs in ${options.dir}`, {
      cause: error,
    });
  }
  return {
    url,
    caFile,
    adminToken: readFileSync(tokenFile, "utf8").trim(),
    pids: { etcd: etcd.pid, kubeApiserver: kubeApiserver.pid },
    commands,
    stop,
  };
}
