// The servers that a contract is checked against: the embedded apiserver and, where KUBEBUILDER_ASSETS names a folder
// with etcd and kube-apiserver, the real one that files share. The storage of each has been written to and forgotten
// before: revision 1 is too old for any of them. No test of its own.
import { mkdtempSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createHttpsClient } from "../../../../infra/local/https-fetch.ts";
import { openStore, type Store } from "../../../../infra/local/apiserver/store.ts";
import { sharedApiserver } from "./shared-apiserver.ts";
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

/** A store that was opened a second time remembers no changes of before. */
function openAgedStore(file: string): Store {
  const young = openStore(file);
  const key = { resource: "tests", namespace: "", name: "earlier" };
  young.remove(key, young.put(key, { kind: "Test", apiVersion: "v1", metadata: {} }));
  young.close();
  return openStore(file);
}

const embedded: Candidate = {
  title: "embedded apiserver",
  start: async () => {
    const dir = mkdtempSync(join(tmpdir(), "apiserver-contract-"));
    const server = embeddedServer(openAgedStore(join(dir, "store.sqlite")));
    const stop = async () => {
      server.close();
      await rm(dir, { recursive: true });
    };
    return await Promise.resolve({ server, stop });
  },
};

const real: Candidate = {
  title: "kube-apiserver",
  start: async () => {
    const { url, caFile, adminToken } = await sharedApiserver();
    const client = createHttpsClient(caFile);
    const stop = () => Promise.resolve(client.close());
    return { server: { url, token: adminToken, fetch: client.fetch }, stop };
  },
};

export const candidates: Candidate[] = process.env["KUBEBUILDER_ASSETS"] ? [embedded, real] : [embedded];
