// Runs this system's apt for a machine that is a folder, with sources, lists and a dpkg of its own. Also serves the
// repository.
import { execFile } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { type AddressInfo } from "node:net";
import { join, normalize } from "node:path";
import { DpkgRoot } from "../deb/dpkg-root.ts";

export interface AptRun {
  code: number;
  /** The output of apt on stdout and stderr. */
  said: string;
}

export class AptMachine {
  readonly folder: string;
  readonly dpkg: DpkgRoot;

  constructor(folder: string, architecture = "amd64") {
    this.folder = folder;
    mkdirSync(folder, { recursive: true });
    this.dpkg = new DpkgRoot(join(folder, "root")).withPackages();
    for (const each of ["etc/apt.conf.d", "etc/preferences.d", "etc/sources.list.d", "etc/trusted.gpg.d"])
      mkdirSync(join(folder, each), { recursive: true });
    for (const each of ["state/lists/partial", "cache/archives/partial", "log"])
      mkdirSync(join(folder, each), { recursive: true });
    writeFileSync(join(folder, "apt.conf"), this.#configuration(architecture));
  }

  /** Adds the repository as docs/upgrading-shims.md shows. */
  trust(key: string, repository: string, suite = "stable"): this {
    const keyFile = join(this.folder, "etc/key.asc");
    writeFileSync(keyFile, key);
    writeFileSync(
      join(this.folder, "etc/sources.list.d/rollcall.sources"),
      `Types: deb\nURIs: ${repository}\nSuites: ${suite}\nComponents: main\nSigned-By: ${keyFile}\n`,
    );
    return this;
  }

  aptGet(...args: string[]): Promise<AptRun> {
    return this.#run("apt-get", ["-y", "-q", ...args]);
  }

  /** Returns the version that apt would install, or "(none)". */
  async candidate(name: string): Promise<string> {
    const { said } = await this.#run("apt-cache", ["policy", name]);
    return /Candidate: (\S+)/.exec(said)?.[1] ?? "(unknown)";
  }

  /** Returns version and architecture of the installed package. */
  installed(name: string): string {
    const status = readFileSync(join(this.dpkg.root, "var/lib/dpkg/status"), "utf8");
    const paragraph = status.split("\n\n").find((each) => each.startsWith(`Package: ${name}\n`)) ?? "";
    const field = (key: string) => new RegExp(`^${key}: (.*)$`, "m").exec(paragraph)?.[1];
    return `${field("Version")} ${field("Architecture")}`;
  }

  #run(program: string, args: string[]): Promise<AptRun> {
    const env = { ...process.env, APT_CONFIG: join(this.folder, "apt.conf"), LC_ALL: "C" };
    return new Promise((resolve) => {
      execFile(program, args, { env, maxBuffer: 2 ** 24 }, (error, stdout, stderr) => {
        const code = typeof error?.code === "number" ? error.code : error ? -1 : 0;
        resolve({ code, said: stdout + stderr });
      });
    });
  }

  /** apt runs as root here: by default it fetches as another user, who may not enter a test's folder. */
  #configuration(architecture: string): string {
    const { folder } = this;
    return `Dir "/";
Dir::Etc "${folder}/etc";
Dir::Etc::trusted "none";
Dir::Etc::main "none";
Dir::State "${folder}/state";
Dir::State::status "${this.dpkg.root}/var/lib/dpkg/status";
Dir::Cache "${folder}/cache";
Dir::Log "${folder}/log";
APT::Architecture "${architecture}";
APT::Architectures { "${architecture}"; };
APT::Sandbox::User "root";
APT::Install-Recommends "false";
Acquire::Languages "none";
Acquire::Retries "0";
Acquire::http::Proxy "DIRECT";
Dpkg::Use-Pty "false";
DPkg::Options { "--root=${this.dpkg.root}"; "--force-script-chrootless"; "--force-architecture"; "--force-unsafe-io"; };
`;
  }
}

/** Serves a folder by HTTP, like any web server. */
export async function serveFolder(folder: string): Promise<{ url: string; stop: () => void }> {
  const server: Server = createServer(({ url = "/" }, answer) => {
    try {
      answer.end(readFileSync(join(folder, normalize(decodeURIComponent(url)))));
    } catch {
      answer.writeHead(404).end();
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    stop: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
