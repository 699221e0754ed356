// Runs the embedded apiserver on an HTTPS port with its data in a folder, and parses its command line.
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { parseDuration } from "../../../shared/go/duration.ts";
import { failure, type Result, success } from "../../../shared/result.ts";
import { createApiserver } from "./apiserver.ts";
import { loadCredentials } from "./certificates.ts";
import type { NodeLifecycleSettings } from "./controllers/node-lifecycle.ts";
import { defaultSettings, startControllers } from "./controllers/start.ts";
import { createFront, listen } from "./front.ts";
import { openStore } from "./store.ts";
import { afterTimeout, everyPeriod, wallClock } from "./timer.ts";

export interface RunningApiserver {
  url: string;
  /** The path of the PEM file with the certificate that clients trust. */
  caFile: string;
  adminToken: string;
  /** Ends watches and requests, and closes the storage. */
  stop: () => Promise<void>;
}

interface ServeOptions {
  /** The folder of certificates, tokens and database. Made if it does not exist. */
  dir: string;
  /** The port. 0 means a free port. */
  port: number;
  /** The settings that differ from kube-controller-manager's defaults. */
  nodeLifecycle?: Partial<NodeLifecycleSettings>;
}

/** Starts the apiserver and its controllers. Rejects if the port is taken or the folder cannot be used. */
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

export const HELP = `Usage: node infra/local/apiserver/main.ts --data DIR [--port PORT] [--node-monitor-...]

Runs a small kube-apiserver for development on https://127.0.0.1:PORT until SIGTERM or SIGINT, with the controllers
that Nodes need: node lifecycle, garbage collection, expiry of events, contents of namespaces.

  --data DIR    folder of the database, certificates and tokens; made if it does not exist. A kubeconfig needs
                DIR/ca.crt (certificate-authority) and the text of DIR/admin-token (token)
  --port PORT   port on 127.0.0.1; 0, the default, is a free one
  --node-monitor-period DURATION         time between two checks of all Nodes (5s)
  --node-monitor-grace-period DURATION   time without a report until a Node is Unknown (50s)
  --node-startup-grace-period DURATION   the same for a Node that has never reported a status (60s)
  --help        print this text`;

export interface Flags {
  data: string;
  port: number;
  nodeLifecycle: Partial<NodeLifecycleSettings>;
}

/** The settings of the node lifecycle controller, by the names of their flags. */
const DURATIONS = {
  "node-monitor-period": "monitorPeriodMs",
  "node-monitor-grace-period": "monitorGracePeriodMs",
  "node-startup-grace-period": "startupGracePeriodMs",
} as const satisfies Record<string, keyof NodeLifecycleSettings>;
const DURATION_FLAGS = Object.keys(DURATIONS) as (keyof typeof DURATIONS)[];

/** Parses the words after the program's name. Returns "help" for --help, or an error of one line. */
export function readFlags(args: string[]): Result<Flags | "help"> {
  let values;
  try {
    ({ values } = parseArgs({
      args,
      options: {
        data: { type: "string" },
        port: { type: "string", default: "0" },
        "node-monitor-period": { type: "string" },
        "node-monitor-grace-period": { type: "string" },
        "node-startup-grace-period": { type: "string" },
        help: { type: "boolean" },
      },
    }));
  } catch (error) {
    return failure(`${error instanceof Error ? error.message : String(error)}; see --help`);
  }
  if (values.help) return success("help");
  const port = Number(values.port);
  if (!/^\d+$/.test(values.port) || port > 65_535) return failure(`--port ${values.port} is not a port`);
  if (!values.data) return failure("--data DIR is required; see --help");
  const nodeLifecycle: Partial<NodeLifecycleSettings> = {};
  for (const flag of DURATION_FLAGS) {
    const text = values[flag];
    if (text === undefined) continue;
    const parsed = parseDuration(text);
    if (!parsed.ok || parsed.value <= 0) return failure(`--${flag} ${text} is not a duration such as 50s`);
    nodeLifecycle[DURATIONS[flag]] = parsed.value;
  }
  return success({ data: values.data, port, nodeLifecycle });
}
