// Tests npm start with wrong input, and interrupted. npm start prints one line that names the remedy, and exits with a
// code. No process and no file is left.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer, type Server } from "node:net";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, test } from "vitest";
import { eventually, type Start, startLocal, temporaryFolder } from "./local-cluster.ts";
import { startHere } from "./start-here.ts";

let folder: { path: string; remove: () => void };
let state: string;
/** Functions that end the processes of a failed test. */
const leftovers: (() => Promise<unknown>)[] = [];
beforeEach(() => {
  folder = temporaryFolder();
  state = join(folder.path, "state");
});
afterEach(async () => {
  for (const end of leftovers.splice(0)) await end();
  folder.remove();
});

/** Starts the program behind npm start on this test's folder. */
function start(...flags: string[]): Start {
  const started = startLocal(["--state", state, ...flags]);
  leftovers.push(() => {
    started.end("SIGTERM");
    return started.ended;
  });
  return started;
}
/** Starts the program behind npm start in the test's own process. */
const startInProcess = (...flags: string[]) => startHere(["--state", state, ...flags]);

/** Lists the command lines of all processes that mention this test's folder. */
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
    // test/infra/local/kubeconfig.test.ts tests all other faults of a kubeconfig.
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
    const { ended, output } = startInProcess(...flags());
    expectRefused(await ended, output(), fault);
  });

  test("--worker-port is taken, with the apiserver running", async () => {
    const { ended, output } = startInProcess("--worker-port", port);
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
  ["--remove with --fresh", ["--remove", "--fresh", "--kubeconfig", "/nowhere"]],
])("wrong command line: %s → 2, and nothing is made", async (_situation, flags) => {
  const { ended, output } = startInProcess(...flags);
  expect(await ended).toBe(2);
  expect(output()).toMatch(/^error: .+\n$/);
  expect(readdirSync(folder.path)).toEqual([]);
});

it("Ctrl-C half-way, several times; another start on the folder is refused meanwhile → 130, nothing left", async () => {
  const first = start();
  await eventually(async () => running().some((line) => line.includes("apiserver/main.ts")));
  const second = startInProcess();
  expect(await second.ended).toBe(1);
  expect(second.output()).toBe(
    `npm start: ${state} is in use by process ${first.process.pid}: stop it, or pass another --state\n`,
  );
  const again = setInterval(() => first.end("SIGINT"), 5);
  expect(await first.ended).toBe(130);
  clearInterval(again);
  expect(faults(first.output())).toEqual([]);
  expect(running()).toEqual([]);
});
