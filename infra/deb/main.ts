// npm run packages: the npm tarball and the .deb of the shim, reproducibly.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { Command } from "commander";
import { faultOf } from "../../node-shim/base/fault.ts";
import { VERSION } from "../../shared/version.ts";
import { PACKAGE } from "./control.ts";
import { fillTree } from "./tree.ts";

const ROOT = resolve(import.meta.dirname, "../..");

const HELP = `
Makes ${PACKAGE}-VERSION.tgz (npm install -g), ${PACKAGE}_VERSION_all.deb (apt install) and SHA256SUMS. The same
commit gives the same bytes: times are SOURCE_DATE_EPOCH, by default the last commit's.

Exit codes: 0, 1 when something is missing or failed, 2 for a wrong command line.

Examples:
  npm run packages
  npm run packages -- --out /tmp/packages`;

/** A program's output; its fault in one line. */
function output(program: string, args: string[]): string {
  try {
    return execFileSync(program, args, { cwd: ROOT, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
  } catch (error) {
    const { stderr = "", code } = error as { stderr?: string; code?: string };
    if (code === "ENOENT") throw new Error(`${program} is missing: install it`, { cause: error });
    throw new Error(`${program} ${args[0]}: ${stderr.trim().split("\n").at(-1) || faultOf(error)}`, {
      cause: error,
    });
  }
}

function sourceDateEpoch(): number {
  const seconds = Number(process.env["SOURCE_DATE_EPOCH"] || output("git", ["log", "-1", "--format=%ct"]));
  if (!Number.isInteger(seconds) || seconds < 0) throw new Error("SOURCE_DATE_EPOCH must be whole seconds");
  return seconds;
}

/** npm pack normalizes modes and times itself. */
function packNpm(out: string): string {
  const made = output("npm", ["pack", "--silent", "--workspace", "node-shim", "--pack-destination", out]);
  const tarball = join(out, `${PACKAGE}-${VERSION}.tgz`);
  renameSync(join(out, made.trim().split("\n").at(-1) ?? ""), tarball);
  return tarball;
}

function packDeb(out: string, tarball: string, work: string): string {
  const tree = join(work, "tree");
  mkdirSync(tree);
  output("tar", ["-xzf", tarball, "-C", work]);
  const epochSeconds = sourceDateEpoch();
  fillTree({ tree, npmPackage: join(work, "package"), root: ROOT, version: VERSION, epochSeconds });
  const deb = join(out, `${PACKAGE}_${VERSION}_all.deb`);
  process.env["SOURCE_DATE_EPOCH"] = String(epochSeconds);
  // One thread: xz splits its output by the number of cores. And xz: dpkg on older releases knows no zstd.
  output("dpkg-deb", ["--root-owner-group", "-Zxz", "--threads-max=1", "--build", tree, deb]);
  return deb;
}

function packages({ out }: { out: string }): void {
  const folder = resolve(out);
  mkdirSync(folder, { recursive: true });
  const work = mkdtempSync(join(tmpdir(), "rollcall-packages-"));
  try {
    const tarball = packNpm(folder);
    const made = [tarball, packDeb(folder, tarball, work)];
    const sums = made.map((file) => {
      const digest = createHash("sha256").update(readFileSync(file)).digest("hex");
      return `${digest}  ${file.slice(folder.length + 1)}\n`;
    });
    writeFileSync(join(folder, "SHA256SUMS"), sums.join(""));
    process.stdout.write(sums.join(""));
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

const program = new Command("npm run packages --")
  .description("Builds what machines install.")
  .option("--out <folder>", "where the packages go", "dist")
  .addHelpText("after", HELP)
  .exitOverride((error) => process.exit(error.exitCode === 0 ? 0 : 2))
  .action(packages);

try {
  await program.parseAsync();
} catch (error) {
  console.error(`npm run packages: ${faultOf(error)}`);
  process.exitCode = 1;
}
