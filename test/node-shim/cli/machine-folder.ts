// Makes a machine's folder and played Workers, for tests of whole command lines. Contains no test.
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { makeMachineKey } from "../../../node-shim/identity/identity.ts";
import { temporaryFolder } from "../base/temporary-folder.ts";

export const NO_RUNTIME = ["--container-runtime-endpoint", ""];
export const JOIN_TOKEN = `rcj1_${"A".repeat(43)}`;

export interface MachineFolder {
  path: string;
  /** The path of the state folder, which does not exist yet. */
  state: string;
  /** Makes the state folder of a machine that has enrolled. */
  enrol: (name: string) => Promise<void>;
  /** Returns the arguments of `run` for the machine edge-1. */
  run: (url: string, ...more: string[]) => string[];
  /** Starts a played Worker, which runs until `remove` is called. Returns its URL. */
  serve: (listener: RequestListener) => Promise<string>;
  remove: () => void;
}

export function machineFolder(): MachineFolder {
  const { path, remove } = temporaryFolder();
  const state = join(path, "state");
  const servers: ReturnType<typeof createServer>[] = [];
  return {
    path,
    state,
    async enrol(name) {
      const { jwk, thumbprint } = await makeMachineKey();
      mkdirSync(state, { mode: 0o700 });
      writeFileSync(join(state, "key.json"), JSON.stringify(jwk));
      writeFileSync(join(state, "enrolment.json"), JSON.stringify({ name, thumbprint, kid: "k" }));
    },
    run: (url, ...more) => [
      "run",
      "--url",
      url,
      "--state",
      state,
      "--hostname-override",
      "edge-1",
      ...NO_RUNTIME,
      ...more,
    ],
    async serve(listener) {
      const server = createServer(listener);
      servers.push(server);
      await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
      return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    },
    remove() {
      for (const server of servers) {
        server.close();
        server.closeAllConnections();
      }
      remove();
    },
  };
}
