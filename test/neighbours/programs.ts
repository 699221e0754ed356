// Builds the programs of other projects that the experiments run, from their Go modules into a cache, once for each
// version.
import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, globSync, mkdirSync, readFileSync, renameSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const FOLDER = fileURLToPath(new URL("programs", import.meta.url));

const NFD = "sigs.k8s.io/node-feature-discovery";
const NPD = "k8s.io/node-problem-detector";

/**
 * For each program its Go package, and the module that determines its version. The program's folder has go.mod and
 * go.sum; the third entry is the folder of a program that shares it with others.
 */
const PROGRAMS = {
  descheduler: ["sigs.k8s.io/descheduler/cmd/descheduler", "sigs.k8s.io/descheduler"],
  karpenter: [".", "sigs.k8s.io/karpenter"],
  "kube-state-metrics": ["k8s.io/kube-state-metrics/v2", "k8s.io/kube-state-metrics/v2"],
  kwok: ["sigs.k8s.io/kwok/cmd/kwok", "sigs.k8s.io/kwok"],
  prometheus: ["github.com/prometheus/prometheus/cmd/prometheus", "github.com/prometheus/prometheus"],
  "node-problem-detector": [".", NPD],
  nodeproblemdetector: [`${NPD}/cmd/nodeproblemdetector`, NPD, "node-problem-detector"],
  "metrics-server": ["sigs.k8s.io/metrics-server/cmd/metrics-server", "sigs.k8s.io/metrics-server"],
  "node-feature-discovery": [".", NFD],
  "nfd-master": [`${NFD}/cmd/nfd-master`, NFD, "node-feature-discovery"],
  "nfd-worker": [`${NFD}/cmd/nfd-worker`, NFD, "node-feature-discovery"],
} as const satisfies Record<string, readonly [goPackage: string, module: string, folder?: string]>;

export type ProgramName = keyof typeof PROGRAMS;
export const PROGRAM_NAMES = Object.keys(PROGRAMS) as ProgramName[];

/** Returns the folder with the go.mod of the program. */
function folderOf(name: ProgramName): string {
  const [, , folder = name] = PROGRAMS[name] as readonly [string, string, string?];
  return join(FOLDER, folder);
}

/** Returns the path of a built program. The name changes with the sources and with the versions of all modules. */
export function programOf(name: ProgramName): string {
  const hash = createHash("sha256");
  const folder = folderOf(name);
  for (const file of globSync("*", { cwd: folder }).sort()) hash.update(readFileSync(join(folder, file)));
  const cache = process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache");
  return join(cache, "rollcall-neighbours", hash.digest("hex").slice(0, 12), name);
}

/** Returns a program's name and the command that builds it; null if the program is built. */
export function missingProgram(name: ProgramName): string | null {
  return existsSync(programOf(name)) ? null : `${name} (npm run neighbours -- --build, with Go)`;
}

/** Returns the version of the program's module, such as `v2.18.0`. */
export function programVersion(name: ProgramName): string {
  const [, module] = PROGRAMS[name];
  const file = readFileSync(join(folderOf(name), "go.mod"), "utf8");
  return new RegExp(`${module} (v\\S+)`).exec(file)?.[1] ?? "unknown";
}

/** Returns the folder of the sources of the program's module, in Go's cache. */
export function sourcesOf(name: ProgramName): string {
  const [, module] = PROGRAMS[name];
  const args = ["list", "-m", "-f", "{{.Dir}}", module];
  return execFileSync("go", args, { cwd: folderOf(name), encoding: "utf8" }).trim();
}

/** Builds a program, unless it is built already. The first build takes minutes. Returns null, or the error. */
export function buildProgram(name: ProgramName): string | null {
  if (missingProgram(name) === null) return null;
  if (spawnSync("go", ["version"]).status !== 0) return "Go is not installed";
  const file = programOf(name);
  mkdirSync(join(file, ".."), { recursive: true });
  const temporary = `${file}.${process.pid}`;
  const [goPackage] = PROGRAMS[name];
  // Prometheus finds its targets at a dozen clouds, whose libraries take most of the build.
  const flags = ["-mod=readonly", "-trimpath", "-ldflags=-s -w", "-tags=remove_all_sd"];
  const args = ["build", ...flags, "-o", temporary, goPackage];
  const env = { ...process.env, CGO_ENABLED: "0", GOFLAGS: "-buildvcs=false" };
  try {
    execFileSync("go", args, { cwd: folderOf(name), env, stdio: ["ignore", "inherit", "inherit"] });
  } catch {
    return "go build failed";
  }
  renameSync(temporary, file);
  return null;
}
