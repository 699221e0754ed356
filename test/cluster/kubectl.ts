// kubectl against a server: a kubeconfig of its own, a home of its own, and what it prints without what differs from
// run to run. Compares nothing.
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
  /** For what kubectl keeps between runs, such as its discovery cache. */
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

/** Without controllers, which a bare kube-apiserver has not either. */
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

/** A real one, which `stop` leaves. */
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
  /** The shell command that `kubectl edit` opens the file with. */
  editor?: string;
}

function start(program: string, { kubeconfig, home }: Cluster, { args, editor = "false" }: Run) {
  return spawn(program, args, {
    env: {
      PATH: process.env["PATH"],
      HOME: home,
      KUBECONFIG: kubeconfig,
      KUBE_EDITOR: editor,
      // It ends before collecting garbage would pay.
      GOGC: "off",
    },
  });
}

/** Runs `program`, a kubectl, until it ends. */
export function kubectl(program: string, cluster: Cluster, run: Run): Promise<Printed> {
  const child = start(program, cluster, run);
  const printed: Printed = { code: null, stdout: "", stderr: "" };
  child.stdout.on("data", (chunk: Buffer) => (printed.stdout += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (printed.stderr += chunk.toString()));
  // One that has ended already reads nothing: its exit code says why.
  child.stdin.on("error", () => undefined);
  child.stdin.end(run.input ?? "");
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code) => resolve({ ...printed, code }));
  });
}

/** A kubectl that goes on until it is stopped, such as `get -w`. */
export interface Following {
  /** Resolves when it has printed a line with the pattern, to its end; the test's own timeout bounds it. */
  printed: (pattern: RegExp) => Promise<void>;
  /** Ends it; what it has printed on stdout. */
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
  // Ages, which also decide how wide a column is.
  [/\b(\d+[smhd])+\b/g, "<age>"],
  [/(?<=\S) {2,}/g, "  "],
  [/ +$/gm, ""],
];

/** What is left when ages, uids, revisions, times, tokens and addresses are the same. */
export function normalise(text: string): string {
  return replacements.reduce((result, [pattern, replacement]) => result.replace(pattern, replacement), text);
}
