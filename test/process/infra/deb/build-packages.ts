// Builds the packages in a folder of their own, so that the dist/ of other tests does not change. The tests notice
// if the path of this folder gets into a package.
import { execFile, execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { delimiter, dirname, join, relative } from "node:path";
import { promisify } from "node:util";
import shim from "../../../../node-shim/package.json" with { type: "json" };
import { RUNTIME_PACKAGES } from "../../../../infra/deb/runtime.ts";
import { ROOT, temporaryFolder } from "../../../e2e/local-cluster.ts";

export const TARBALL = `rollcall-node-shim-${shim.version}.tgz`;
const RUNTIME = RUNTIME_PACKAGES.amd64;
export const CLI = `rollcall-cli-${shim.version}`;
export const CLI_DEB = `rollcall-cli_${shim.version}_all.deb`;
export const DEB = `rollcall-node-shim_${shim.version}_all.deb`;

/**
 * Builds the packages into `out`. Packages that contain a Node.js take minutes. Resolves with the lines of SHA256SUMS,
 * and with the lines about the steps.
 */
export async function buildPackages(
  out: string,
  architectures = "all",
  flags: readonly string[] = [],
): Promise<{ sums: string; steps: string }> {
  const project = copyOfProject();
  try {
    const { stdout, stderr } = await promisify(execFile)(
      process.execPath,
      ["infra/deb/main.ts", "--architectures", architectures, "--out", out, ...flags],
      {
        cwd: project.path,
        env: {
          ...npmEnvironment(),
          SOURCE_DATE_EPOCH: "1767225600",
        },
      },
    );
    return { sums: stdout, steps: stderr };
  } finally {
    project.remove();
  }
}

/**
 * Returns this process's environment without the variables of npm or of an operator; this Node.js comes first on the
 * PATH.
 */
export function npmEnvironment(): NodeJS.ProcessEnv {
  const others = Object.entries(process.env).filter(([name]) => !/^(npm|rollcall)_/i.test(name));
  const PATH = `${dirname(process.execPath)}${delimiter}${process.env["PATH"]}`;
  return { ...Object.fromEntries(others), PATH, npm_config_userconfig: "/dev/null" };
}

/** Returns these packages and all that they depend on. Those that are not installed are for another runtime. */
function withDependencies(names: readonly string[]): ReadonlySet<string> {
  const all = new Set(names);
  for (const name of all) {
    const file = join(ROOT, "node_modules", name, "package.json");
    const { dependencies = {} } = JSON.parse(readFileSync(file, "utf8")) as {
      dependencies?: Record<string, string>;
    };
    for (const other of Object.keys(dependencies))
      if (existsSync(join(ROOT, "node_modules", other))) all.add(other);
  }
  return all;
}

function copyOfProject(): { path: string; remove: () => void } {
  const folder = temporaryFolder();
  const skip = /(^|\/)(dist|node_modules)(\/|$)/;
  for (const part of ["shared", "infra", "node-shim", "package.json", "package-lock.json", "LICENSE"])
    cpSync(join(ROOT, part), join(folder.path, part), {
      recursive: true,
      filter: (source) => !skip.test(relative(ROOT, source)),
    });
  const modules = join(folder.path, "node_modules");
  // The files are copied by cp, which takes half of cpSync's time for so many small files.
  for (const name of withDependencies(Object.keys(shim.devDependencies))) {
    mkdirSync(dirname(join(modules, name)), { recursive: true });
    execFileSync("cp", ["-RL", join(ROOT, "node_modules", name), join(modules, name)]);
  }
  // These modules are only linked, because the bundler does not read them.
  for (const name of ["esbuild", "@esbuild", "openpgp", RUNTIME].filter((each) =>
    existsSync(join(ROOT, "node_modules", each)),
  ))
    symlinkSync(join(ROOT, "node_modules", name), join(modules, name));
  mkdirSync(join(modules, ".bin"));
  symlinkSync("../esbuild/bin/esbuild", join(modules, ".bin/esbuild"));
  return folder;
}
