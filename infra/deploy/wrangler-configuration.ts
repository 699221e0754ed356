// Writes an environment's wrangler.toml, with the operator's settings, in an ignored folder. Writes no tracked file.
import { mkdirSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import type { Unstable_RawConfig as RawConfig } from "wrangler";
import type { DeploySettings } from "./settings-file.ts";

/** Returns the folder of the files generated for an environment. `root` is the path of the project. */
export function generatedFolder(root: string, environment: string | null): string {
  return join(root, ".rollcall/deploy", environment ?? "default");
}

/** Returns true for a hostname of the local computer: Cloudflare makes neither a domain nor a certificate for it. */
const isLoopback = (hostname: string) => ["127.0.0.1", "[::1]", "localhost"].includes(hostname);

/** Returns the hostnames that become custom domains of the Worker, each with a DNS record. */
export function customDomains(settings: DeploySettings): string[] {
  return hostsOf(settings).filter((host) => host !== "" && !isLoopback(host) && !isWorkersDev(host));
}

const hostsOf = ({ origins }: DeploySettings) => origins.map((origin) => URL.parse(origin)?.hostname ?? "");
const isWorkersDev = (host: string) => host.endsWith(".workers.dev");

/**
 * Returns an environment's wrangler configuration, with the modules in the folder `bundle` next to the generated file.
 * `toRoot`: the path from the generated file to the project.
 */
export function wranglerConfiguration(
  { minify: _minify, keep_names: _names, ...tracked }: RawConfig,
  settings: DeploySettings,
  toRoot: string,
): RawConfig {
  const { account, vpcService, failureCounter, placement } = settings;
  return {
    ...tracked,
    $schema: join(toRoot, tracked.$schema ?? "node_modules/wrangler/config-schema.json"),
    name: settings.worker,
    main: "bundle/index.js",
    base_dir: "bundle",
    // The bundle is made already (worker-bundle.ts): wrangler uploads its files as they are.
    no_bundle: true,
    find_additional_modules: true,
    rules: [{ type: "ESModule", globs: ["**/*.js"] }],
    ...(tracked.assets?.directory !== undefined && {
      assets: { ...tracked.assets, directory: join(toRoot, tracked.assets.directory) },
    }),
    ...(account !== undefined && { account_id: account }),
    workers_dev: hostsOf(settings).some(isWorkersDev),
    preview_urls: false,
    routes: customDomains(settings).map((pattern) => ({ pattern, custom_domain: true })),
    ...(placement !== undefined && { placement: placement === "smart" ? { mode: placement } : placement }),
    ...(vpcService !== undefined && {
      vpc_services: [...(tracked.vpc_services ?? []), { binding: "KUBE", service_id: vpcService }],
    }),
    ...(failureCounter !== undefined && {
      ratelimits: tracked.ratelimits?.map((limit) => ({ ...limit, namespace_id: failureCounter })) ?? [],
    }),
    vars: deployedVariables(tracked, settings),
  };
}

/** Returns the Worker's variables as a deployment of these settings sets them. */
export function deployedVariables(
  tracked: RawConfig,
  { deployment, origins, apiserver, variables }: DeploySettings,
): NonNullable<RawConfig["vars"]> {
  return {
    ...tracked.vars,
    DEPLOYMENT: deployment,
    ORIGINS: origins.join(" "),
    KUBE_URL: apiserver,
    ...variables,
  };
}

/** Writes the wrangler configuration of an environment, and returns its path. */
export function writeConfiguration(root: string, tracked: RawConfig, settings: DeploySettings): string {
  const folder = generatedFolder(root, settings.environment);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const file = join(folder, "wrangler.json");
  const configuration = wranglerConfiguration(tracked, settings, relative(folder, root));
  writeFileSync(file, `${JSON.stringify(configuration, null, 2)}\n`, { mode: 0o600 });
  return file;
}
