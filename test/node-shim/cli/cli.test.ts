// The shim as it is installed: the bundle, on the Node that runs the tests and on the machine's own where it differs.
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterEach, beforeAll, beforeEach, describe, expect, it, test } from "vitest";
import { parse as parseYaml } from "yaml";
import type { Report } from "../../../shared/protocol/report.ts";
import { makeMachineKey } from "../../../node-shim/identity/machine-key.ts";
import project from "../../../package.json" with { type: "json" };
import { eventually, ROOT, temporaryFolder } from "../../e2e/local-cluster.ts";
import type { StatusFile } from "../../../node-shim/status/status-file.ts";
import { nodes } from "../nodes.ts";

const BIN = join(ROOT, "node-shim/bin/node-shim.cjs");
const NO_RUNTIME = ["--container-runtime-endpoint", ""];
const JOIN_TOKEN = `rcj1_${"A".repeat(43)}`;

beforeAll(() => {
  if (!existsSync(join(ROOT, "node-shim/dist/node-shim.cjs"))) throw new Error("npm run build comes first");
});

describe.each(nodes())("node-shim on Node %s", (version, node) => {
  // Refusals of flags and files are the same code everywhere: one runtime is enough for them.
  const isOwn = version === process.version;
  let folder: { path: string; remove: () => void };
  let children: ChildProcess[];
  let servers: Server[];
  beforeEach(() => {
    folder = temporaryFolder();
    children = [];
    servers = [];
  });
  afterEach(() => {
    for (const child of children) child.kill("SIGKILL");
    for (const server of servers) {
      server.close();
      server.closeAllConnections();
    }
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

  async function serve(listener: RequestListener): Promise<string> {
    const server = createServer(listener);
    servers.push(server);
    await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }
  const state = () => join(folder.path, "state");
  /** The folder of a machine that has enrolled. */
  async function enrolledState(name: string): Promise<void> {
    const { jwk, thumbprint } = await makeMachineKey();
    mkdirSync(state(), { mode: 0o700 });
    writeFileSync(join(state(), "key.json"), JSON.stringify(jwk));
    writeFileSync(join(state(), "enrolment.json"), JSON.stringify({ name, thumbprint, kid: "k" }));
  }
  const run = (url: string, ...more: string[]) => [
    "run",
    "--url",
    url,
    "--state",
    state(),
    "--hostname-override",
    "edge-1",
    ...NO_RUNTIME,
    ...more,
  ];

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

  test.each([
    ["no command", []],
    ["a command that does not exist", ["walk"]],
    ["a log format that does not exist", ["run", "--log-format", "xml"]],
    ["a flag that does not exist", ["run", "--url", "https://a.example", "--bogus"]],
    ["a flag without its value", ["run", "--url"]],
    ["an argument too many", ["preview", "now"]],
  ])("wrong command line: %s → 2, nothing on stdout", async (_situation, args) => {
    const { code, stdout, stderr } = await end(args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).not.toBe("");
  });

  describe.runIf(isOwn)("cannot begin → 1, and one line that says what to do", () => {
    const unreachable = "http://127.0.0.1:1";
    // What is refused before it takes its folder needs no process: program.test.ts.
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
      ["a token that is none", () => run(unreachable, "--join-token-file", BIN), /this is not a join token/],
      [
        "a name that no Node can have",
        () => ["preview", "--hostname-override", "edge_1"],
        /"edge_1" cannot be a Node's name: .*pass --hostname-override/,
      ],
      [
        "more reserved than there is",
        () => ["preview", "--kube-reserved", "memory=1Ei"],
        /invalid Node Allocatable configuration\..* Change kubeReserved, /,
      ],
    ])("%s", async (_situation, args, line) => {
      const { code, stdout, stderr } = await end(args());
      expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
      expect(stderr).toMatch(/^node-shim: .+\n$/);
      expect(stderr).toMatch(line);
    });

    it("another node's state folder", async () => {
      await enrolledState("edge-2");
      const { code, stderr } = await end(run(unreachable));
      expect(code).toBe(1);
      expect(stderr).toMatch(/^node-shim: .*belongs to the node edge-2: use another --state for edge-1\n$/);
      expect(existsSync(join(state(), "lock"))).toBe(false);
    });

    describe("a setup that fails", () => {
      const reserving = (url: string) => run(url, "--kube-reserved", "memory=1Ei");
      const line = /^node-shim: invalid Node Allocatable configuration\. .* Change kubeReserved, .*\n$/;

      it("enrolled → the Worker is told, once, and no heartbeat follows", async () => {
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
        const { code, stderr } = await end(reserving(url));
        expect(code).toBe(1);
        expect(stderr).toMatch(line);
        expect(reports).toHaveLength(1);
        expect(reports[0]).toMatchObject({ path: "/v1/nodes/edge-1/report", body: { protocol: 1 } });
        expect(reports[0]?.body.vitals).toEqual({
          signals: {},
          setupError: stderr.slice("node-shim: ".length).trim(),
        });
        const left = JSON.parse(readFileSync(join(state(), "status.json"), "utf8")) as StatusFile;
        expect(left.ended?.fault).toBe(stderr.slice("node-shim: ".length).trim());
        expect(existsSync(join(state(), "lock"))).toBe(false);
      });

      it("the Worker cannot be told → both are said", async () => {
        await enrolledState("edge-1");
        const { code, stderr } = await end(reserving(unreachable));
        const [warning = "", ...rest] = stderr.split("\n");
        expect(code).toBe(1);
        expect(warning).toMatch(/could not be told that the setup failed: .*ECONNREFUSED/);
        expect(rest.join("\n")).toMatch(line);
      });

      it("not enrolled → no use of a join token is spent on it", async () => {
        let requests = 0;
        const url = await serve((_request, response) => {
          requests++;
          response.end("{}");
        });
        const { code, stderr } = await end(reserving(url), { ROLLCALL_JOIN_TOKEN: JOIN_TOKEN });
        expect(code).toBe(1);
        expect(stderr).toMatch(line);
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
      const { code, stderr } = await end(run(url), { ROLLCALL_JOIN_TOKEN: JOIN_TOKEN });
      expect(code).toBe(1);
      expect(stderr).toMatch(
        /^node-shim: enrolment refused: The join token is not accepted\. Ask for another\. Join token: [\w-]{43}\n$/,
      );
    });
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

    it("the cluster's answer is another one, which does not pass → that, its cure, and an exit code of its own", async () => {
      const { url } = await worker("name taken");
      const { code, stderr } = await end(joined(url), { ROLLCALL_JOIN_TOKEN: JOIN_TOKEN });
      expect(code).toBe(5);
      expect(stderr).toMatch(
        /\nnode-shim: edge-1 is a name that another Node or writer has\n→ rename this machine .*\n→ nothing reports/,
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
        '{"reason":"name-pinned","title":"Another key is pinned under this name","detail":"An operator has to approve."}',
        /An operator has to approve\. This machine's key: .{43}\. Join token: [\w-]{43}\n$/,
      ],
      ["not a Worker", 404, "<html>", /^node-shim: not enrolled: HTTP 404 without JSON.*node-shim doctor/],
    ])(
      "%s → 1, one line, the folder is free, and it can be tried again",
      async (_situation, status, body, line) => {
        const url = await serve((_request, response) => {
          response.statusCode = status;
          response.end(body);
        });
        const { code, stdout, stderr } = await end(joined(url), { ROLLCALL_JOIN_TOKEN: JOIN_TOKEN });
        expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
        expect(stderr).toMatch(line);
        expect(existsSync(join(state(), "lock"))).toBe(false);
        expect(existsSync(join(state(), "enrolment.json"))).toBe(false);
      },
    );

    describe("over a network that holds requests up, so that what it signed comes too late", () => {
      /** A Worker to which the first ones do. */
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
        const { url } = await lateWorker(4);
        expect(await end(joined(url), { ROLLCALL_JOIN_TOKEN: JOIN_TOKEN })).toMatchObject({
          code: 0,
          stderr: expect.stringMatching(/^node-shim: enrolled as edge-1/),
        });
      });

      it("all the time → gives up after nine requests, and says so", async () => {
        const { url, asked } = await lateWorker(Number.POSITIVE_INFINITY);
        const { code, stderr } = await end(joined(url), { ROLLCALL_JOIN_TOKEN: JOIN_TOKEN });
        expect({ code, stderr, asked: asked() }).toEqual({
          code: 1,
          stderr: expect.stringMatching(
            /^node-shim: not enrolled: This came too late\. Repeat at once\. Join token: .{43}\n$/,
          ),
          asked: 9,
        });
      });
    });

    it("what run would refuse → refused before the Worker hears of it", async () => {
      const { url, paths } = await worker();
      const { code, stderr } = await end(joined(url, "--max-pods", "-1"), {
        ROLLCALL_JOIN_TOKEN: JOIN_TOKEN,
      });
      expect({ code, stderr, paths }).toEqual({
        code: 1,
        stderr: expect.stringMatching(/--max-pods: /),
        paths: [],
      });
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

  test("--log-format json → JSON to the last line", async () => {
    const { code, stderr } = await end(run("http://127.0.0.1:1", "--log-format", "json"));
    expect(code).toBe(1);
    expect(JSON.parse(stderr)).toMatchObject({
      level: "error",
      message: expect.stringMatching(/^this machine is not/),
    });
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
