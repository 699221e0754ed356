// Runs `npm run packages`: builds the shim's packages for machines and the command line's packages for operators.
import { hash } from "node:crypto";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { Command, InvalidArgumentError, Option } from "commander";
import { faultOf } from "../../node-shim/base/fault.ts";
import { outliveReader } from "../../node-shim/base/output.ts";
import { PACKAGE } from "../../node-shim/service/package.ts";
import { VERSION } from "../../shared/version.ts";
import { publish } from "../apt/repository.ts";
import { keyText } from "../apt/signing.ts";
import { debName, folderName, packDeb, packFolder, packNpm, type Destination } from "./archives.ts";
import { CLI_PACKAGE, packCli } from "./cli.ts";
import type { Architecture } from "./control.ts";
import { output, ROOT } from "./programs.ts";
import { findRuntime, type RuntimeArchitecture } from "./runtime.ts";

const ARCHITECTURES = ["all", "amd64", "arm64"] as const satisfies readonly Architecture[];

const HELP = `
Makes, in addition to install.sh and SHA256SUMS:
  ${PACKAGE}-VERSION.tgz           npm install -g, with Node.js 20 or newer
  ${PACKAGE}_VERSION_all.deb       apt install, with the machine's nodejs
  ${PACKAGE}_VERSION_amd64.deb     apt install, a Node.js inside; arm64 as well
  ${PACKAGE}_VERSION_amd64.tar.gz  install.sh, a Node.js inside; arm64 as well
  ${CLI_PACKAGE}-VERSION.tgz           the operator's command line: npm install -g
  ${CLI_PACKAGE}_VERSION_all.deb       the same: apt install, with completions and a manual page
  ${CLI_PACKAGE}-VERSION.cjs           the same as one file: install -m 755 FILE ~/bin/rollcall

With a key it also makes dist/apt: a signed repository for apt, where published packages stay. The key is an armored
private one of OpenPGP: ROLLCALL_APT_KEY, or the file of --apt-key. ROLLCALL_APT_KEY_PASSPHRASE is its passphrase.

The same commit gives the same bytes: times are SOURCE_DATE_EPOCH, by default the last commit's. The Node.js of the
other architecture comes from the npm registry, with the integrity of package-lock.json, and is cached.

Exit codes: 0, 1 if a part is missing or failed (the other packages are made), 2 for a wrong command line.

Examples:
  npm run packages
  npm run packages -- --architectures all,amd64 --out /tmp/packages
  npm run packages -- --apt-key ~/rollcall-apt.asc`;

interface Flags {
  out: string;
  architectures: readonly Architecture[];
  aptKey?: string;
}

function architecturesOf(text: string): Architecture[] {
  const wanted = text.split(",");
  const unknown = wanted.find((each) => !ARCHITECTURES.some((known) => known === each));
  if (unknown !== undefined)
    throw new InvalidArgumentError(`"${unknown}" is none of ${ARCHITECTURES.join(", ")}`);
  return ARCHITECTURES.filter((architecture) => wanted.includes(architecture));
}

function sourceDateEpoch(): number {
  const seconds = Number(process.env["SOURCE_DATE_EPOCH"] || output("git", ["log", "-1", "--format=%ct"]));
  if (!Number.isInteger(seconds) || seconds < 0) throw new Error("SOURCE_DATE_EPOCH must be whole seconds");
  return seconds;
}

/** Makes an architecture's .deb and .tar.gz. Without a Node.js for it, prints a line and makes no package. */
async function packWithRuntime(place: Destination, architecture: RuntimeArchitecture): Promise<string[]> {
  try {
    const runtime = findRuntime(architecture);
    return await Promise.all([packDeb(place, runtime), packFolder(place, runtime)]);
  } catch (error) {
    const missing = `${debName(architecture)} and ${folderName(architecture)}.tar.gz`;
    console.error(`npm run packages: ${missing} are not made: ${faultOf(error)}`);
    process.exitCode = 1;
    return [];
  }
}

function packInstaller({ out }: Destination): string {
  const installer = join(out, "install.sh");
  copyFileSync(join(ROOT, "infra/install/install.sh"), installer);
  return installer;
}

async function packages(flags: Flags): Promise<void> {
  const { out, architectures } = flags;
  // The key is read before the build, so that a wrong file name fails at once.
  const key = keyText(flags.aptKey, process.env);
  const folder = resolve(out);
  mkdirSync(folder, { recursive: true });
  const work = mkdtempSync(join(tmpdir(), "rollcall-packages-"));
  try {
    const place = { out: folder, work, epochSeconds: sourceDateEpoch() };
    say("building the shim and rollcall");
    const npmTarball = packNpm(place);
    const cli = packCli(place);
    say(`packing for ${architectures.join(", ")}; a missing Node.js is fetched from the npm registry`);
    const made = await Promise.all(
      architectures.map(async (architecture) =>
        architecture === "all" ? [await packDeb(place)] : packWithRuntime(place, architecture),
      ),
    );
    const files = [npmTarball, ...made.flat(), packInstaller(place), ...(await cli)];
    const sums = files.map(sumLine).join("");
    writeFileSync(join(folder, "SHA256SUMS"), sums);
    if (key) {
      const debs = files.filter((file) => file.endsWith(".deb"));
      const date = new Date(place.epochSeconds * 1000);
      await publish({ folder: join(folder, "apt"), debs, key, date });
    }
    process.stdout.write(sums);
    console.error(nextSteps(folder, files.length + 1));
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

const say = (text: string) => console.error(`npm run packages: ${text} …`);

/** Returns the text that names the folder, and the next commands for machines and operators. */
const nextSteps = (folder: string, count: number) => `
${count} files are in ${folder}; the lines above are in its SHA256SUMS. Next:
  machines   serve the folder from a web server, and run as root on each machine:
             curl -fsSL https://HOST/install.sh | sh -s -- --from https://HOST
             Without a web server: copy the folder to the machine, and run sh install.sh in it.
  operators  npm install -g ${join(folder, `${CLI_PACKAGE}-${VERSION}.tgz`)}`;

function sumLine(file: string): string {
  return `${hash("sha256", readFileSync(file))}  ${basename(file)}\n`;
}

const program = new Command("npm run packages --")
  .description("Build the packages for machines and operators.")
  .option("--out <folder>", "folder of the packages", "dist")
  .addOption(
    new Option("--architectures <list>", "architectures of the packages")
      .argParser(architecturesOf)
      .default([...ARCHITECTURES], ARCHITECTURES.join(",")),
  )
  .option("--apt-key <file>", "the key that signs the apt repository")
  .addHelpText("after", HELP)
  .exitOverride((error) => process.exit(error.exitCode === 0 ? 0 : 2))
  .action(packages);

outliveReader(process.stdout, process.stderr);
try {
  await program.parseAsync();
} catch (error) {
  console.error(`npm run packages: ${faultOf(error)}`);
  process.exitCode = 1;
}
