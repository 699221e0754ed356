// A release so small that it is made within milliseconds, and a machine to install it on: a folder for its root, and the
// programs that install.sh may find, some of them played.
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

/** Writes packages and SHA256SUMS into the folder; `shim` is the script that stands for the shim. */
export function makeRelease(folder: string, shim = "echo node-shim 1.2.3"): void {
  const tree = join(folder, NAME);
  put(join(tree, "bin/node-shim"), `#!/bin/sh\n${shim}\n`, 0o755);
  put(join(tree, "man/node-shim.8.gz"), "");
  put(join(tree, "systemd/rollcall-node-shim.service"), "[Service]\n");
  put(join(tree, "etc/kubelet.yaml"), "kind: KubeletConfiguration\n");
  put(join(tree, "etc/node-shim.env"), "# flags\n");
  execFileSync("tar", ["-czf", join(folder, `${NAME}.tar.gz`), "-C", folder, NAME]);
  put(join(folder, `${NAME}.deb`), "a package");
  const sums = [`${NAME}.tar.gz`, `${NAME}.deb`].map(
    (file) => `${sha256(readFileSync(join(folder, file)))}  ${file}\n`,
  );
  put(join(folder, "SHA256SUMS"), sums.join(""));
}

/** What a minimal system has; the rest is played, or missing. */
const TOOLS =
  "sh cat chmod cp cut curl dirname ln mkdir mktemp mv readlink rm rmdir sed sha256sum tar gzip wc".split(
    " ",
  );

/** A machine of 64 bits with glibc 2.31 and systemd, and root on it. Each writes down how it was called. */
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

/** A folder with links to those programs: a machine's PATH besides what is played. */
export function makeTools(folder: string): void {
  mkdirSync(folder);
  for (const tool of TOOLS) symlinkSync(toolPath(tool), join(folder, tool));
}

export class Machine {
  readonly root: string;
  readonly #programs: string;
  readonly #path: string;

  /** `folder` is empty; `tools` is made by makeTools. */
  constructor(folder: string, tools: string) {
    this.root = join(folder, "root");
    this.#programs = join(folder, "programs");
    this.#path = `${this.#programs}${delimiter}${tools}`;
    mkdirSync(join(this.root, "run/systemd/system"), { recursive: true });
    mkdirSync(join(this.root, "tmp"));
    for (const [name, script] of Object.entries(PLAYED)) this.play(name, script);
  }

  /** Puts a program there that is a script. */
  play(name: string, script: string): void {
    put(join(this.#programs, name), `#!/bin/sh\n${script}\n`, 0o755);
  }

  lacks(program: string): void {
    rmSync(join(this.#programs, program));
  }

  /** A path below its root, here. */
  at(path: string): string {
    return join(this.root, path);
  }

  put(path: string, content = ""): void {
    put(this.at(path), content);
  }

  /** Files and links; what was played is not the machine's. */
  files(): string[] {
    return readdirSync(this.root, { recursive: true, withFileTypes: true })
      .filter((entry) => !entry.isDirectory())
      .map((entry) => relative(this.root, join(entry.parentPath, entry.name)))
      .filter((path) => path !== "calls" && !path.includes("/current/"))
      .sort();
  }

  /** Runs install.sh, as through a pipe. */
  install(...args: string[]): Outcome {
    return this.sh(installer, "-s", "--", ...args);
  }

  /** Runs the machine's shell. */
  sh(input: string, ...args: string[]): Outcome {
    const env = { PATH: this.#path, ROLLCALL_ROOT: this.root, TMPDIR: join(this.root, "tmp") };
    const { status, stdout, stderr } = spawnSync("/bin/sh", args, { input, encoding: "utf8", env });
    return { code: status, stdout, stderr };
  }

  /** The calls of played programs since the last time. */
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
