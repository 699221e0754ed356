// Records test/vectors from Kubernetes' own code: npm run record -- --kubernetes 1.37.2 [--out FOLDER]. Needs Go, and the
// modules of that release.
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";

const SOURCES = import.meta.dirname;
const VECTORS = join(SOURCES, "..");

/** Returns the file with the modules of each release, by the release. */
function modules(): Map<string, string> {
  const files = readdirSync(SOURCES).filter((file) => file.endsWith(".mod"));
  return new Map(
    files.flatMap((file) => {
      const version = /^\tk8s\.io\/kubernetes v(\S+)$/m.exec(readFileSync(join(SOURCES, file), "utf8"))?.[1];
      return version === undefined ? [] : [[version, file] as const];
    }),
  );
}

const { values } = parseArgs({ options: { kubernetes: { type: "string" }, out: { type: "string" } } });
const { kubernetes = "", out = VECTORS } = values;
const modfile = modules().get(kubernetes);
if (modfile === undefined) {
  console.error(`record: --kubernetes must be one of ${[...modules().keys()].join(", ")}`);
  process.exit(2);
}
const folder = mkdtempSync(join(tmpdir(), "recorder-"));
try {
  const program = join(folder, "recorder");
  const tag = `kubernetes_${kubernetes.split(".").slice(0, 2).join("_")}`;
  const build = [
    "build",
    "-mod=readonly",
    `-modfile=${modfile}`,
    `-tags=${tag}`,
    "-trimpath",
    // The recorder replaces the random numbers of math/rand, and uses the simulated time of testing/synctest.
    // A kubelet compares showHiddenMetricsForVersion with its own version.
    `-ldflags=-checklinkname=0 -X=k8s.io/component-base/version.gitVersion=v${kubernetes}`,
    "-o",
    program,
    ".",
  ];
  const env = { ...process.env, CGO_ENABLED: "0", GOFLAGS: "-buildvcs=false" };
  execFileSync("go", build, { cwd: SOURCES, env, stdio: "inherit" });
  mkdirSync(out, { recursive: true });
  execFileSync(program, ["-version", `v${kubernetes}`, VECTORS, out], { stdio: "inherit" });
} finally {
  rmSync(folder, { recursive: true });
}
