// Prepares the Worker for workerd: a bundle of one file, Durable Objects on disk, the apiserver as the binding KUBE.
// Writes a configuration with which a user can start workerd by hand.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { build, type Plugin } from "esbuild";

// A test runner imports CommonJS in another way than Node, so the package is loaded with createRequire.
const { default: workerd } = createRequire(import.meta.url)("workerd") as { default: string };

export interface WorkerSettings {
  /** The folder of the bundle, the configuration, the secrets and the Durable Objects' data. */
  folder: string;
  /** The path of the project's root. */
  root: string;
  /** The path of a file to bundle in place of worker/index.ts, for benchmarks. */
  entry?: string;
  /** The path of a file to bundle in place of worker/clock.ts, for benchmarks with a clock of their own. */
  clock?: string;
  port: number;
  deployment: string;
  /** The address of the apiserver, like https://127.0.0.1:6443. */
  kubeUrl: string;
  /** The apiserver's certificate authority in PEM. undefined if a public authority has signed the certificate. */
  kubeCa: string | undefined;
  /** The name in the apiserver's certificate, if it is not the URL's host. */
  kubeServerName?: string | undefined;
  kubeToken: string;
  macKeys: string;
  adminSecretSha256: string;
  /** The variables of the Worker that differ from their defaults in wrangler.toml. */
  variables?: Record<string, string>;
}

/** Bundles the Worker and writes its configuration. Returns the command that runs the Worker. */
export async function prepareWorker(settings: WorkerSettings): Promise<string[]> {
  const { folder, root, entry = join(root, "worker/index.ts") } = settings;
  mkdirSync(join(folder, "objects"), { recursive: true, mode: 0o700 });
  await build({
    stdin: { contents: likeCloudflare(entry, root), resolveDir: root },
    outfile: join(folder, "worker.js"),
    bundle: true,
    format: "esm",
    target: "es2024",
    conditions: ["workerd", "worker", "browser"],
    external: ["cloudflare:*", "node:async_hooks"],
    plugins: settings.clock === undefined ? [] : [replacing(join(root, "worker/clock.ts"), settings.clock)],
    logLevel: "silent",
  });
  const file = join(folder, "workerd.capnp");
  writeFileSync(file, workerConfiguration(settings), { mode: 0o600 });
  return [workerd, "serve", file];
}

/** Returns a plugin that bundles the file `other` in place of `file`. */
const replacing = (file: string, other: string): Plugin => ({
  name: "replacing",
  setup: (bundling) =>
    bundling.onLoad({ filter: /\.ts$/ }, ({ path }) =>
      path === file ? { contents: `export * from ${text(other)};`, resolveDir: dirname(file) } : undefined,
    ),
});

/** Returns a text of Cap'n Proto, whose escapes are those of JSON. */
const text = (value: string) => JSON.stringify(value);

const CLASSES = ["NodeObject", "RegistryObject", "ClusterObject", "IndexObject", "GatewayObject"];

/**
 * Returns the source of a module that answers static files before it calls the Worker, and gives objects the limits of
 * Cloudflare. While workerd is busy, the module refuses requests of machines. An empty class replaces a class that the
 * entry lacks: workerd refuses undefined.
 */
const likeCloudflare = (entry: string, root: string) => `import worker, * as entry from ${text(entry)};
import { limited, limitFetch } from ${text(join(import.meta.dirname, "platform-limits.ts"))};
import { Admission, admitReports } from ${text(join(import.meta.dirname, "admission.ts"))};
import { currentMs } from ${text(join(root, "worker/clock.ts"))};
import { staticAnswer } from ${text(join(import.meta.dirname, "static-files.ts"))};
export * from ${text(entry)};
const admission = new Admission(currentMs, () => scheduler.wait(0));
const ask = (send) => admission.ask(send);
const log = (line) => console.warn(JSON.stringify(line));
limitFetch(globalThis, log);
if (entry.NodeObject?.prototype.reportBySocket) admitReports(entry.NodeObject, admission);
${CLASSES.map((name) => `export const ${name} = entry.${name} ? limited(entry.${name}, log, ask) : class {};`).join("\n")}
export default {
  scheduled: worker.scheduled,
  fetch: async (request, env, context) =>
    (await staticAnswer(request, env.STATIC)) ??
    admission.pass(request, () => worker.fetch(request, env, context)),
};
`;

/** The Worker's network service. Local addresses let notifications reach receivers on this computer. */
const INTERNET =
  '(name = "internet", network = (allow = ["public", "local"], tlsOptions = (trustBrowserCas = true)))';

/** Returns the Worker's variables and secrets. */
function variablesOf(settings: WorkerSettings): Record<string, string> {
  const { port, kubeUrl } = settings;
  return {
    DEPLOYMENT: settings.deployment,
    ORIGINS: `http://127.0.0.1:${port}`,
    KUBE_URL: kubeUrl,
    KUBE_TOKEN: settings.kubeToken,
    KID_MAC_KEYS: settings.macKeys,
    ADMIN_SECRET_SHA256: settings.adminSecretSha256,
    ACCESS_TEAM: "",
    ACCESS_AUD: "",
    ACCESS_ADMINS: "",
    ACCESS_OPERATORS: "",
    // The user of this cluster also configures the machine, so the machine may report each second.
    MACHINE_REQUESTS: "1000",
    SHARED_LIMITS_FACTOR: "1000",
    MIN_REPORT_INTERVAL_SECONDS: "1",
    MIN_STATUS_PERIOD_SECONDS: "1",
    MIN_LEASE_SECONDS: "1",
    PRIVATE_WEBHOOKS: "loopback",
    ...settings.variables,
  };
}

/** Returns workerd's configuration as Cap'n Proto text. Throws without a compatibility date in wrangler.toml. */
export function workerConfiguration(settings: WorkerSettings): string {
  const { folder, root, port } = settings;
  // With a clock of its own, a benchmark also decides when an object is evicted. workerd evicts by the computer's clock.
  const options =
    settings.clock === undefined ? "enableSql = true" : "enableSql = true, preventEviction = true";
  const bindings = Object.entries(variablesOf(settings)).map(
    ([name, value]) => `(name = ${text(name)}, text = ${text(value)})`,
  );
  return `using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [
    (name = "worker", worker = .worker),
    (name = "kube", external = ${apiserverAt(settings)}),
    ${INTERNET},
    (name = "static", disk = ${text(join(root, "worker/static"))}),
    (name = "objects", disk = (path = ${text(join(folder, "objects"))}, writable = true)),
  ],
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "worker")],
);

const worker :Workerd.Worker = (
  modules = [(name = "worker.js", esModule = embed "worker.js")],
  compatibilityDate = ${text(compatibilityDateOf(root))},
  bindings = [
    (name = "NODES", durableObjectNamespace = "NodeObject"),
    (name = "REGISTRY", durableObjectNamespace = "RegistryObject"),
    (name = "CLUSTER", durableObjectNamespace = "ClusterObject"),
    (name = "INDEX", durableObjectNamespace = "IndexObject"),
    (name = "GATEWAYS", durableObjectNamespace = "GatewayObject"),
    (name = "KUBE", service = "kube"),
    (name = "STATIC", service = "static"),
    ${bindings.join(",\n    ")},
  ],
  # The stored objects have the unique key: it stays even if the class gets another name.
  durableObjectNamespaces = [
    (className = "NodeObject", uniqueKey = "rollcall-node", ${options}),
    (className = "RegistryObject", uniqueKey = "rollcall-fleet", ${options}),
    (className = "ClusterObject", uniqueKey = "rollcall-cluster", ${options}),
    (className = "IndexObject", uniqueKey = "rollcall-index", ${options}),
    (className = "GatewayObject", uniqueKey = "rollcall-gateway", ${options}),
  ],
  durableObjectStorage = (localDisk = "objects"),
);
`;
}

function compatibilityDateOf(root: string): string {
  const settings = readFileSync(join(root, "wrangler.toml"), "utf8");
  const [, date] = /^compatibility_date = "(.+)"$/m.exec(settings) ?? [];
  if (date === undefined) throw new Error("wrangler.toml has no compatibility_date");
  return date;
}

function apiserverAt({ kubeUrl, kubeCa, kubeServerName }: WorkerSettings): string {
  const { protocol, hostname, host, port } = new URL(kubeUrl);
  const secure = protocol === "https:";
  const address = port === "" ? `${host}:${secure ? 443 : 80}` : host;
  const trust = kubeCa === undefined ? "trustBrowserCas = true" : `trustedCertificates = [${text(kubeCa)}]`;
  const certificateHost = kubeServerName ?? hostname.replaceAll(/[[\]]/g, "");
  const connection = secure
    ? `https = (certificateHost = ${text(certificateHost)}, tlsOptions = (${trust}))`
    : "http = ()";
  return `(address = ${text(address)}, ${connection})`;
}
