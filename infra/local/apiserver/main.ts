// node infra/local/apiserver/main.ts: runs the embedded apiserver until SIGTERM or SIGINT.
import { parseArgs } from "node:util";
import { parseDuration } from "../../../shared/go/duration.ts";
import type { NodeLifecycleSettings } from "./controllers/node-lifecycle.ts";
import { startApiserver } from "./serve.ts";

const help = `Usage: node infra/local/apiserver/main.ts --data DIR [--port PORT] [--node-monitor-...]

Runs a small kube-apiserver for development on https://127.0.0.1:PORT until SIGTERM or SIGINT, with the controllers
that Nodes need: node lifecycle, garbage collection, expiry of events, contents of namespaces.

  --data DIR    folder of the database, certificates and tokens; made when missing. A kubeconfig needs
                DIR/ca.crt (certificate-authority) and the text of DIR/admin-token (token)
  --port PORT   port on 127.0.0.1; 0, the default, takes a free one
  --node-monitor-period DURATION         how often Nodes are looked at (5s)
  --node-monitor-grace-period DURATION   how long a Node may be silent before it is Unknown (50s)
  --node-startup-grace-period DURATION   the same for one that never had a status (60s)
  --help        this text`;

function fail(message: string): never {
  console.error(`apiserver: ${message}`);
  process.exit(1);
}

/** A positive duration as Go writes it, in ms; nothing when the flag is absent. */
function durationMs(flag: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const parsed = parseDuration(text);
  if (parsed.ok && parsed.value > 0) return parsed.value;
  return fail(`--${flag} ${text} is not a duration such as 50s`);
}

interface Flags {
  data: string;
  port: number;
  nodeLifecycle: Partial<NodeLifecycleSettings>;
}

function readFlags(): Flags {
  try {
    const { values } = parseArgs({
      options: {
        data: { type: "string" },
        port: { type: "string", default: "0" },
        "node-monitor-period": { type: "string" },
        "node-monitor-grace-period": { type: "string" },
        "node-startup-grace-period": { type: "string" },
        help: { type: "boolean" },
      },
    });
    if (values.help) {
      console.log(help);
      process.exit(0);
    }
    const port = Number(values.port);
    if (!/^\d+$/.test(values.port) || port > 65_535) fail(`--port ${values.port} is not a port`);
    if (!values.data) return fail("--data DIR is required; see --help");
    const duration = (flag: Exclude<keyof typeof values, "data" | "port" | "help">) =>
      durationMs(flag, values[flag]);
    const monitorPeriodMs = duration("node-monitor-period");
    const monitorGracePeriodMs = duration("node-monitor-grace-period");
    const startupGracePeriodMs = duration("node-startup-grace-period");
    const nodeLifecycle = {
      ...(monitorPeriodMs !== undefined && { monitorPeriodMs }),
      ...(monitorGracePeriodMs !== undefined && { monitorGracePeriodMs }),
      ...(startupGracePeriodMs !== undefined && { startupGracePeriodMs }),
    };
    return { data: values.data, port, nodeLifecycle };
  } catch (error) {
    return fail(`${error instanceof Error ? error.message : String(error)}; see --help`);
  }
}

function startError(error: unknown, port: number): string {
  if (!(error instanceof Error)) return String(error);
  return "code" in error && error.code === "EADDRINUSE" ? `port ${port} is already in use` : error.message;
}

const { data, port, nodeLifecycle } = readFlags();
try {
  const running = await startApiserver({ dir: data, port, nodeLifecycle });
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    process.once(signal, () => void running.stop().then(() => process.exit(0)));
  }
  console.log(`listening on ${running.url}`);
} catch (error) {
  fail(startError(error, port));
}
