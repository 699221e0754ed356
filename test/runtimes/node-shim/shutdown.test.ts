// Tests that the installed shim reports a shutdown, which a logind on a test bus announces.
import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { makeMachineKey } from "../../../node-shim/identity/identity.ts";
import type { Report } from "../../../shared/protocol/report.ts";
import { ROOT, temporaryFolder } from "../../node-shim/base/temporary-folder.ts";
import {
  type Daemon,
  hasDbusDaemon,
  joinAsLogind,
  startDaemon,
  WITHOUT_DBUS,
} from "../../process/node-shim/wire/dbus/daemon.ts";
import { nodes } from "./nodes.ts";
import { fakeInhibit } from "../../process/node-shim/shutdown/fake-inhibit.ts";

const BIN = join(ROOT, "node-shim/bin/node-shim.cjs");
const KUBELET_FILE = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
shutdownGracePeriod: 30s
containerRuntimeEndpoint: ""
`;

interface Arrived {
  report: Report;
  answer: () => void;
}

/**
 * Starts a server for reports. `next` returns the reports in their order of arrival, and the test decides when each
 * is answered. The answers request the next report in an hour.
 */
async function serveReports(): Promise<{ url: string; server: Server; next: () => Promise<Arrived> }> {
  const arrived: Arrived[] = [];
  const waiting: ((report: Arrived) => void)[] = [];
  const server = createServer((request, response: ServerResponse) => {
    let body = "";
    request.setEncoding("utf8").on("data", (chunk: string) => (body += chunk));
    request.on("end", () => {
      const said = { phase: "registered", ready: true, ticket: "t", reportInMs: 3_600_000 };
      const one = {
        report: JSON.parse(body) as Report,
        answer: () => void response.end(JSON.stringify(said)),
      };
      const take = waiting.shift();
      if (take) take(one);
      else arrived.push(one);
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    server,
    next: () => {
      const there = arrived.shift();
      return there ? Promise.resolve(there) : new Promise((take) => void waiting.push(take));
    },
  };
}

describe.skipIf(!hasDbusDaemon).each(nodes())(
  `node-shim on Node %s (else: ${WITHOUT_DBUS})`,
  (version, node) => {
    // The time limit of the last report does not depend on the runtime: one version of Node tests the limit.
    const isOwn = version === process.version;
    let folder: { path: string; remove: () => void };
    let daemon: Daemon;
    let logind: Awaited<ReturnType<typeof joinAsLogind>>;
    let worker: Awaited<ReturnType<typeof serveReports>>;
    let systemd: ReturnType<typeof fakeInhibit>;
    let child: ChildProcess;
    let stderr: string;
    let ended: Promise<number | null>;

    beforeEach(async () => {
      folder = temporaryFolder();
      daemon = await startDaemon(folder.path);
      logind = await joinAsLogind(daemon);
      worker = await serveReports();
      systemd = fakeInhibit(folder.path);
      const state = join(folder.path, "state");
      const { jwk, thumbprint } = await makeMachineKey();
      mkdirSync(state);
      writeFileSync(join(state, "key.json"), JSON.stringify(jwk));
      writeFileSync(join(state, "enrolment.json"), JSON.stringify({ name: "edge-1", thumbprint, kid: "k" }));
      const config = join(folder.path, "kubelet.yaml");
      writeFileSync(config, KUBELET_FILE);
      const args = ["run", "--url", worker.url, "--state", state, "--hostname-override", "edge-1"];
      child = spawn(node, [BIN, ...args, "--config", config], {
        env: { ...process.env, PATH: systemd.path, DBUS_SYSTEM_BUS_ADDRESS: daemon.address },
        stdio: ["ignore", "ignore", "pipe"],
      });
      stderr = "";
      child.stderr?.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
      ended = new Promise((resolve) => void child.once("close", resolve));
    });
    afterEach(async () => {
      child.kill("SIGKILL");
      await ended;
      worker.server.closeAllConnections();
      worker.server.close();
      await daemon.stop();
      folder.remove();
    });
    const messages = () =>
      stderr
        .trim()
        .split("\n")
        .map((line) => (JSON.parse(line) as { message: string }).message);

    it("a shutdown → reported at once, and continued; cancelled → reported at once; SIGTERM → no further report", async () => {
      const first = await worker.next();
      expect(first.report.vitals).not.toHaveProperty("shuttingDown");
      first.answer();
      await systemd.until(1);

      logind.prepareForShutdown(true);
      const second = await worker.next();
      expect(second.report.vitals.shuttingDown).toBe(true);
      expect(systemd.lines()).toHaveLength(1);
      second.answer();
      await systemd.until(2);
      expect(systemd.lines()[1]).toBe("released");

      logind.prepareForShutdown(false);
      const third = await worker.next();
      expect(third.report.vitals).not.toHaveProperty("shuttingDown");
      third.answer();
      await systemd.until(3);

      child.kill("SIGTERM");
      expect(await ended).toBe(0);
      await systemd.until(4);
      expect(messages()).toEqual([
        "phase: registered, node Ready",
        "the machine is shutting down",
        "the shutdown was cancelled",
      ]);
      const late = await Promise.race([worker.next(), Promise.resolve("none")]);
      expect(late).toBe("none");
    });

    it.runIf(isOwn)("SIGTERM during the last report → it is waited for", async () => {
      (await worker.next()).answer();
      await systemd.until(1);
      logind.prepareForShutdown(true);
      const last = await worker.next();
      child.kill("SIGTERM");
      last.answer();
      expect(await ended).toBe(0);
      await systemd.until(2);
      expect(messages().at(-1)).toBe("the machine is shutting down");
    });

    it.runIf(isOwn)("SIGTERM while the last report gets no answer → still ends", async () => {
      (await worker.next()).answer();
      await systemd.until(1);
      logind.prepareForShutdown(true);
      await worker.next();
      child.kill("SIGTERM");
      expect(await ended).toBe(0);
    });
  },
);
