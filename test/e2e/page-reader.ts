// Runs the commands of the docs' pages against a test's deployment. The reader has a home folder of its own.
import { join } from "node:path";
import { commandsBelow, OWN_PROGRAMS, programsOf, runCommands, withOwn } from "../house/page-commands.ts";
import { ROOT, temporaryFolder } from "./local-cluster.ts";
import { thisRun } from "./run-record.ts";

export interface Asked {
  /** The index of the block of commands below the heading, from 0. */
  nth?: number;
  /** The test's values, by the example values of the page that they replace. */
  own?: Readonly<Record<string, string>>;
  /** Additions to the reader's environment; undefined removes a variable. */
  env?: Readonly<Record<string, string | undefined>>;
}

export interface PageReader {
  /** The path of the home folder; no other test uses it. */
  home: string;
  /** Runs commands that no page contains; returns their standard output. */
  sh: (commands: string) => Promise<string>;
  /** Returns the standard output of a block of commands; each command has to succeed. */
  run: (page: string, heading: string, asked?: Asked) => Promise<string>;
  remove: () => void;
}

interface Worker {
  url: string;
  adminSecret: string;
}

/**
 * Returns a reader who runs commands in the root of the sources. `kubectl` is kubectl's path and its kubeconfig.
 * `programs` are further programs that the pages expect to be installed.
 */
export function pageReader(
  { url, adminSecret }: Worker,
  kubectl?: { assets: string; kubeconfig: string },
  programs: Readonly<Record<string, string>> = {},
): PageReader {
  const folder = temporaryFolder();
  const home = folder.path;
  const reader = {
    cwd: ROOT,
    programs: programsOf(join(home, "programs"), {
      ...OWN_PROGRAMS,
      ...(kubectl && { kubectl: `exec '${join(kubectl.assets, "kubectl")}' "$@"` }),
      ...programs,
    }),
  };
  const environment = {
    HOME: home,
    XDG_CONFIG_HOME: undefined,
    ROLLCALL_URL: url,
    ROLLCALL_ADMIN_SECRET: adminSecret,
    KUBECONFIG: kubectl?.kubeconfig,
  };
  const sh = async (commands: string, env: Asked["env"] = {}) =>
    runCommands(commands, { ...reader, env: { ...environment, ...env } });
  return {
    home,
    sh: async (commands) => (await sh(commands)).stdout,
    async run(page, heading, { nth = 0, own = {}, env = {} } = {}) {
      const block = commandsBelow(page, heading)[nth];
      if (block === undefined) throw new Error(`${page}: ${nth} blocks of commands below ${heading}`);
      const { stdout, stderr } = await sh(withOwn(block, own), env);
      thisRun().log(`${page}, ${heading}`, stderr);
      return stdout;
    },
    remove: folder.remove,
  };
}
