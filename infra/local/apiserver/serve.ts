// The embedded apiserver on an HTTPS port: certificates and storage in a folder, requests to the pure core.
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createApiserver } from "./apiserver.ts";
import { loadCredentials } from "./certificates.ts";
import { defaultSettings, startControllers } from "./controllers/start.ts";
import type { NodeLifecycleSettings } from "./controllers/node-lifecycle.ts";
import { createFront, listen } from "./front.ts";
import { openStore } from "./store.ts";
import { afterTimeout, everyPeriod, wallClock } from "./timer.ts";

export interface RunningApiserver {
  url: string;
  /** PEM file that clients trust. */
  caFile: string;
  adminToken: string;
  /** Ends watches and requests and closes the storage. */
  stop: () => Promise<void>;
}

export interface ServeOptions {
  /** Folder of certificates, tokens and database; made when missing. */
  dir: string;
  /** 0 takes a free one. */
  port: number;
  /** kube-controller-manager's defaults where absent. */
  nodeLifecycle?: Partial<NodeLifecycleSettings>;
}

/** With controllers. Rejects when the port is taken or the folder cannot be used. */
export async function startApiserver(options: ServeOptions): Promise<RunningApiserver> {
  mkdirSync(options.dir, { recursive: true, mode: 0o700 });
  const caFile = join(options.dir, "ca.crt");
  const credentials = await loadCredentials(options.dir);
  const store = openStore(join(options.dir, "apiserver.sqlite"));
  const { adminToken, signingKey } = credentials;
  const apiserver = createApiserver({
    store,
    adminToken,
    signingKey,
    now: wallClock,
    uuid: () => crypto.randomUUID(),
    random: Math.random,
    after: afterTimeout,
  });
  const server = createFront(credentials, apiserver.fetch);
  try {
    const port = await listen(server, options.port);
    const controllers = startControllers(
      {
        store,
        fetch: apiserver.fetch,
        token: adminToken,
        rootCa: readFileSync(caFile, "utf8"),
        now: wallClock,
        every: everyPeriod,
      },
      { ...defaultSettings, ...options.nodeLifecycle },
      (error) => console.error("apiserver: a controller failed:", error),
    );
    const stop = async () => {
      await controllers.stop();
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
      store.close();
    };
    return { url: `https://127.0.0.1:${port}`, caFile, adminToken, stop };
  } catch (error) {
    store.close();
    throw error;
  }
}
