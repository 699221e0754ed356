// Tests the installed shim on each version of Node, but only behaviour that depends on Node itself. All other
// behaviour is tested on one Node, or without a process.
import { spawn, type ChildProcess } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import project from "../../../package.json" with { type: "json" };
import { makeMachineKey } from "../../../node-shim/identity/identity.ts";
import { ROOT } from "../../node-shim/base/temporary-folder.ts";
import { eventually } from "../../node-shim/base/eventually.ts";
import { commandLine } from "../../node-shim/cli/command-line.ts";
import { JOIN_TOKEN, type MachineFolder, machineFolder } from "../../node-shim/cli/machine-folder.ts";
import { nodes } from "./nodes.ts";
import {
  connectProxy,
  type Listening,
  selfSigned,
  tlsWorker,
  WORKER_NAME,
} from "../../node-shim/worker-link/connect-proxy.ts";
import { fakeGateway } from "../../node-shim/worker-link/fake-gateway.ts";

const BIN = join(ROOT, "node-shim/bin/node-shim.cjs");

describe.each(nodes())("node-shim on Node %s", (version, node) => {
  let folder: MachineFolder;
  let children: ChildProcess[];
  let listening: Listening[];
  beforeEach(() => {
    folder = machineFolder();
    children = [];
    listening = [];
  });
  afterEach(() => {
    for (const child of children) child.kill("SIGKILL");
    for (const { close } of listening) close();
    folder.remove();
  });

  function start(args: string[], environment: Record<string, string>) {
    const child = spawn(node, [BIN, ...args], {
      env: { PATH: process.env["PATH"], ROLLCALL_JOIN_TOKEN: JOIN_TOKEN, ...environment },
      stdio: ["ignore", "pipe", "pipe"],
    });
    children.push(child);
    let said = "";
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (chunk: Buffer) => (said += chunk.toString()));
    const ended = new Promise<{ code: number | null; said: string }>((done) =>
      child.once("close", (code) => done({ code, said })),
    );
    return { child, ended };
  }

  it("version → the shim's and Node.js's", async () => {
    expect(await start(["version"], {}).ended).toEqual({
      code: 0,
      said: `node-shim ${project.version}\nnode ${version} linux/${process.arch}\n`,
    });
  });

  it("a Worker that closes the connection after each answer → the next report arrives; SIGTERM → 0", async () => {
    let reports = 0;
    const thrice = Promise.withResolvers<void>();
    const url = await folder.serve((request, response) => {
      if (++reports === 3) thrice.resolve();
      const answer = { phase: "registered", ready: true, ticket: "t", reportInMs: 100 };
      request.resume().once("end", () => {
        response.end(JSON.stringify(answer));
        setImmediate(() => request.socket.destroy());
      });
    });
    await folder.enrol("edge-1");
    const running = start(folder.run(url), {});
    await thrice.promise;
    running.child.kill("SIGTERM");
    const { code, said } = await running.ended;
    expect(code).toBe(0);
    expect(said).toMatch(/^[^\n]*phase: registered, node Ready[^\n]*\n$/);
  });

  it("enrols and reports through one tunnel; trusts the authorities of flag and environment; never prints the password", async () => {
    const [workerPems, otherPems] = await Promise.all([selfSigned(WORKER_NAME), selfSigned("other.test")]);
    const thrice = Promise.withResolvers<void>();
    let reports = 0;
    const worker = await tlsWorker(workerPems, (request, response) => {
      const isReport = request.url?.endsWith("/report");
      if (isReport && ++reports === 3) thrice.resolve();
      const answer = isReport
        ? { phase: "registered", ready: true, ticket: "t", reportInMs: 20 }
        : { kid: "k", ticket: "t" };
      request.resume().once("end", () => response.end(JSON.stringify(answer)));
    });
    const proxy = await connectProxy(({ head, socket, join }) => {
      if (head.includes(`proxy-authorization: Basic ${btoa("edge:p@ssword")}\r\n`)) join();
      else socket.end("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n");
    });
    listening.push(worker, proxy);
    const [workerCa, otherCa] = [join(folder.path, "worker.pem"), join(folder.path, "other.pem")];
    writeFileSync(workerCa, workerPems.cert);
    writeFileSync(otherCa, otherPems.cert);
    const flags = [
      `--url=https://${WORKER_NAME}:${worker.port}`,
      `--state=${join(folder.path, "state")}`,
      "--hostname-override=edge-1",
      `--ca-file=${otherCa}`,
      "--container-runtime-endpoint=",
    ];
    const environment = {
      HTTPS_PROXY: `http://edge:p%40ssword@127.0.0.1:${proxy.port}`,
      NO_PROXY: "other.test, 10.0.0.0/8",
      NODE_EXTRA_CA_CERTS: workerCa,
    };

    const running = start(["run", ...flags], environment);
    await thrice.promise;
    running.child.kill("SIGTERM");
    const { code, said } = await running.ended;
    expect(code).toBe(0);
    expect(said).not.toMatch(/p(@|%40)ssword/);
    expect(proxy.asked.map(({ target }) => target)).toEqual([`${WORKER_NAME}:${worker.port}`]);
  });

  it("opens a socket through proxy and authority, sends heartbeats over it, logs that, and closes it with 1000 at the end", async () => {
    const pems = await selfSigned(WORKER_NAME);
    const gateway = await fakeGateway({ nextInMs: 20, reportInMs: 20 }, pems);
    const proxy = await connectProxy(({ join }) => join());
    listening.push({ ...proxy, close: gateway.close }, proxy);
    const ca = join(folder.path, "ca.pem");
    writeFileSync(ca, pems.cert);
    const origin = `https://${WORKER_NAME}:${gateway.port}`;
    const state = join(folder.path, "state");
    mkdirSync(state, { mode: 0o700 });
    const { jwk, thumbprint } = await makeMachineKey();
    const enrolment = { name: "edge-1", thumbprint, kid: `1.${thumbprint}.e.m`, origin };
    writeFileSync(join(state, "key.json"), JSON.stringify(jwk), { mode: 0o600 });
    writeFileSync(join(state, "enrolment.json"), JSON.stringify(enrolment), { mode: 0o600 });
    const flags = [`--state=${state}`, "--hostname-override=edge-1", "--inventory=off", `--ca-file=${ca}`];
    const environment = { HTTPS_PROXY: `http://127.0.0.1:${proxy.port}` };

    const running = start(["run", ...flags, "--container-runtime-endpoint="], environment);
    await eventually(() => gateway.log).toContain("beat 3");
    const status = await commandLine(["status", `--state=${state}`, "--json"]);
    expect(JSON.parse(status.stdout)).toMatchObject({
      status: { transport: { via: "socket", choice: "auto" } },
    });
    running.child.kill("SIGTERM");
    const { code, said } = await running.ended;
    expect(code).toBe(0);
    expect(said).toContain('"message":"reports go over a socket"');
    await eventually(() => gateway.log.at(-1)).toBe("closed 1000");
    const target = `${WORKER_NAME}:${gateway.port}`;
    expect(proxy.asked.map(({ target }) => target)).toEqual([target, target]);
  });
});
