// The shim as it is installed: the bundle, on the Node that runs the tests and on the machine's own where it differs. What
// takes no process of its own: command-line.test.ts.
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import type { RequestListener } from "node:http";
import { join } from "node:path";
import { afterEach, beforeAll, beforeEach, describe, expect, it, test } from "vitest";
import { parse as parseYaml } from "yaml";
import project from "../../../package.json" with { type: "json" };
import { eventually, ROOT } from "../../e2e/local-cluster.ts";
import { nodes } from "../nodes.ts";
import { JOIN_TOKEN, type MachineFolder, machineFolder, NO_RUNTIME } from "./machine-folder.ts";

const BIN = join(ROOT, "node-shim/bin/node-shim.cjs");

beforeAll(() => {
  if (!existsSync(join(ROOT, "node-shim/dist/node-shim.cjs"))) throw new Error("npm run build comes first");
});

describe.each(nodes())("node-shim on Node %s", (version, node) => {
  // join is the same code everywhere: one runtime is enough for it.
  const isOwn = version === process.version;
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

  function start(
    args: string[],
    environment: Record<string, string> = {},
    stdin: "ignore" | "pipe" = "ignore",
  ) {
    const { ROLLCALL_JOIN_TOKEN: _, ROLLCALL_URL: __, ...inherited } = process.env;
    const child = spawn(node, [BIN, ...args], {
      env: { ...inherited, ...environment },
      stdio: [stdin, "pipe", "pipe"],
    });
    children.push(child);
    const text = { stdout: "", stderr: "" };
    for (const name of ["stdout", "stderr"] as const)
      child[name]?.on("data", (chunk: Buffer) => (text[name] += chunk.toString()));
    const said = (pattern: RegExp) =>
      new Promise<void>((found) => {
        const look = () => pattern.test(text.stderr) && found();
        child.stderr?.on("data", look);
        look();
      });
    const ended = new Promise<{ code: number | null; stdout: string; stderr: string }>((done) =>
      child.once("close", (code) => done({ code, ...text })),
    );
    return { child, said, ended };
  }
  const end = (args: string[], environment?: Record<string, string>) => start(args, environment).ended;

  const run = (...args: Parameters<MachineFolder["run"]>) => folder.run(...args);
  const serve = (listener: RequestListener) => folder.serve(listener);
  const enrolledState = (name: string) => folder.enrol(name);
  const state = () => folder.state;

  test("--help → exit codes and commands, 0; --version → package.json's, 0", async () => {
    const [help, runHelp, version] = await Promise.all([
      end(["--help"]),
      end(["run", "--help"]),
      end(["--version"]),
    ]);
    expect(help).toMatchObject({ code: 0, stderr: "" });
    expect(help.stdout).toMatch(/^ {2}run .*[^]*^ {2}preview .*[^]*^ {2}2 {2}the command line is wrong$/m);
    expect(runHelp).toMatchObject({
      code: 0,
      stderr: "",
      stdout: expect.stringContaining("--join-token-file"),
    });
    expect(version).toEqual({ code: 0, stdout: `${project.version}\n`, stderr: "" });
  });

  test("preview → a Node in YAML, and nothing is written", async () => {
    const { code, stdout, stderr } = await end(["preview", "--hostname-override", "Edge-1", ...NO_RUNTIME]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(parseYaml(stdout)).toMatchObject({
      apiVersion: "v1",
      kind: "Node",
      metadata: { name: "edge-1", labels: { "kubernetes.io/os": "linux" } },
      spec: { taints: [{ key: "rollcall.dev/facts-only", effect: "NoSchedule" }] },
      status: { nodeInfo: { operatingSystem: "linux" }, capacity: { pods: "110" } },
    });
  });

  test.runIf(isOwn)(
    "preview, config and facts read the kubelet's flags: a boolean alone is true, and maps add up",
    async () => {
      const flags = [
        ...NO_RUNTIME,
        "--hostname-override",
        "edge-1",
        "--node-labels",
        "a=b",
        "--node-labels",
        "c=d",
      ];
      const set = ["--kube-reserved=cpu=1m", "--kube-reserved=pid=9", "--register-node", "--max-pods", "7"];
      const [config, facts, node] = await Promise.all([
        end(["config", ...set, ...flags]),
        end(["facts", ...set, ...flags]),
        end(["preview", ...set, ...flags]),
      ]);
      expect([config, facts, node]).toMatchObject(Array.from({ length: 3 }, () => ({ code: 0, stderr: "" })));
      expect(parseYaml(config.stdout)).toMatchObject({
        kubeReserved: { cpu: "1m", pid: "9" },
        registerNode: true,
        maxPods: 7,
      });
      expect(config.stdout).toMatch(
        /^registerNode: true # --register-node\n[^]*^# --node-labels a=b,c=d # /m,
      );
      expect(JSON.parse(facts.stdout)).toMatchObject({
        settings: { maxPods: { value: 7, source: "--max-pods" }, nodeLabels: { value: { a: "b", c: "d" } } },
      });
      expect(parseYaml(node.stdout)).toMatchObject({
        metadata: { labels: { a: "b", c: "d" } },
        status: { capacity: { pods: "7" } },
      });
    },
  );

  test("wrong command line → 2, nothing on stdout", async () => {
    const { code, stdout, stderr } = await end(["run", "--url", "https://a.example", "--bogus"]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).not.toBe("");
  });

  test("cannot begin → 1, and one line that says what to do", async () => {
    const { code, stdout, stderr } = await end(run("http://127.0.0.1:1"));
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(
      /^node-shim: .*not enrolled yet: get a join token from your operator and pass.*\n$/,
    );
  });

  it("a container runtime that is not there → not Ready, in the kubelet's words, and one line that says what to set", async () => {
    const socket = join(folder.path, "no.sock");
    const { code, stdout, stderr } = await end([
      "preview",
      "--container-runtime-endpoint",
      `unix://${socket}`,
    ]);
    const { status } = parseYaml(stdout) as { status: { conditions: { type: string; message: string }[] } };
    expect(code).toBe(0);
    expect(status.conditions.find(({ type }) => type === "Ready")).toMatchObject({
      status: "False",
      message: "[container runtime status check may not have completed yet, network state unknown]",
    });
    expect(stderr).toBe(
      `node-shim: container runtime: ${socket}: rpc error: code = Unavailable desc = connect ENOENT ${socket}: ` +
        'start it, or set containerRuntimeEndpoint ("" where there is none)\n',
    );
  });

  describe("SIGTERM or SIGINT → 0, at once, and the folder is free", () => {
    test.each(["SIGTERM", "SIGINT"] as const)(
      "%s while the Worker cannot be reached, not enrolled",
      async (signal) => {
        const { child, said, ended } = start(run("http://127.0.0.1:1"), { ROLLCALL_JOIN_TOKEN: JOIN_TOKEN });
        await said(/enrolment failed: .*ECONNREFUSED.*; trying again/);
        child.kill(signal);
        expect((await ended).code).toBe(0);
        expect(existsSync(join(state(), "lock"))).toBe(false);
      },
    );

    test("while the Worker cannot be reached, enrolled", async () => {
      await enrolledState("edge-1");
      const { child, said, ended } = start(run("http://127.0.0.1:1"));
      await said(/report failed: .*ECONNREFUSED/);
      child.kill("SIGTERM");
      expect((await ended).code).toBe(0);
    });

    test.each(["enrolled", "not enrolled"])("while the Worker holds a request, %s", async (situation) => {
      if (situation === "enrolled") await enrolledState("edge-1");
      let arrived = () => {};
      const there = new Promise<void>((resolve) => (arrived = resolve));
      const url = await serve(() => arrived());
      const { child, ended } = start(run(url), { ROLLCALL_JOIN_TOKEN: JOIN_TOKEN });
      await there;
      child.kill("SIGTERM");
      expect(await ended).toEqual({ code: 0, stdout: "", stderr: "" });
      expect(existsSync(join(state(), "lock"))).toBe(false);
    });
  });

  it("SIGTERM while a hung file system holds a thread → ends by that signal, and the folder is free", async () => {
    await enrolledState("edge-1");
    const pipe = join(folder.path, "pipe");
    execFileSync("mkfifo", [pipe]);
    const hanging = join(folder.path, "hang.mjs");
    // Opening a pipe that nobody writes to: a system call that does not return.
    writeFileSync(
      hanging,
      `import { readFile } from "node:fs/promises"; void readFile(${JSON.stringify(pipe)});`,
    );
    const { child, said, ended } = start(run("http://127.0.0.1:1"), { NODE_OPTIONS: `--import=${hanging}` });
    await said(/report failed: .*ECONNREFUSED/);
    child.kill("SIGTERM");
    await ended;
    expect(child.signalCode).toBe("SIGTERM");
    expect(existsSync(join(state(), "lock"))).toBe(false);
  });

  it("a Worker that ends the connection after each answer → the next report all the same", async () => {
    let reports = 0;
    const thrice = Promise.withResolvers<void>();
    const url = await serve((request, response) => {
      if (++reports === 3) thrice.resolve();
      const answer = { phase: "registered", ready: true, ticket: "t", reportInMs: 100 };
      request.resume().once("end", () => {
        response.end(JSON.stringify(answer));
        setImmediate(() => request.socket.destroy());
      });
    });
    await enrolledState("edge-1");
    const { child, said, ended } = start(run(url));
    await said(/phase: registered, node Ready/);
    await thrice.promise;
    child.kill("SIGTERM");
    const { code, stderr } = await ended;
    expect(code).toBe(0);
    expect(stderr.trim().split("\n")).toHaveLength(1);
  });

  describe.runIf(isOwn)("join", () => {
    const joined = (url: string, ...more: string[]) => ["join", ...run(url, ...more).slice(1)];
    async function worker(): Promise<{ url: string; paths: string[] }> {
      const paths: string[] = [];
      const url = await serve((request, response) => {
        paths.push(`${request.method} ${request.url}`);
        const answer = request.url?.endsWith("enrolment")
          ? { kid: "k", ticket: "t" }
          : { phase: "registered", ready: true, ticket: "t", reportInMs: 20 };
        request.resume().once("end", () => response.end(JSON.stringify(answer)));
      });
      return { url, paths };
    }
    function startWithInput(args: string[], input: string) {
      const started = start(args, {}, "pipe");
      started.child.stdin?.end(input);
      return started.ended;
    }

    const REPORT = "POST /v1/nodes/edge-1/report";
    const NEXT = "→ nothing reports from now on, and the Node will not stay Ready; next: .*node-shim run\n";

    it("token on standard input → enrolled, reported, Ready; again → only reported; run → needs no URL", async () => {
      const { url, paths } = await worker();
      const first = await startWithInput(joined(url, "--join-token-file", "-"), `${JOIN_TOKEN}\n`);
      expect(first).toEqual({
        code: 0,
        stdout: "",
        stderr: expect.stringMatching(
          new RegExp(
            `^node-shim: enrolled as edge-1 at http://127.0.0.1:\\d+, key .{43}\nnode-shim: edge-1 is Ready\n${NEXT}$`,
          ),
        ),
      });
      expect(paths).toEqual(["PUT /v1/nodes/edge-1/enrolment", REPORT]);
      const second = await end(joined(url));
      expect(second).toMatchObject({
        code: 0,
        stderr: expect.stringMatching(/is enrolled at .* already.*\nnode-shim: edge-1 is Ready\n/),
      });
      expect(paths.slice(2)).toEqual([REPORT]);
      const { child, said, ended } = start(["run", "--state", state(), "--hostname-override", "edge-1"]);
      await said(/phase: registered, node Ready/);
      child.kill("SIGTERM");
      expect((await ended).code).toBe(0);
    });
  });

  test("doctor → 0 where it can work, 1 where it cannot, as text and as JSON", async () => {
    const url = await serve((_request, response) => response.end("ok"));
    const [well, bad] = await Promise.all([
      end(["doctor", "--url", url, "--state", state(), "--hostname-override", "edge-1"]),
      end(["doctor", "--json", "--url", "http://127.0.0.1:1", "--state", state()]),
    ]);
    expect(well).toMatchObject({
      code: 0,
      stderr: "",
      stdout: expect.stringMatching(/^ok {4}Worker +http.*answers$/m),
    });
    expect(bad).toMatchObject({ code: 1, stderr: "" });
    expect(JSON.parse(bad.stdout)).toMatchObject({
      findings: expect.arrayContaining([
        { check: "Worker", level: "fail", message: expect.any(String), todo: expect.any(String) },
      ]),
    });
  });

  test("version → of the shim, of what its Node shows as the kubelet's, of Node.js", async () => {
    expect(await end(["version"])).toEqual({
      code: 0,
      stdout: `node-shim ${project.version}\nkubelet v1.36.0-rollcall-v${project.version}\nnode ${version} linux/${process.arch}\n`,
      stderr: "",
    });
  });

  test("install-service --print → run's flags, with paths that hold from everywhere; join's are not repeated", async () => {
    writeFileSync(
      join(folder.path, "k.yaml"),
      "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n",
    );
    const flags = [
      "--config",
      join(folder.path, ".", "k.yaml"),
      "--node-labels",
      "a=b",
      "--node-labels",
      "c=d",
    ];
    const { code, stdout } = await end(["install-service", "--print", ...flags, "--register-node"]);
    expect(code).toBe(0);
    expect(stdout).toContain(
      `ExecStart=${node} ${BIN} run --config=${folder.path}/k.yaml --node-labels=a=b --node-labels=c=d --register-node=true $NODE_SHIM_FLAGS\n`,
    );
  });

  test("--log-format text → readable lines where no terminal is", async () => {
    const { child, said, ended } = start(run("http://127.0.0.1:1", "--log-format", "text"), {
      ROLLCALL_JOIN_TOKEN: JOIN_TOKEN,
    });
    await said(/^\d\d:\d\d:\d\d warn enrolment failed: /);
    child.kill("SIGTERM");
    expect((await ended).code).toBe(0);
  });

  it("enrols, reports, shows its status also to join, refuses a second shim on its folder, and tells no secret", async () => {
    const paths: string[] = [];
    const url = await serve((request, response) => {
      paths.push(`${request.method} ${request.url}`);
      const answer = request.url?.endsWith("enrolment")
        ? { kid: "k", ticket: "t" }
        : { phase: "registered", ready: true, ticket: "t", reportInMs: 20 };
      request.resume().once("end", () => response.end(JSON.stringify(answer)));
    });
    const { child, said, ended } = start(run(url), { ROLLCALL_JOIN_TOKEN: JOIN_TOKEN });
    await said(/phase: registered, node Ready/);
    const second = await end(run(url));
    expect(second).toEqual({
      code: 1,
      stdout: "",
      stderr: `node-shim: ${state()} is in use by process ${child.pid}: stop it, or pass another --state\n`,
    });
    const status = await eventually(async () => {
      const seen = await end(["status", "--state", state()]);
      return seen.code === 0 && seen;
    });
    expect(status).toEqual({ code: 0, stderr: "", stdout: expect.stringMatching(/^edge-1 is Ready\n/) });
    const joined = await end(["join", ...run(url).slice(1)]);
    expect(joined).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(/already.*\n.*edge-1 is Ready\n$/),
    });
    child.kill("SIGTERM");
    const { code, stdout, stderr } = await ended;
    expect(code).toBe(0);
    const after = await end(["status", "--json", "--state", state()]);
    expect(after.code).toBe(3);
    expect(JSON.parse(after.stdout)).toMatchObject({
      kind: "not running",
      isRunning: false,
      status: { name: "edge-1", answer: { phase: "registered", ready: true } },
    });
    expect(paths.slice(0, 2)).toEqual(["PUT /v1/nodes/edge-1/enrolment", "POST /v1/nodes/edge-1/report"]);
    const { d } = JSON.parse(readFileSync(join(state(), "key.json"), "utf8")) as { d: string };
    for (const secret of [JOIN_TOKEN, d]) expect(stdout + stderr + after.stdout).not.toContain(secret);
    for (const line of stderr.trim().split("\n"))
      expect(Object.keys(JSON.parse(line) as object)).toEqual(["time", "level", "message"]);
  });
});
