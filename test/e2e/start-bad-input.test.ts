// npm start with input that cannot work, and interrupted: one line that says what to do, its exit code, nothing left.
import { spawn } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer, type Server } from "node:net";
import { constants } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { finished } from "node:stream/promises";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, test } from "vitest";
import { secretsOf } from "./leaks.ts";
import { runStart } from "../../infra/local/start-program.ts";
import { eventually, ROOT, type Start, startLocal, temporaryFolder } from "./local-cluster.ts";
import { thisRun } from "./run-record.ts";

let folder: { path: string; remove: () => void };
let state: string;
/** End what a test has started and, having failed, not ended. */
const leftovers: (() => Promise<unknown>)[] = [];
beforeEach(() => {
  folder = temporaryFolder();
  state = join(folder.path, "state");
});
afterEach(async () => {
  for (const end of leftovers.splice(0)) await end();
  folder.remove();
});

/** npm start's program on this test's folder. */
function start(...flags: string[]): Start {
  const started = startLocal(["--state", state, ...flags]);
  leftovers.push(() => {
    started.process.kill("SIGTERM");
    return started.ended;
  });
  return started;
}
/** The same program in this process, with nobody at a terminal: for what is refused before anything is started. */
async function startHere(...flags: string[]): Promise<{ code: number; output: string }> {
  const both = new PassThrough();
  let output = "";
  both.on("data", (chunk: Buffer) => (output += chunk.toString()));
  const code = await runStart(["--state", state, ...flags], {
    stdout: both as unknown as NodeJS.WriteStream,
    stderr: both,
    terminal: { isInteractive: false, ask: () => Promise.reject(new Error("nobody can be asked")) },
    onSignal: () => undefined,
  });
  both.end();
  await finished(both);
  thisRun().log("npm start", output);
  return { code, output };
}
/** The command lines of all processes that have to do with this test's folder. */
function running(): string[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(commandLine)
    .filter((line) => line.includes(folder.path));
}
function commandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
  } catch {
    return "";
  }
}
function write(name: string, text: string): string {
  const file = join(folder.path, name);
  writeFileSync(file, text);
  return file;
}
const faults = (output: string) => output.split("\n").filter((line) => line.startsWith("npm start:"));

describe("cannot start → 1, one line that says what to do, nothing left running", () => {
  const CLUSTER = "clusters: [{name: c, cluster: {server: 'https://127.0.0.1:1'}}]\n";
  let taken: Server;
  let port: string;
  beforeAll(async () => {
    taken = createServer();
    await new Promise<void>((resolve) => void taken.listen(0, "127.0.0.1", resolve));
    port = String((taken.address() as AddressInfo).port);
  });
  afterAll(() => void taken.close());

  test.each<[situation: string, flags: () => string[], fault: RegExp]>([
    [
      "--apiserver-port is taken",
      () => ["--apiserver-port", port],
      /port \d+ is taken: free it, or pass another --apiserver-port/,
    ],
    // The program adds nothing to what else can be wrong with that file: test/infra/local/kubeconfig.test.ts.
    ["--kubeconfig is missing", () => ["--kubeconfig", "/nowhere"], /--kubeconfig \/nowhere: ENOENT/],
    [
      "--kubeconfig's cluster does not answer",
      () => [
        "--kubeconfig",
        write("k", `${CLUSTER}contexts: [{name: k, context: {cluster: c}}]\ncurrent-context: k\n`),
      ],
      /cluster at https:\/\/127\.0\.0\.1:1 cannot be read: .*check that apiserver/,
    ],
    ["--config is missing", () => ["--config", "/nowhere"], /--config \/nowhere cannot be read \(ENOENT\)/],
    ["--config is broken", () => ["--config", write("c", "kind: Pod\n")], /--config \S+: apiVersion: /],
    [
      "--state is someone else's folder",
      () => {
        mkdirSync(state);
        writeFileSync(join(state, "thesis.tex"), "");
        return ["--fresh"];
      },
      /holds other things than rollcall's state: pass another --state/,
    ],
    [
      "--state is under a file",
      () => ["--state", join(write("file", ""), "state")],
      /cannot be used \(ENOTDIR\): pass another --state/,
    ],
  ])("%s", async (_situation, flags, fault) => {
    const { code, output } = await startHere(...flags());
    expectRefused(code, output, fault);
  });

  test("--worker-port is taken, with the apiserver running", async () => {
    const { ended, output } = start("--worker-port", port);
    const fault = /port \d+ is taken: free it, or pass another --worker-port/;
    expectRefused(await ended, output(), fault);
  });

  function expectRefused(code: number | null, output: string, fault: RegExp): void {
    expect(code).toBe(1);
    expect(faults(output)).toEqual([expect.stringMatching(fault)]);
    expect(output.trim().split("\n").at(-1)).toMatch(/^npm start: /);
    expect(running()).toEqual([]);
  }
});

test.each([
  ["an unknown flag", ["--bogus"]],
  ["a port that is none", ["--worker-port", "65536"]],
  ["a number of machines that is none", ["--nodes", "-1"]],
  ["an argument", ["now"]],
  ["--remove without --kubeconfig", ["--remove"]],
])("wrong command line: %s → 2, and nothing is made", async (_situation, flags) => {
  const { code, output } = await startHere(...flags);
  expect(code).toBe(2);
  expect(output).toMatch(/^error: .+\n$/);
  expect(readdirSync(folder.path)).toEqual([]);
});

describe("Ctrl-C half-way", () => {
  it("as soon as the first part runs; another start on the folder is refused meanwhile → 130, nothing left", async () => {
    const first = start();
    await eventually(async () => running().some((line) => line.includes("apiserver/main.ts")));
    const second = start();
    expect(await second.ended).toBe(1);
    expect(second.output()).toBe(
      `npm start: ${state} is in use by process ${first.process.pid}: stop it, or pass another --state\n`,
    );
    first.process.kill("SIGINT");
    expect(await first.ended).toBe(130);
    expect(faults(first.output())).toEqual([]);
    expect(running()).toEqual([]);
    expect(readdirSync(state)).not.toContain("lock");
  });

  it("again while it ends → still everything is ended, still 130", async () => {
    const first = start();
    await eventually(async () => running().some((line) => line.includes("apiserver/main.ts")));
    const again = setInterval(() => first.process.kill("SIGINT"), 5);
    expect(await first.ended).toBe(130);
    clearInterval(again);
    expect(running()).toEqual([]);
  });
});

describe("npm start itself", () => {
  /** In a process group of its own, which a terminal's Ctrl-C reaches as a whole. */
  function npmStart(flags: string[]) {
    const { KUBEBUILDER_ASSETS: _, ...environment } = process.env;
    const child = spawn("npm", ["start", "--", "--state", state, ...flags], {
      cwd: ROOT,
      env: environment,
      stdio: ["ignore", "pipe", "pipe"],
      detached: true,
    });
    let text = "";
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (chunk: Buffer) => (text += String(chunk)));
    // As a shell reads it: 128 + the number of the signal that ended npm, where one did.
    const ended = new Promise<number | null>((done) =>
      child.once("close", (code, signal) => {
        thisRun().log("npm start itself", text);
        done(signal ? 128 + constants.signals[signal] : code);
      }),
    );
    leftovers.push(() => {
      if (child.exitCode === null && child.signalCode === null)
        process.kill(-(child.pid as number), "SIGTERM");
      return ended;
    });
    return { group: -(child.pid as number), output: () => text, ended };
  }

  it("a whole start: its secrets are known to those who look for leaks; Ctrl-C → 130, nothing left; --fresh after it starts anew", async () => {
    const { group, output, ended } = npmStart(["--nodes", "1"]);
    const ready = eventually(async () => (output().match(/^node \S+ is Ready$/gm) ?? []).length === 2);
    const early = ended.then((code) => Promise.reject(new Error(`ended with ${code}:\n${output()}`)));
    await Promise.race([ready, early]);
    early.catch(() => undefined);
    const logs = readdirSync(join(state, "logs"));
    expect(logs.sort()).toEqual(["apiserver.log", "shim.log", "simulated.log", "worker.log"]);
    // All of it is looked for in all logs and outputs when the tests have ended.
    expect(secretsOf(state).map(({ secret }) => secret)).toEqual(expect.arrayContaining(secrets()));

    process.kill(group, "SIGINT");
    expect(await ended).toBe(130);
    expect(running()).toEqual([]);

    const fresh = start("--fresh");
    await fresh.printed(/^apiserver ready/m);
    fresh.process.kill("SIGTERM");
    expect(await fresh.ended).toBe(143);
    expect(running()).toEqual([]);
  });

  it("a wrong flag → 2", async () => {
    const { output, ended } = npmStart(["--bogus"]);
    expect(await ended).toBe(2);
    expect(output()).toContain("error: unknown option '--bogus'\n");
  });

  /** Everything in the state folder that must be known to nobody else. */
  function secrets(): string[] {
    const read = (...path: string[]) => readFileSync(join(state, ...path), "utf8").trim();
    const kubeToken = /"KUBE_TOKEN", text = "([^"]+)"/.exec(read("worker", "workerd.capnp"))?.[1];
    const machines = JSON.parse(read("simulated", "machines.json")) as Record<string, { jwk: { d: string } }>;
    const found: [string, string | undefined][] = [
      ["admin secret", read("admin-secret")],
      ["MAC key", (JSON.parse(read("state.json")) as { macKeys: string }).macKeys.slice(2)],
      ["the shim's join token", read("shim", "join-token").slice(5)],
      ["the simulation's join token", read("simulated", "join-token").slice(5)],
      ["the Worker's token", kubeToken],
      ["the administrator's token", read("apiserver", "admin-token")],
      ["the machine's key", (JSON.parse(read("shim", "key.json")) as { d: string }).d],
      ["a simulated machine's key", machines["sim-1"]?.jwk.d],
    ];
    return found.map(([what, secret]) => {
      if (!secret || secret.length < 20) throw new Error(`no ${what} in ${state}`);
      return secret;
    });
  }
});
