// Tests whole command lines in this process: their output and their exit codes. Signals, standard input and the
// bundle need a process: test/process/node-shim/cli.
import { existsSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import type { RequestListener } from "node:http";
import { join, relative } from "node:path";
import { afterEach, beforeEach, describe, expect, it, test } from "vitest";
import { parse as parseYaml } from "yaml";
import project from "../../../package.json" with { type: "json" };
import type { StatusFile } from "../../../node-shim/status/status-file.ts";
import type { Report } from "../../../shared/protocol/report.ts";
import { commandLine } from "./command-line.ts";
import { JOIN_TOKEN, type MachineFolder, machineFolder, NO_RUNTIME } from "./machine-folder.ts";
import { withoutWaits } from "../base/timers.ts";

/**
 * The flags with a name that every computer resolves without a DNS server: the shim looks up its name's address.
 */
const NAMED = ["--hostname-override", "localhost"];
/** Milliseconds between two requests of `join`. */
const BETWEEN_ATTEMPTS_MS = 1000;

let folder: MachineFolder;
beforeEach(() => {
  folder = machineFolder();
});
afterEach(() => folder.remove());
const run = (...args: Parameters<MachineFolder["run"]>) => folder.run(...args);
const serve = (listener: RequestListener) => folder.serve(listener);
const enrolledState = (name: string) => folder.enrol(name);
const state = () => folder.state;

/** Returns the output of `preview` without the addresses of this computer, which may be public. */
function withoutAddresses(stderr: string): string {
  const unnamed = stderr.replaceAll(/(?<=: |, )address [^,\n]+(, )?/g, "").replaceAll(/, $/gm, "");
  return unnamed.replaceAll(/^.* allows it: \n/gm, "");
}

test("--help → exit codes and commands, 0; --version → package.json's, 0", async () => {
  const help = await commandLine(["--help"]);
  expect(help).toMatchObject({ code: 0, stderr: "" });
  expect(help.stdout).toMatch(/^ {2}run .*[^]*^ {2}preview .*[^]*^ {2}2 {2}the command line is wrong$/m);
  expect(await commandLine(["run", "--help"])).toMatchObject({
    code: 0,
    stderr: "",
    stdout: expect.stringContaining("--join-token-file"),
  });
  expect(await commandLine(["--version"])).toEqual({ code: 0, stdout: `${project.version}\n`, stderr: "" });
});

test("version → the shim's and Node.js's", async () => {
  expect(await commandLine(["version"])).toEqual({
    code: 0,
    stdout: `node-shim ${project.version}\nnode ${process.version} linux/${process.arch}\n`,
    stderr: "",
  });
});

describe("the Node of this machine", () => {
  test("preview → a Node in YAML, and nothing is written", async () => {
    const args = ["preview", "--hostname-override", "LocalHost", ...NO_RUNTIME];
    const { code, stdout, stderr } = await commandLine(args);
    expect({ code, stderr: withoutAddresses(stderr) }).toEqual({ code: 0, stderr: "" });
    expect(parseYaml(stdout)).toMatchObject({
      apiVersion: "v1",
      kind: "Node",
      metadata: { name: "localhost", labels: { "rollcall.dev/os": "linux" } },
      spec: { taints: [{ key: "rollcall.dev/facts-only", effect: "NoSchedule" }] },
      status: { nodeInfo: { operatingSystem: "linux" }, capacity: { pods: "110" } },
    });
  });

  test("preview, config and facts read the kubelet's flags: a bare boolean is true, and maps add up", async () => {
    const labels = ["--node-labels", "a=b", "--node-labels", "c=d"];
    const flags = [...NO_RUNTIME, ...NAMED, "--inventory", "off", ...labels];
    const set = ["--kube-reserved=cpu=1m", "--kube-reserved=pid=9", "--register-node", "--max-pods", "7"];
    const config = await commandLine([
      "config",
      ...set,
      ...flags.filter((flag, at) => ![flag, flags[at - 1]].includes("--inventory")),
    ]);
    const facts = await commandLine(["facts", ...set, ...flags]);
    const node = await commandLine(["preview", ...set, ...flags]);
    expect([config, facts]).toMatchObject([config, facts].map(() => ({ code: 0, stderr: "" })));
    expect(node.code).toBe(0);
    expect(withoutAddresses(node.stderr)).toBe(
      "node-shim: left out of its Node, unless the join token allows it: label a, label c\n",
    );
    expect(parseYaml(config.stdout)).toMatchObject({
      kubeReserved: { cpu: "1m", pid: "9" },
      registerNode: true,
      maxPods: 7,
    });
    expect(config.stdout).toMatch(/^registerNode: true # --register-node\n[^]*^# --node-labels a=b,c=d # /m);
    expect(JSON.parse(facts.stdout)).toMatchObject({
      settings: { maxPods: { value: 7, source: "--max-pods" }, nodeLabels: { value: { a: "b", c: "d" } } },
    });
    expect(parseYaml(node.stdout)).toMatchObject({
      metadata: { labels: { a: "b", c: "d" } },
      status: { capacity: { pods: "7" } },
    });
  });

  it("a container runtime that is not there → not Ready, in the kubelet's words, and one line that names the flag to set", async () => {
    const socket = join(folder.path, "no.sock");
    const args = ["preview", "--container-runtime-endpoint", `unix://${socket}`];
    const { code, stdout, stderr } = await commandLine(args);
    const { status } = parseYaml(stdout) as { status: { conditions: { type: string; message: string }[] } };
    expect(code).toBe(0);
    expect(status.conditions.find(({ type }) => type === "Ready")).toMatchObject({
      status: "False",
      message: "[container runtime status check may not have completed yet, network state unknown]",
    });
    expect(withoutAddresses(stderr)).toBe(
      `node-shim: container runtime: ${socket}: rpc error: code = Unavailable desc = connect ENOENT ${socket}: ` +
        'start it, or set containerRuntimeEndpoint ("" if there is none)\n',
    );
  });
});

test("doctor → 0 where it can work, 1 where it cannot, as text and as JSON", async () => {
  const url = await serve((_request, response) => response.end("ok"));
  const well = ["doctor", "--url", url, "--state", state(), ...NAMED];
  expect(await commandLine(well)).toMatchObject({
    code: 0,
    stderr: "",
    stdout: expect.stringMatching(/^ok {4}Worker +http.*answers$/m),
  });
  const bad = await commandLine(["doctor", "--json", "--url", "http://127.0.0.1:1", "--state", state()]);
  expect(bad).toMatchObject({ code: 1, stderr: "" });
  expect(JSON.parse(bad.stdout)).toMatchObject({
    findings: expect.arrayContaining([
      { check: "Worker", level: "fail", message: expect.any(String), todo: expect.any(String) },
    ]),
  });
});

test("install-service --print → run's flags, with absolute paths; join's flags are not repeated", async () => {
  const config = join(folder.path, "k.yaml");
  writeFileSync(config, "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n");
  const labels = ["--node-labels", "a=b", "--node-labels", "c=d"];
  const flags = ["--config", relative(process.cwd(), config), ...labels, "--register-node"];
  const { code, stdout } = await commandLine(["install-service", "--print", ...flags]);
  expect(code).toBe(0);
  const program = realpathSync(process.argv[1] ?? "");
  expect(stdout).toContain(
    `ExecStart=${process.execPath} ${program} run --config=${config} --node-labels=a=b --node-labels=c=d --register-node=true $NODE_SHIM_FLAGS\n`,
  );
});

test.each([
  ["no command", []],
  ["a command that does not exist", ["walk"]],
  ["a log format that does not exist", ["run", "--log-format", "xml"]],
  ["a flag that does not exist", ["run", "--url", "https://a.example", "--bogus"]],
  ["a flag without its value", ["run", "--url"]],
  ["one argument too many", ["preview", "now"]],
])("wrong command line: %s → 2, nothing on stdout", async (_situation, args) => {
  const { code, stdout, stderr } = await commandLine(args);
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr).not.toBe("");
});

describe("cannot start → 1, and one line that says what to do", () => {
  const unreachable = "http://127.0.0.1:1";
  // Lists refusals that come after the shim has locked its state folder. program.test.ts tests the earlier
  // refusals.
  test.each<[situation: string, args: () => string[], line: RegExp]>([
    [
      "no join token",
      () => run(unreachable),
      /not enrolled yet: get a join token from your operator and pass/,
    ],
    [
      "a join token file that is missing",
      () => run(unreachable, "--join-token-file", "/nowhere/token"),
      /--join-token-file \/nowhere\/token cannot be read \(ENOENT\): put the token there/,
    ],
    [
      "a malformed token",
      () => run(unreachable, "--join-token-file", import.meta.filename),
      /this is not a join token/,
    ],
    [
      "a name that no Node can have",
      () => ["preview", "--hostname-override", "edge_1"],
      /"edge_1" cannot be a Node's name: .*pass --hostname-override/,
    ],
    [
      "more reserved than the machine has",
      () => ["preview", "--kube-reserved", "memory=1Ei"],
      /invalid Node Allocatable configuration\..* Change kubeReserved, /,
    ],
  ])("%s", async (_situation, args, line) => {
    const { code, stdout, stderr } = await commandLine(args());
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(/^node-shim: .+\n$/);
    expect(stderr).toMatch(line);
  });

  it("the state folder of another node", async () => {
    await enrolledState("edge-2");
    const { code, stderr } = await commandLine(run(unreachable));
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^node-shim: .*is enrolled as edge-2: pass --hostname-override edge-2, or another --state for edge-1\n$/,
    );
    expect(existsSync(join(state(), "lock"))).toBe(false);
  });

  describe("a setup that fails", () => {
    const reserving = (url: string) => run(url, "--kube-reserved", "memory=1Ei");
    const line = /^node-shim: invalid Node Allocatable configuration\. .* Change kubeReserved, .*$/;
    /** Returns the command's lines. Removes log lines, which appear if a resolver of this computer is slow. */
    const saidOn = (stderr: string) => stderr.split("\n").filter((each) => each.startsWith("node-shim: "));

    it("enrolled → the Worker is notified, once, and no heartbeat follows", async () => {
      const reports: { path: string | undefined; body: Report }[] = [];
      const url = await serve((request, response) => {
        let body = "";
        request.setEncoding("utf8").on("data", (chunk: string) => (body += chunk));
        request.on("end", () => {
          reports.push({ path: request.url, body: JSON.parse(body) as Report });
          const answer = { phase: "setup failed", ready: false, ticket: "t", reportInMs: 100 };
          response.end(JSON.stringify(answer));
        });
      });
      await enrolledState("edge-1");
      const { code, stderr } = await commandLine(reserving(url));
      const said = saidOn(stderr);
      expect(code).toBe(1);
      expect(said).toEqual([expect.stringMatching(line)]);
      expect(reports).toHaveLength(1);
      expect(reports[0]).toMatchObject({ path: "/v1/nodes/edge-1/report", body: { protocol: 1 } });
      expect(reports[0]?.body.vitals).toEqual({
        signals: {},
        setupError: said[0]?.slice("node-shim: ".length),
      });
      const left = JSON.parse(readFileSync(join(state(), "status.json"), "utf8")) as StatusFile;
      expect(left.ended?.fault).toBe(said[0]?.slice("node-shim: ".length));
      expect(existsSync(join(state(), "lock"))).toBe(false);
    });

    it("the Worker cannot be notified → both faults are printed", async () => {
      await enrolledState("edge-1");
      const { code, stderr } = await commandLine(reserving(unreachable));
      expect(code).toBe(1);
      expect(stderr).toMatch(/could not be told that the setup failed: .*ECONNREFUSED/);
      expect(saidOn(stderr)).toEqual([expect.stringMatching(line)]);
    });

    it("not enrolled → the join token is not used", async () => {
      let requests = 0;
      const url = await serve((_request, response) => {
        requests++;
        response.end("{}");
      });
      const { code, stderr } = await commandLine(reserving(url), { ROLLCALL_JOIN_TOKEN: JOIN_TOKEN });
      expect(code).toBe(1);
      expect(saidOn(stderr)).toEqual([expect.stringMatching(line)]);
      expect(requests).toBe(0);
    });
  });

  it("an enrolment that is refused", async () => {
    const url = await serve((_request, response) => {
      response.statusCode = 401;
      response.end(
        '{"reason":"token-refused","title":"The join token is not accepted","detail":"Ask for another."}',
      );
    });
    const { code, stderr } = await commandLine(run(url), { ROLLCALL_JOIN_TOKEN: JOIN_TOKEN });
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^node-shim: enrolment refused: The join token is not accepted\. Ask for another\. Join token: [\w-]{43}\n$/,
    );
  });
});

describe("join", () => {
  const joined = (url: string, ...more: string[]) => ["join", ...run(url, ...more).slice(1)];
  async function worker(phase = "registered"): Promise<{ url: string; paths: string[] }> {
    const paths: string[] = [];
    const url = await serve((request, response) => {
      paths.push(`${request.method} ${request.url}`);
      const answer = request.url?.endsWith("enrolment")
        ? { kid: "k", ticket: "t" }
        : { phase, ready: phase === "registered", ticket: "t", reportInMs: 20 };
      request.resume().once("end", () => response.end(JSON.stringify(answer)));
    });
    return { url, paths };
  }

  it("the cluster's answer is another one, which lasts → that answer, its remedy, and an exit code of its own", async () => {
    const { url } = await worker("name taken");
    const { code, stderr } = await commandLine(joined(url), { ROLLCALL_JOIN_TOKEN: JOIN_TOKEN });
    expect(code).toBe(5);
    expect(stderr).toMatch(
      /\nnode-shim: edge-1 is a name that another Node or another writer has\n→ rename this machine .*\n→ nothing reports/,
    );
    expect(existsSync(join(state(), "lock"))).toBe(false);
  });

  test.each<[situation: string, status: number, body: string, line: RegExp]>([
    [
      "refused",
      401,
      '{"reason":"token-refused","title":"The join token was not accepted","detail":"Ask for another."}',
      /^node-shim: not enrolled: The join token was not accepted\. Ask for another\. Join token: [\w-]{43}\n$/,
    ],
    [
      "another key is pinned",
      409,
      '{"reason":"name-pinned","title":"Another key is pinned under this name","detail":"An operator has to approve the key K."}',
      /An operator has to approve the key K\. Join token: [\w-]{43}\n$/,
    ],
    ["not a Worker", 404, "<html>", /^node-shim: not enrolled: HTTP 404 without JSON.*node-shim doctor/],
  ])(
    "%s → 1, one line, the folder is free, and it can be tried again",
    async (_situation, status, body, line) => {
      withoutWaits(BETWEEN_ATTEMPTS_MS);
      const url = await serve((_request, response) => {
        response.statusCode = status;
        response.end(body);
      });
      const { code, stdout, stderr } = await commandLine(joined(url), { ROLLCALL_JOIN_TOKEN: JOIN_TOKEN });
      expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
      expect(stderr).toMatch(line);
      expect(existsSync(join(state(), "lock"))).toBe(false);
      expect(existsSync(join(state(), "enrolment.json"))).toBe(false);
    },
  );

  describe("over a network that delays requests, so that signatures arrive too late", () => {
    /** Starts a Worker that refuses the challenge of the first `late` requests as expired. */
    async function lateWorker(late: number): Promise<{ url: string; asked: () => number }> {
      let asked = 0;
      const challenge = {
        reason: "challenge-stale",
        title: "This came too late",
        detail: "Repeat at once.",
      };
      const url = await serve((request, response) => {
        const isLate = asked++ < late;
        response.statusCode = isLate ? 409 : 200;
        const enrolled = { kid: "k", phase: "registered", ready: true, ticket: "t", reportInMs: 20 };
        const answer = isLate ? { ...challenge, challenge: `c-${asked}` } : enrolled;
        request.resume().once("end", () => response.end(JSON.stringify(answer)));
      });
      return { url, asked: () => asked };
    }

    it("for a while → enrolled", async () => {
      withoutWaits(BETWEEN_ATTEMPTS_MS);
      const { url } = await lateWorker(4);
      expect(await commandLine(joined(url), { ROLLCALL_JOIN_TOKEN: JOIN_TOKEN })).toMatchObject({
        code: 0,
        stderr: expect.stringMatching(/^node-shim: enrolled as edge-1/),
      });
    });

    it("all the time → gives up after nine requests, and prints that", async () => {
      withoutWaits(BETWEEN_ATTEMPTS_MS);
      const { url, asked } = await lateWorker(Number.POSITIVE_INFINITY);
      const { code, stderr } = await commandLine(joined(url), { ROLLCALL_JOIN_TOKEN: JOIN_TOKEN });
      expect({ code, stderr, asked: asked() }).toEqual({
        code: 1,
        stderr: expect.stringMatching(
          /^node-shim: not enrolled: This came too late\. Repeat at once\. Join token: .{43}\n$/,
        ),
        asked: 9,
      });
    });
  });

  it("a fault that run would refuse → refused before a request to the Worker", async () => {
    const { url, paths } = await worker();
    const { code, stderr } = await commandLine(joined(url, "--max-pods", "-1"), {
      ROLLCALL_JOIN_TOKEN: JOIN_TOKEN,
    });
    expect({ code, stderr, paths }).toEqual({
      code: 1,
      stderr: expect.stringMatching(/--max-pods: /),
      paths: [],
    });
  });
});

describe("upgrade", () => {
  async function worker(): Promise<{ flags: string[]; paths: string[] }> {
    const paths: string[] = [];
    const url = await serve((request, response) => {
      paths.push(`${request.method} ${request.url}`);
      request.resume().once("end", () => response.end('{"version":"9.2.0"}'));
    });
    await enrolledState("edge-1");
    return { flags: ["--url", url, "--state", state()], paths };
  }

  it("--check → asks, and prints which version it may install", async () => {
    const { flags, paths } = await worker();
    expect(await commandLine(["upgrade", "--check", ...flags])).toEqual({
      code: 0,
      stdout: "",
      stderr: expect.stringMatching(
        /^node-shim: edge-1 has \d\S+, and may have 9\.2\.0: sudo node-shim upgrade\n$/,
      ),
    });
    expect(paths).toEqual(["POST /v1/nodes/edge-1/upgrade"]);
  });
});

test("--log-format json → JSON to the last line", async () => {
  const { code, stderr } = await commandLine(run("http://127.0.0.1:1", "--log-format", "json"));
  expect(code).toBe(1);
  expect(JSON.parse(stderr)).toMatchObject({
    level: "error",
    message: expect.stringMatching(/^this machine is not/),
  });
});
