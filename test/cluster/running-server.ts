// A real etcd and kube-apiserver that start when they are asked for, stop and start again with what they hold, and may
// have a kube-controller-manager beside them. Ends all that it has started.
import type { ChildProcess } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { writeKubeconfig } from "../../infra/local/kubernetes.ts";
import {
  type RealApiserver,
  type RealApiserverOptions,
  startProgram,
  startRealApiserver,
  stopProgram,
} from "../../infra/local/real-apiserver.ts";

/** What clients of it need. */
export interface ServerAddress extends Pick<RealApiserver, "url" | "caFile" | "adminToken" | "pids"> {
  /** Holds etcd's data in `etcd`, logs, and SERVICE_ACCOUNT_KEY. */
  dir: string;
  /** http://127.0.0.1:2379 */
  etcdUrl: string;
}

/** Of kube-controller-manager. */
export interface Controllers {
  controllers: string[];
  flags: string[];
}

const CONTROLLER_MANAGER = "kube-controller-manager";

export class RunningServer {
  readonly #options: RealApiserverOptions;
  readonly #prepare: ((options: RealApiserverOptions) => Promise<void>) | undefined;
  #running: Promise<RealApiserver> | undefined;
  #pids: number[] = [];
  #controllers: ChildProcess | undefined;

  /** `prepare`: before its first start, typically on etcd's data. */
  constructor(options: RealApiserverOptions, prepare?: (options: RealApiserverOptions) => Promise<void>) {
    this.#options = options;
    this.#prepare = prepare;
  }

  /** Starts it unless it runs; a second start has the port and the data of the first. */
  async start(): Promise<ServerAddress> {
    const { url, caFile, adminToken, pids, commands } = await (this.#running ??= this.#begin());
    const flag = "--listen-client-urls=";
    const etcdUrl = commands.etcd.args.find((arg) => arg.startsWith(flag))?.slice(flag.length) ?? "";
    return { url, caFile, adminToken, pids, dir: this.#options.dir, etcdUrl };
  }

  async #begin(): Promise<RealApiserver> {
    const { dir, port } = this.#options;
    if (port === undefined) {
      makeServiceAccountKey(dir);
      await this.#prepare?.(this.#options);
    }
    const running = await startRealApiserver(this.#options);
    this.#options.port = Number(new URL(running.url).port);
    this.#pids = Object.values(running.pids);
    return running;
  }

  /** As a crash does: at once. What it holds stays; the controllers do not start again with it. */
  async stop(): Promise<void> {
    const ending = this.#running;
    this.#running = undefined;
    // One that did not start has ended already.
    const running = await ending?.catch(() => undefined);
    this.kill();
    await this.stopControllers();
    await running?.stop();
    this.#pids = [];
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

  /** The controllers first, kube-apiserver before etcd. */
  kill(): void {
    this.#controllers?.kill("SIGKILL");
    for (const pid of this.#pids.toReversed()) {
      try {
        process.kill(pid, "SIGKILL");
      } catch {
        // It has ended.
      }
    }
  }
}

/** In the folder of a real or an embedded apiserver: the key of service accounts' tokens (EC, PEM). */
export const SERVICE_ACCOUNT_KEY = "service-account.key";

/** Makes it. Tests sign tokens with it, which are as old as they want. */
export function makeServiceAccountKey(dir: string): void {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const pem = privateKey.export({ type: "sec1", format: "pem" });
  writeFileSync(join(dir, SERVICE_ACCOUNT_KEY), pem, { mode: 0o600 });
}
