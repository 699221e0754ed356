// Makes a small release within milliseconds, and a machine to install it on: a folder as its root, and the programs
// that install.sh may find. Scripts play some of the programs.
import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { delimiter, dirname, join, relative } from "node:path";
// oxlint-disable-next-line import/default -- with ?raw the bundler exports the text
import installer from "../../../../infra/install/install.sh?raw";

const NAME = "rollcall-node-shim_1.2.3_amd64";

export const sha256 = (content: string | Buffer) => createHash("sha256").update(content).digest("hex");

function put(path: string, content: string | Buffer, mode = 0o644): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
  chmodSync(path, mode);
}

/** Writes the packages and SHA256SUMS into the folder. `shim` is a script in place of the shim. */
export function makeRelease(folder: string, shim = "echo node-shim 1.2.3"): void {
  const tree = join(folder, NAME);
  put(join(tree, "bin/node-shim"), `#!/bin/sh\n${shim}\n`, 0o755);
  put(join(tree, "man/node-shim.8.gz"), "");
  for (const unit of ["rollcall-node-shim.service", "rollcall-ask@.service", "rollcall-ask.socket"])
    put(join(tree, "systemd", unit), "[Service]\n");
  put(join(tree, "etc/kubelet.yaml"), "kind: KubeletConfiguration\n");
  put(join(tree, "etc/node-shim.env"), "# flags\n");
  execFileSync("tar", ["-czf", join(folder, `${NAME}.tar.gz`), "-C", folder, NAME]);
  put(join(folder, `${NAME}.deb`), "a package");
  const sums = [`${NAME}.tar.gz`, `${NAME}.deb`].map(
    (file) => `${sha256(readFileSync(join(folder, file)))}  ${file}\n`,
  );
  put(join(folder, "SHA256SUMS"), sums.join(""));
}

/** The programs of a minimal system. All other programs are played, or missing. */
const TOOLS =
  "sh cat chmod cp cut curl dirname ln mkdir mktemp mv readlink rm rmdir sed sha256sum tar gzip wc".split(
    " ",
  );

/**
 * The played programs of a 64-bit machine with glibc 2.31 and systemd, whose user is root. systemctl records its
 * calls.
 */
const PLAYED: Readonly<Record<string, string>> = {
  uname: 'if [ "$1" = -s ]; then echo Linux; else echo x86_64; fi',
  getconf: 'if [ "$1" = LONG_BIT ]; then echo 64; else echo glibc 2.31; fi',
  id: "echo 0",
  systemctl: 'echo "systemctl $*" >> "$ROLLCALL_ROOT/calls"',
};

export interface Outcome {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Makes a folder with links to TOOLS. This folder and the played programs are the machine's PATH. */
export function makeTools(folder: string): void {
  mkdirSync(folder);
  for (const tool of TOOLS) symlinkSync(toolPath(tool), join(folder, tool));
}

export class Machine {
  readonly root: string;
  readonly #programs: string;
  readonly #path: string;

  /** Makes a machine in the empty `folder`. makeTools has made `tools`. */
  constructor(folder: string, tools: string) {
    this.root = join(folder, "root");
    this.#programs = join(folder, "programs");
    this.#path = `${this.#programs}${delimiter}${tools}`;
    mkdirSync(join(this.root, "run/systemd/system"), { recursive: true });
    mkdirSync(join(this.root, "tmp"));
    for (const [name, script] of Object.entries(PLAYED)) this.play(name, script);
  }

  /** Adds a program that is played by this script. */
  play(name: string, script: string): void {
    put(join(this.#programs, name), `#!/bin/sh\n${script}\n`, 0o755);
  }

  lacks(program: string): void {
    rmSync(join(this.#programs, program));
  }

  /** Returns this computer's path of a path on the machine. */
  at(path: string): string {
    return join(this.root, path);
  }

  put(path: string, content = ""): void {
    put(this.at(path), content);
  }

  /** Lists the machine's files and links, without the played programs. */
  files(): string[] {
    return readdirSync(this.root, { recursive: true, withFileTypes: true })
      .filter((entry) => !entry.isDirectory())
      .map((entry) => relative(this.root, join(entry.parentPath, entry.name)))
      .filter((path) => path !== "calls" && !path.includes("/current/"))
      .sort();
  }

  /** Runs install.sh from standard input, as through a pipe. */
  install(...args: string[]): Outcome {
    return this.sh(installer, "-s", "--", ...args);
  }

  /** Runs a script in the machine's shell. */
  sh(input: string, ...args: string[]): Outcome {
    const env = { PATH: this.#path, ROLLCALL_ROOT: this.root, TMPDIR: join(this.root, "tmp") };
    const { status, stdout, stderr } = spawnSync("/bin/sh", args, { input, encoding: "utf8", env });
    return { code: status, stdout, stderr };
  }

  /** Returns the calls of played programs since the last call of this method. */
  calls(): string[] {
    const file = join(this.root, "calls");
    const lines = existsSync(file) ? readFileSync(file, "utf8").trim().split("\n") : [];
    writeFileSync(file, "");
    return lines.filter((line) => line !== "");
  }
}

function toolPath(tool: string): string {
  const folders = (process.env["PATH"] ?? "").split(delimiter);
  const found = folders.map((folder) => join(folder, tool)).find((path) => existsSync(path));
  if (found === undefined) throw new Error(`${tool} is not installed`);
  return found;
}
