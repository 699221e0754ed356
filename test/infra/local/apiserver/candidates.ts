// The servers that a contract is checked against: the embedded apiserver and, where KUBEBUILDER_ASSETS names a folder
// with etcd and kube-apiserver, a real one with a folder and ports of its own. No test of its own.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createHttpsClient } from "../../../../infra/local/https-fetch.ts";
import { startRealApiserver } from "../../../../infra/local/real-apiserver.ts";
import { embeddedServer, type TestServer } from "./test-server.ts";

export interface StartedCandidate {
  server: TestServer;
  stop: () => Promise<void>;
}

export interface Candidate {
  title: string;
  start: () => Promise<StartedCandidate>;
}

/** A real server takes some seconds, more on a busy machine. */
export const startTimeoutMs = 120_000;

const embedded: Candidate = {
  title: "embedded apiserver",
  start: async () => {
    const server = embeddedServer();
    return await Promise.resolve({ server, stop: () => Promise.resolve(server.close()) });
  },
};

const assets = process.env["KUBEBUILDER_ASSETS"];

const real: Candidate = {
  title: "kube-apiserver",
  start: async () => {
    const dir = mkdtempSync(join(tmpdir(), "apiserver-contract-"));
    const running = await startRealApiserver({ dir, assets: assets ?? "" });
    const client = createHttpsClient(running.caFile);
    const stop = async () => {
      client.close();
      await running.stop();
      rmSync(dir, { recursive: true });
    };
    return { server: { url: running.url, token: running.adminToken, fetch: client.fetch }, stop };
  },
};

export const candidates: Candidate[] = assets ? [embedded, real] : [embedded];
