// Three projects: `node` (everything that runs on Node), `workerd` (shared/ and worker/ in the Worker's own
// runtime), `e2e` (whole processes on loopback).
import { fileURLToPath } from "node:url";
import { cloudflareTest } from "@cloudflare/vitest-plugin";
import { defineConfig, type TestProjectInlineConfiguration } from "vitest/config";
import { MUTANT_VARIABLE, mutantPlugins } from "./test/mutants/plugin.ts";
import { testSecrets, testVariables } from "./test/worker/support/bindings.ts";

Object.assign(process.env, testSecrets);
// Most tests of whole processes spend their time on loading the same modules again and again.
process.env["NODE_COMPILE_CACHE"] ??= fileURLToPath(new URL("node_modules/.cache/compiled", import.meta.url));
// kube-apiserver, kubectl and esbuild run for seconds here: Go collects garbage more often than they gain by it.
process.env["GOGC"] ??= "400";

/** Loaded when it is asked for: the runs that need no apiserver do not depend on one. */
async function testKube(request: Request): Promise<Response> {
  const environment = new URL("test/worker/support/environment.ts", import.meta.url).href;
  const { kube } = (await import(environment)) as { kube: (request: Request) => Promise<Response> };
  return kube(request);
}

const e2e = ["test/e2e/**/*.test.ts", "test/faults/real/**/*.test.ts"];
const worker = [
  "test/worker/**/*.test.ts",
  "test/stories/**/*.test.ts",
  "test/faults/*.test.ts",
  "test/faults/sockets/*.test.ts",
];

/** A defence that this run has to do without (npm run mutants). */
const mutants = () => mutantPlugins(process.env[MUTANT_VARIABLE]);

/** No outcome depends on how fast a machine is; this only ends what hangs. */
const patience = { testTimeout: 120_000, hookTimeout: 120_000 };

/** The project that runs in workerd. */
export const workerd: TestProjectInlineConfiguration = {
  plugins: [
    ...mutants(),
    cloudflareTest({
      wrangler: { configPath: "./wrangler.toml" },
      miniflare: { bindings: testVariables, serviceBindings: { KUBE: testKube } },
    }),
  ],
  test: {
    ...patience,
    name: "workerd",
    // Files share a workerd, and no Node's name: starting one for each would be half of the time.
    isolate: false,
    include: [...worker, "test/shared/**/*.test.ts", "test/vectors/**/*.test.ts"],
  },
};

export default defineConfig({
  test: {
    // Often a test waits for a process of its own: two workers would leave two cores idle now and then.
    maxWorkers: 3,
    globalSetup: "test/infra/local/apiserver/shared-setup.ts",
    projects: [
      {
        plugins: mutants(),
        test: {
          ...patience,
          name: "node",
          include: ["test/**/*.test.ts"],
          exclude: [...e2e, ...worker],
          // No module of ours holds state: nothing to keep apart, and loading all of them once per file is a third of the time.
          isolate: false,
        },
      },
      workerd,
      { test: { name: "e2e", include: e2e, globalSetup: "test/e2e/leaks-setup.ts", ...patience } },
    ],
  },
});
