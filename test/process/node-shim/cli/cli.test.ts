// Tests the installed shim, where only a process shows a command line's effect: exit codes, standard input,
// signals. test/node-shim/cli tests the rest; test/runtimes/node-shim runs it on each Node.js.
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { closeSync, existsSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeAll, beforeEach, describe, expect, it, test } from "vitest";
import { ROOT } from "../../../node-shim/base/temporary-folder.ts";
import { commandLine } from "../../../node-shim/cli/command-line.ts";
import {
  JOIN_TOKEN,
  type MachineFolder,
  machineFolder,
  NO_RUNTIME,
} from "../../../node-shim/cli/machine-folder.ts";

const BIN = join(ROOT, "node-shim/bin/node-shim.cjs");
const UNREACHABLE = "http://127.0.0.1:1";

beforeAll(() => {
  if (!existsSync(join(ROOT, "node-shim/dist/node-shim.cjs"))) throw new Error("npm run build comes first");
});

let folder: MachineFolder;
let children: ChildProcess[];
beforeEach(() => {
  folder = machineFolder();
  children = [];
});
afterEach(() => {
  for (const child of children) child.kill("SIGKILL");
  folder.remove();
});

function start(args: string[], environment: Record<string, string> = {}) {
  const { ROLLCALL_JOIN_TOKEN: _, ROLLCALL_URL: __, ...inherited } = process.env;
  const child = spawn(process.execPath, [BIN, ...args], { env: { ...inherited, ...environment } });
  children.push(child);
  const text = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const)
    child[name].on("data", (chunk: Buffer) => (text[name] += chunk.toString()));
  const said = (pattern: RegExp) =>
    new Promise<void>((found) => {
      const look = () => pattern.test(text.stderr) && found();
      child.stderr.on("data", look);
      look();
    });
  const ended = new Promise<{ code: number | null; stdout: string; stderr: string }>((done) =>
    child.once("close", (code) => done({ code, ...text })),
  );
  return { child, said, ended };
}

/** Starts a Worker that accepts everything. Returns its URL, and the paths of its requests. */
async function worker(): Promise<{ url: string; paths: string[] }> {
  const paths: string[] = [];
  const url = await folder.serve((request, response) => {
    paths.push(`${request.method} ${request.url}`);
    const answer = request.url?.endsWith("enrolment")
      ? { kid: "k", ticket: "t" }
      : { phase: "registered", ready: true, ticket: "t", reportInMs: 20 };
    request.resume().once("end", () => response.end(JSON.stringify(answer)));
  });
  return { url, paths };
}
const ENROLMENT = "PUT /v1/nodes/edge-1/enrolment";
const REPORT = "POST /v1/nodes/edge-1/report";

describe("the exit code", () => {
  test("wrong command line → 2, nothing on stdout; cannot begin → 1, and one line that says what to do", async () => {
    const wrong = start(["run", "--url", "https://a.example", "--bogus"]);
    const unable = start(folder.run(UNREACHABLE));
    expect(await wrong.ended).toEqual({ code: 2, stdout: "", stderr: expect.stringMatching(/./) });
    expect(await unable.ended).toEqual({
      code: 1,
      stdout: "",
      stderr: expect.stringMatching(/^node-shim: .*not enrolled yet: get a join token from .*\n$/),
    });
  });
});

test("join, the token on standard input → enrolled, reported, Ready", async () => {
  const { url, paths } = await worker();
  const { child, ended } = start(["join", ...folder.run(url).slice(1), "--join-token-file", "-"]);
  child.stdin.end(`${JOIN_TOKEN}\n`);
  expect(await ended).toEqual({
    code: 0,
    stdout: "",
    stderr: expect.stringMatching(
      /^node-shim: enrolled as edge-1 at http:\/\/127\.0\.0\.1:\d+, key .{43}\nnode-shim: edge-1 is Ready\n→ nothing reports from now on, and the Node will not stay Ready; next: .*`node-shim run --state=\/\S+\/state --hostname-override=edge-1 --container-runtime-endpoint=`\n$/,
    ),
  });
  expect(paths).toEqual([ENROLMENT, REPORT]);
});

describe("a log that cannot be written → the shim still reports after several lines", () => {
  /** Starts a Worker whose answers change each time, so that the shim logs a line for each. `enough`: eight reports. */
  async function changingWorker(): Promise<{ url: string; enough: Promise<void> }> {
    const { promise: enough, resolve } = Promise.withResolvers<void>();
    let reports = 0;
    const url = await folder.serve((request, response) => {
      const isReport = !request.url?.endsWith("enrolment");
      if (isReport && ++reports === 8) resolve();
      const answer = isReport
        ? { phase: "registered", ready: reports % 2 === 0, ticket: "t", reportInMs: 20 }
        : { kid: "k", ticket: "t" };
      request.resume().once("end", () => response.end(JSON.stringify(answer)));
    });
    return { url, enough };
  }

  test.each([
    ["its disk is full", "/dev/full"],
    ["its reader is gone", null],
  ])("%s", async (_, path) => {
    const { url, enough } = await changingWorker();
    const stderr = path === null ? "pipe" : openSync(path, "w");
    const environment = { ...process.env, ROLLCALL_JOIN_TOKEN: JOIN_TOKEN };
    const child = spawn(process.execPath, [BIN, ...folder.run(url)], {
      env: environment,
      stdio: ["ignore", "ignore", stderr],
    });
    children.push(child);
    child.stderr?.destroy();
    if (typeof stderr === "number") closeSync(stderr);
    const ended = new Promise<string>((done) => child.once("exit", (code) => done(`ended with ${code}`)));
    expect(await Promise.race([enough, ended])).toBeUndefined();
    child.kill("SIGTERM");
    expect(await ended).toBe("ended with 0");
  });
});

describe("standard output", () => {
  const OFFLINE = ["--inventory", "off", ...NO_RUNTIME];
  test.each([
    ["facts", OFFLINE],
    ["preview", OFFLINE],
    ["version", []],
    ["--help", []],
  ])("%s, and the reader is gone → ends quietly", async (command, flags) => {
    const { child, ended } = start([command, ...flags]);
    child.stdout.destroy();
    const { code, stderr } = await ended;
    expect([code, /EPIPE|Error|\n +at /.exec(stderr)]).toEqual([0, null]);
  });

  test("its disk is full → one line that names the fault, exit code 1", async () => {
    const full = openSync("/dev/full", "w");
    const child = spawn(process.execPath, [BIN, "version"], { stdio: ["ignore", full, "pipe"] });
    children.push(child);
    closeSync(full);
    let stderr = "";
    child.stderr?.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
    const code = await new Promise((done) => child.once("close", done));
    expect([code, stderr]).toEqual([1, "node-shim: the output cannot be written (ENOSPC)\n"]);
  });
});

describe("run", () => {
  it("enrols, reports, shows its status also to join, refuses a second shim on its folder, and prints no secret", async () => {
    const { url, paths } = await worker();
    const { child, said, ended } = start(folder.run(url), { ROLLCALL_JOIN_TOKEN: JOIN_TOKEN });
    await said(/phase: registered, node Ready/);
    const { state } = folder;
    expect(await commandLine(folder.run(url))).toEqual({
      code: 1,
      stdout: "",
      stderr: `node-shim: ${state} is in use by process ${child.pid}: stop it, or pass another --state\n`,
    });
    expect(await commandLine(["join", ...folder.run(url).slice(1)])).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(/already.*\n(.*\n)*.*edge-1 is Ready\n$/),
    });
    expect(await commandLine(["status", "--state", state])).toEqual({
      code: 0,
      stdout: expect.stringMatching(/^edge-1 is Ready\n/),
      stderr: "",
    });
    child.kill("SIGTERM");
    const { code, stdout, stderr } = await ended;
    expect(code).toBe(0);
    const after = await commandLine(["status", "--json", "--state", state]);
    expect(after.code).toBe(3);
    expect(JSON.parse(after.stdout)).toMatchObject({
      kind: "not running",
      isRunning: false,
      status: { name: "edge-1", answer: { phase: "registered", ready: true } },
    });
    expect(paths.slice(0, 2)).toEqual([ENROLMENT, REPORT]);
    const { d } = JSON.parse(readFileSync(join(state, "key.json"), "utf8")) as { d: string };
    for (const secret of [JOIN_TOKEN, d]) expect(stdout + stderr + after.stdout).not.toContain(secret);
    for (const line of stderr.trim().split("\n"))
      expect(Object.keys(JSON.parse(line) as object)).toEqual(["time", "level", "message"]);
  });

  it("SIGTERM while the Worker holds a request → 0, no output, and the folder is free", async () => {
    await folder.enrol("edge-1");
    const arrived = Promise.withResolvers<void>();
    const url = await folder.serve(() => arrived.resolve());
    const { child, ended } = start(folder.run(url));
    await arrived.promise;
    child.kill("SIGTERM");
    expect(await ended).toEqual({ code: 0, stdout: "", stderr: "" });
    expect(existsSync(join(folder.state, "lock"))).toBe(false);
  });

  it("SIGINT while the Worker cannot be reached → 0, and the folder is free; --log-format text → readable lines where no terminal is", async () => {
    const args = folder.run(UNREACHABLE, "--log-format", "text");
    const { child, said, ended } = start(args, { ROLLCALL_JOIN_TOKEN: JOIN_TOKEN });
    await said(/^\d\d:\d\d:\d\d warn enrolment failed: .*ECONNREFUSED.*; trying again/);
    child.kill("SIGINT");
    expect((await ended).code).toBe(0);
    expect(existsSync(join(folder.state, "lock"))).toBe(false);
  });

  it("SIGTERM on a machine that stands still for a second → still 0: nothing keeps the process alive", async () => {
    await folder.enrol("edge-1");
    const slow = join(folder.path, "slow.mjs");
    const stand = "Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1000)";
    writeFileSync(slow, `process.once("SIGTERM", () => setImmediate(() => ${stand}));`);
    const arrived = Promise.withResolvers<void>();
    const url = await folder.serve(() => arrived.resolve());
    const { child, ended } = start(folder.run(url), { NODE_OPTIONS: `--import=${slow}` });
    await arrived.promise;
    child.kill("SIGTERM");
    expect((await ended).code).toBe(0);
  });

  it("SIGTERM while a hung file system holds a thread → ends by that signal, and the folder is free", async () => {
    await folder.enrol("edge-1");
    const pipe = join(folder.path, "pipe");
    execFileSync("mkfifo", [pipe]);
    const hanging = join(folder.path, "hang.mjs");
    // The program hangs because opening a pipe without a writer is a system call that does not return.
    writeFileSync(
      hanging,
      `import { readFile } from "node:fs/promises"; void readFile(${JSON.stringify(pipe)});`,
    );
    const environment = { NODE_OPTIONS: `--import=${hanging}` };
    const { child, said, ended } = start(folder.run(UNREACHABLE), environment);
    await said(/report failed: .*ECONNREFUSED/);
    child.kill("SIGTERM");
    await ended;
    expect(child.signalCode).toBe("SIGTERM");
    expect(existsSync(join(folder.state, "lock"))).toBe(false);
  });
});

it("a command whose thread hangs in a file system → its output, and its exit code a second later", async () => {
  const pipe = join(folder.path, "pipe");
  execFileSync("mkfifo", [pipe]);
  const hanging = join(folder.path, "hang.mjs");
  writeFileSync(
    hanging,
    `import { readFile } from "node:fs/promises"; void readFile(${JSON.stringify(pipe)});`,
  );
  const { ended } = start(["status", "--state", join(folder.path, "none")], {
    NODE_OPTIONS: `--import=${hanging}`,
  });
  expect(await ended).toMatchObject({ code: 1, stdout: expect.stringContaining("is not enrolled") });
});

describe("a state folder that does not answer", () => {
  /** Delays each open of the key until SIGUSR2, and ends the wait of three seconds until then at once. */
  const DELAY = `
    import fs from "node:fs";
    import { syncBuiltinESMExports } from "node:module";
    const { open } = fs.promises;
    const start = setTimeout;
    const delayed = (...call) => new Promise((done) => {
      const alive = setInterval(() => undefined, 1e6);
      process.once("SIGUSR2", () => {
        clearInterval(alive);
        globalThis.setTimeout = start;
        done(open(...call));
      });
    });
    fs.promises.open = (path, ...rest) => (path.endsWith("key.json") ? delayed : open)(path, ...rest);
    globalThis.setTimeout = (ring, ms, ...rest) => start(ring, ms === 3000 ? 0 : ms, ...rest);
    syncBuiltinESMExports();`;

  it.each<[command: string, line: string, after: RegExp]>([
    ["run", '"state folder: STATE has not answered for 3 s: ', /"phase: registered, node Ready"/],
    ["status", "^node-shim: STATE has not answered for 3 s: ", /^edge-1 has no shim that runs/],
  ])(
    "%s → a line that names the folder; the command begins once the folder answers",
    async (command, line, after) => {
      await folder.enrol("edge-1");
      const delay = join(folder.path, "delay.mjs");
      writeFileSync(delay, DELAY);
      const { url, paths } = await worker();
      const args = command === "run" ? folder.run(url) : [command, "--state", folder.state];
      const { child, said, ended } = start(args, { NODE_OPTIONS: `--import=${delay}` });
      await said(new RegExp(line.replace("STATE", folder.state)));
      expect(paths).toEqual([]);
      child.kill("SIGUSR2");
      if (command === "run") {
        await said(after);
        child.kill("SIGTERM");
      }
      const { stdout, stderr } = await ended;
      expect(stdout + stderr).toMatch(after);
    },
  );
});

it("upgrade of a shim that no .deb has installed → 1, one line, and no request to the Worker", async () => {
  await folder.enrol("edge-1");
  const { url, paths } = await worker();
  expect(await commandLine(["upgrade", "--url", url, "--state", folder.state])).toEqual({
    code: 1,
    stdout: "",
    stderr: expect.stringMatching(/^node-shim: not upgraded: apt can upgrade only what a \.deb .*\n$/),
  });
  expect(paths).toEqual([]);
});
