// Defines the suites (CONTRIBUTING.md, "Tests"). `npm test` runs the quick suites: `node` and `workerd`.
import { fileURLToPath } from "node:url";
import { dirname, resolve } from "node:path";
import { cloudflareTest } from "@cloudflare/vitest-plugin";
import { defineConfig, type Plugin, type TestProjectInlineConfiguration } from "vitest/config";
import { testSecrets, testVariables } from "./test/worker/support/bindings.ts";

Object.assign(process.env, testSecrets);
// A compile cache: tests of whole processes would otherwise spend most of their time on compiling the same modules.
process.env["NODE_COMPILE_CACHE"] ??= fileURLToPath(new URL("node_modules/.cache/compiled", import.meta.url));
// Go programs of the tests run for seconds only, and a rarer garbage collection makes them faster.
process.env["GOGC"] ??= "400";

/** Loaded on demand: the suites that need no apiserver do not depend on one. */
async function testKube(request: Request): Promise<Response> {
  const environment = new URL("test/worker/support/environment.ts", import.meta.url).href;
  const { kube } = (await import(environment)) as { kube: (request: Request) => Promise<Response> };
  return kube(request);
}

/** The seed of fast-check: the same in each run, or one that is drawn and printed with ROLLCALL_SEED=random. */
if (process.env["ROLLCALL_SEED"] === "random") {
  // Vitest evaluates this file several times in one run.
  process.env["ROLLCALL_SEED"] = String(Math.floor(Math.random() * 2 ** 31));
  console.log(`The seed of this run: ROLLCALL_SEED=${process.env["ROLLCALL_SEED"]}`);
}
const seed = Number(process.env["ROLLCALL_SEED"] ?? 30);
if (!Number.isInteger(seed)) throw new Error("ROLLCALL_SEED must be a whole number, or random");

/** Real timers ring this many times later: ROLLCALL_SLOWNESS=10 shows that no outcome depends on them. */
const slowness = Number(process.env["ROLLCALL_SLOWNESS"] ?? 1);
if (!(slowness > 0)) throw new Error("ROLLCALL_SLOWNESS must be a number above 0");

/** No outcome depends on how fast a machine is; the timeouts only end what hangs. */
const common = {
  testTimeout: 120_000,
  hookTimeout: 120_000,
  setupFiles: "test/set-up.ts",
  provide: { seed, slowness },
};

/** Suites with a folder of their own, which the quick ones leave out. */
const OWN_FOLDERS = ["process", "e2e", "page", "deploy", "cluster", "neighbours", "runtimes", "release"];
/** The one tool of test/lab whose test is quick. */
const REFEREE = "test/lab/referee/*.test.ts";

const WORKER = ["test/worker/**/*.test.ts", "test/stories/**/*.test.ts", "test/faults/**/*.test.ts"];
const SHARED = ["test/shared/**/*.test.ts", "test/vectors/**/*.test.ts"];

const pathOf = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** Puts the tests' clock in the place of the Worker's. */
const virtualClock: Plugin = {
  name: "virtual-clock",
  enforce: "pre",
  resolveId: (source, importer) =>
    importer !== undefined &&
    source.endsWith("/clock.ts") &&
    resolve(dirname(importer), source) === pathOf("worker/clock.ts")
      ? pathOf("test/worker/support/clock.ts")
      : undefined,
};

/**
 * Loads with the Worker what it imports on demand. In these tests a module comes over a socket of the request that imports
 * it, and workerd refuses this socket to other requests that wait for the same module.
 */
const importedAtStart: Plugin = {
  name: "imported-at-start",
  enforce: "pre",
  transform(code, id) {
    if (!id.startsWith(pathOf("worker/"))) return undefined;
    const paths: string[] = [];
    const changed = code.replaceAll(
      /\bimport\(("[^"]+")\)/g,
      (_, path: string) => `Promise.resolve(onDemand${paths.push(path)})`,
    );
    if (paths.length === 0) return undefined;
    return paths.map((path, index) => `import * as onDemand${index + 1} from ${path};\n`).join("") + changed;
  },
};

/** Tests that run in workerd. */
const inWorkerd = (name: string, include: string[]): TestProjectInlineConfiguration => ({
  plugins: [
    virtualClock,
    importedAtStart,
    cloudflareTest({
      wrangler: { configPath: "./wrangler.toml" },
      miniflare: { bindings: testVariables, serviceBindings: { KUBE: testKube } },
    }),
  ],
  // Test files share one workerd: a workerd for each file would take half of the time.
  test: {
    ...common,
    name,
    isolate: false,
    // Vitest waits for an answer to each forwarded log line. A line of an object that ends at once gets no answer.
    disableConsoleIntercept: true,
    include,
    globalSetup: "test/memory-setup.ts",
    setupFiles: [common.setupFiles, "test/worker/support/set-up.ts"],
  },
});

export const workerd = inWorkerd("workerd", WORKER);

export const node: TestProjectInlineConfiguration = {
  test: {
    ...common,
    name: "node",
    setupFiles: [common.setupFiles, "test/no-processes.ts"],
    include: ["test/**/*.test.ts"],
    exclude: [...WORKER, ...OWN_FOLDERS.map((folder) => `test/${folder}/**`), "test/lab/!(referee)/**"],
    // The modules of the project hold no state, so files need no isolation. Loading the modules once per file takes a third more time.
    isolate: false,
  },
};

/** Tests that start programs, in a folder of the suite's name. */
const ofPrograms = (
  name: string,
  more: TestProjectInlineConfiguration["test"] = {},
): TestProjectInlineConfiguration => ({
  test: { ...common, name, include: [`test/${name}/**/*.test.ts`], ...more },
});
const leaks = { globalSetup: "test/e2e/leaks-setup.ts" };

export default defineConfig({
  test: {
    // More workers than cores: a test often waits for its own process, and leaves a core idle.
    maxWorkers: 3,
    projects: [
      node,
      workerd,
      ofPrograms("process", { isolate: false }),
      ofPrograms("e2e", { isolate: false, globalSetup: [leaks.globalSetup, "test/e2e/shared-setup.ts"] }),
      ofPrograms("page", {
        isolate: false,
        globalSetup: [leaks.globalSetup, "test/page/setup.ts"],
        expect: { poll: { timeout: 60_000 } },
      }),
      ofPrograms("deploy", leaks),
      ofPrograms("cluster", {
        globalSetup: [leaks.globalSetup, "test/cluster/servers-setup.ts"],
        // A file waits for its turn on a server. The number of workers lets the other files run meanwhile.
        maxWorkers: 10,
        sequence: { groupOrder: 1 },
      }),
      // Each file has its own cluster, and mostly waits for the programs of that cluster.
      ofPrograms("neighbours", { maxWorkers: 3, sequence: { groupOrder: 2 } }),
      inWorkerd("shared-in-workerd", SHARED),
      ofPrograms("runtimes"),
      ofPrograms("release"),
      ofPrograms("lab", { isolate: false, exclude: [REFEREE] }),
    ],
  },
});
