// Runs a real etcd and kube-apiserver, and optionally kube-controller-manager. The programs start on request, and
// can be restarted with their stored data.
import type { ChildProcess } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { writeKubeconfig } from "../../infra/local/kubernetes.ts";
import {
  isReady,
  prepareRealApiserver,
  type RealApiserverOptions,
} from "../../infra/local/real-apiserver.ts";
import { type RealApiserver, startProgram, stopProgram } from "../infra/local/started-apiserver.ts";
import { type ageEtcd, clientUrlOf } from "./aged-etcd.ts";

/** The address of a server, and the credentials for its clients. */
export interface ServerAddress extends Pick<RealApiserver, "url" | "caFile" | "adminToken" | "pids"> {
  /** The folder with etcd's data in `etcd`, the logs, and SERVICE_ACCOUNT_KEY. */
  dir: string;
  /** The URL of etcd, such as http://127.0.0.1:2379. */
  etcdUrl: string;
}

/** The settings with which kube-controller-manager starts. */
export interface Controllers {
  controllers: string[];
  flags: string[];
}

const CONTROLLER_MANAGER = "kube-controller-manager";

const READY_WITHIN_MS = 90_000;
const POLL_MS = 100;

export class RunningServer {
  readonly #options: RealApiserverOptions;
  readonly #age: typeof ageEtcd | undefined;
  #running: Promise<ServerAddress> | undefined;
  /** The running programs, etcd first: kube-apiserver must be stopped before etcd. */
  #children: ChildProcess[] = [];
  #controllers: ChildProcess | undefined;

  /** `age`, if present, gives etcd a history before the first start. */
  constructor(options: RealApiserverOptions, age?: typeof ageEtcd) {
    this.#options = options;
    this.#age = age;
  }

  /** Starts the server, unless it runs. A second start keeps the port and the data of the first start. */
  start(): Promise<ServerAddress> {
    return (this.#running ??= this.#begin());
  }

  async #begin(): Promise<ServerAddress> {
    const { dir, port } = this.#options;
    if (port === undefined) {
      makeServiceAccountKey(dir);
      await this.#age?.(this.#options, (etcd) => void this.#children.push(etcd));
    }
    const { url, caFile, tokenFile, commands } = await prepareRealApiserver(this.#options);
    this.#options.port = Number(new URL(url).port);
    const started = [commands.etcd, commands.kubeApiserver].map((command) =>
      startProgram(command, join(dir, `${command.name}.log`)),
    );
    this.#children = started;
    await untilReady(url, started);
    const [etcd = 0, kubeApiserver = 0] = started.map(({ pid }) => pid);
    return {
      url,
      caFile,
      adminToken: readFileSync(tokenFile, "utf8").trim(),
      pids: { etcd, kubeApiserver },
      dir,
      etcdUrl: clientUrlOf(commands.etcd),
    };
  }

  /** Stops the server at once, as a crash does. The data stays; a later start does not start the controllers. */
  async stop(): Promise<void> {
    // Even after a failed start, this method must end the programs that the start began.
    await this.#running?.catch(() => undefined);
    this.#running = undefined;
    this.kill();
    await this.stopControllers();
    await Promise.all(this.#children.map(stopProgram));
  }

  startControllers({ controllers, flags }: Controllers): void {
    if (this.#controllers) throw new Error(`${CONTROLLER_MANAGER} runs already`);
    const { dir, assets, port } = this.#options;
    const kubeconfig = join(dir, "controller-manager.kubeconfig");
    const ca = readFileSync(join(dir, "certificates/apiserver.crt"), "utf8");
    const token = readFileSync(join(dir, "admin-token"), "utf8").trim();
    writeKubeconfig(kubeconfig, `https://127.0.0.1:${port}`, ca, token);
    const args = [
      `--kubeconfig=${kubeconfig}`,
      `--controllers=${controllers.join(",")}`,
      "--use-service-account-credentials=false",
      "--leader-elect=false",
      "--secure-port=0",
      ...flags,
    ];
    const program = { name: CONTROLLER_MANAGER, program: join(assets, CONTROLLER_MANAGER), args } as const;
    this.#controllers = startProgram(program, join(dir, `${CONTROLLER_MANAGER}.log`));
  }

  async stopControllers(): Promise<void> {
    const controllers = this.#controllers;
    this.#controllers = undefined;
    if (controllers) await stopProgram(controllers);
  }

  /** Ends all programs: first the controllers, then kube-apiserver, then etcd. */
  kill(): void {
    this.#controllers?.kill("SIGKILL");
    for (const child of this.#children.toReversed()) child.kill("SIGKILL");
  }
}

async function untilReady(url: string, children: readonly ChildProcess[]): Promise<void> {
  for (const deadline = performance.now() + READY_WITHIN_MS; !(await isReady(url));) {
    if (children.some(({ exitCode, signalCode }) => exitCode !== null || signalCode !== null))
      throw new Error("etcd or kube-apiserver ended before it was ready");
    if (performance.now() > deadline)
      throw new Error(`kube-apiserver is not ready after ${READY_WITHIN_MS} ms`);
    await wait(POLL_MS);
  }
}

/**
 * The name of the file with the key of service accounts' tokens (EC, PEM), in the folder of a real or an embedded
 * apiserver.
 */
export const SERVICE_ACCOUNT_KEY = "service-account.key";

/** Creates the key of service accounts' tokens, with which tests sign tokens of any age. */
export function makeServiceAccountKey(dir: string): void {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const pem = privateKey.export({ type: "sec1", format: "pem" });
  writeFileSync(join(dir, SERVICE_ACCOUNT_KEY), pem, { mode: 0o600 });
}
