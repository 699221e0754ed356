// Runs kubectl against a server, with a separate kubeconfig and home. Replaces the parts of its output that differ
// between runs.
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { writeKubeconfig } from "../../infra/local/kubernetes.ts";
import { createApiserver } from "../../infra/local/apiserver/apiserver.ts";
import { loadCredentials } from "../../infra/local/apiserver/certificates.ts";
import { createFront, listen } from "../../infra/local/apiserver/front.ts";
import { openStore } from "../../infra/local/apiserver/store.ts";
import { afterTimeout } from "../../infra/local/apiserver/timer.ts";
import type { ServerAddress } from "./running-server.ts";

export interface Cluster {
  kubeconfig: string;
  /** The home folder, in which kubectl stores its discovery cache. */
  home: string;
  stop: () => Promise<void>;
}

function folder(): { path: string; remove: () => void } {
  const path = mkdtempSync(join(tmpdir(), "kubectl-"));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

function clusterOf(
  dir: ReturnType<typeof folder>,
  server: { url: string; ca: string; token: string },
  stop: () => Promise<void>,
): Cluster {
  const kubeconfig = join(dir.path, "kubeconfig");
  writeKubeconfig(kubeconfig, server.url, server.ca, server.token);
  const end = async () => {
    await stop();
    dir.remove();
  };
  return { kubeconfig, home: dir.path, stop: end };
}

/** Starts the embedded apiserver without controllers, like a bare kube-apiserver. */
export async function startEmbedded(): Promise<Cluster> {
  const dir = folder();
  const credentials = await loadCredentials(dir.path);
  const store = openStore(":memory:");
  const { fetch } = createApiserver({
    ...credentials,
    store,
    now: () => new Date(),
    uuid: () => crypto.randomUUID(),
    random: Math.random,
    after: afterTimeout,
  });
  const server = createFront(credentials, fetch);
  const port = await listen(server, 0);
  const stop = async () => {
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
    store.close();
  };
  const ca = readFileSync(join(dir.path, "ca.crt"), "utf8");
  return clusterOf(dir, { url: `https://127.0.0.1:${port}`, ca, token: credentials.adminToken }, stop);
}

/** Returns the access to a real apiserver. `stop` does not end the apiserver. */
export function clusterAt({ url, caFile, adminToken }: ServerAddress): Cluster {
  const server = { url, ca: readFileSync(caFile, "utf8"), token: adminToken };
  return clusterOf(folder(), server, () => Promise.resolve());
}

export interface Printed {
  code: number | null;
  stdout: string;
  stderr: string;
}

export interface Run {
  args: string[];
  input?: string;
  /** The editor that `kubectl edit` runs, as a shell command. */
  editor?: string;
}

function start(program: string, { kubeconfig, home }: Cluster, { args, editor = "false" }: Run) {
  return spawn(program, args, {
    env: {
      PATH: process.env["PATH"],
      HOME: home,
      KUBECONFIG: kubeconfig,
      KUBE_EDITOR: editor,
      // The process ends so soon that garbage collection would only cost time.
      GOGC: "off",
    },
  });
}

/** Runs kubectl until it ends, and returns its exit code and output. */
export function kubectl(program: string, cluster: Cluster, run: Run): Promise<Printed> {
  const child = start(program, cluster, run);
  const printed: Printed = { code: null, stdout: "", stderr: "" };
  child.stdout.on("data", (chunk: Buffer) => (printed.stdout += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (printed.stderr += chunk.toString()));
  // kubectl may end before it has read its input. The exit code then shows the reason.
  child.stdin.on("error", () => undefined);
  child.stdin.end(run.input ?? "");
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code) => resolve({ ...printed, code }));
  });
}

/** A kubectl command that runs until it is stopped, such as `get -w`. */
export interface Following {
  /** Resolves when kubectl has printed a whole line that matches. Only the test's own timeout limits the wait. */
  printed: (pattern: RegExp) => Promise<void>;
  /** Stops kubectl and returns its standard output. */
  stop: () => Promise<string>;
}

export function follow(program: string, cluster: Cluster, args: string[]): Following {
  const child = start(program, cluster, { args });
  let stdout = "";
  let look = () => {};
  child.stdout.on("data", (chunk: Buffer) => {
    stdout += chunk.toString();
    look();
  });
  const ended = new Promise<void>((resolve) => child.once("close", () => resolve()));
  return {
    printed: (pattern) =>
      new Promise((resolve) => {
        look = () => {
          if (pattern.test(stdout.slice(0, stdout.lastIndexOf("\n") + 1))) resolve();
        };
        look();
      }),
    stop: async () => {
      child.kill("SIGTERM");
      await ended;
      return stdout;
    },
  };
}

const replacements: [pattern: RegExp, text: string][] = [
  [/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g, "<uid>"],
  [/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z\b/g, "<time>"],
  [/\b\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d [+-]\d{4}/g, "<time>"],
  [/("?resourceVersion"?: ?)"\d+"/g, "$1<revision>"],
  [/(Resource Version: +)\d+/g, "$1<revision>"],
  [/\beyJ[\w-]+\.[\w-]+\.[\w-]+/g, "<token>"],
  [/https:\/\/127\.0\.0\.1:\d+/g, "<server>"],
  [/\/tmp\/[\w./-]+/g, "<file>"],
  // An age also determines the width of its column, so the spaces after it are replaced too.
  [/\b(\d+[smhd])+\b/g, "<age>"],
  [/(?<=\S) {2,}/g, "  "],
  [/ +$/gm, ""],
];

/** Replaces the parts that differ between runs: ages, uids, revisions, times, tokens and addresses. */
export function normalise(text: string): string {
  return replacements.reduce((result, [pattern, replacement]) => result.replace(pattern, replacement), text);
}
