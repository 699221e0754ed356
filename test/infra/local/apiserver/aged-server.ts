// Starts an embedded apiserver with a history: its storage has forgotten revision 1. Contains no test.
import { mkdtempSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openStore, type Store } from "../../../../infra/local/apiserver/store.ts";
import { embeddedServer, type TestServer } from "./test-server.ts";

/** A running server that the cases of the contract are sent to. */
export interface StartedServer {
  server: TestServer;
  stop: () => Promise<void>;
}

/** Opens a store whose earlier changes are forgotten: a reopened store does not remember them. */
function openAgedStore(file: string): Store {
  const young = openStore(file);
  const key = { resource: "tests", namespace: "", name: "earlier" };
  young.remove(key, young.put(key, { kind: "Test", apiVersion: "v1", metadata: {} }));
  young.close();
  return openStore(file);
}

export function agedServer(): Promise<StartedServer> {
  const dir = mkdtempSync(join(tmpdir(), "apiserver-contract-"));
  const server = embeddedServer(openAgedStore(join(dir, "store.sqlite")));
  const stop = async () => {
    server.close();
    await rm(dir, { recursive: true });
  };
  return Promise.resolve({ server, stop });
}
