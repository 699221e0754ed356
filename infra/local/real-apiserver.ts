// Prepares the commands of a real etcd and kube-apiserver on loopback, from one folder (KUBEBUILDER_ASSETS).
import { generateKeyPairSync, randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { request } from "node:https";
import { join } from "node:path";
import { freePort } from "./ports.ts";

export interface Command {
  name: "etcd" | "kube-apiserver" | "kube-controller-manager";
  program: string;
  args: string[];
}

export interface RealApiserverOptions {
  /** The folder of etcd's data, certificates, keys, tokens and logs. A later start continues with them. */
  dir: string;
  /** The folder of the programs `etcd` and `kube-apiserver`, typically $KUBEBUILDER_ASSETS. */
  assets: string;
  /** The port of kube-apiserver, by default a free one. */
  port?: number;
  /** Further flags for kube-apiserver. */
  flags?: string[];
}

const adminUser = "admin";

/** Makes the keys and the administrator's token if missing, so that later starts accept earlier tokens. */
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

/** Returns true if /readyz answers 200. Does not verify the certificate, which is safe on loopback. */
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

/** The commands that start both programs, and the credentials for clients. */
export interface PreparedApiserver {
  url: string;
  /** The path of the PEM file that clients trust: the self-signed certificate that kube-apiserver makes. */
  caFile: string;
  /** The path of the bearer token of a member of system:masters. */
  tokenFile: string;
  /** The commands in their order: etcd must start before kube-apiserver and stop after it. */
  commands: { etcd: Command; kubeApiserver: Command };
}

/** Writes the keys and tokens of both programs, and returns their commands. */
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
