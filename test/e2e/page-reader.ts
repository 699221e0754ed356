// Somebody who does what the pages say, with a home of their own, on a deployment of a test's.
import { join } from "node:path";
import { commandsBelow, OWN_PROGRAMS, programsOf, runCommands, withOwn } from "../house/page-commands.ts";
import { ROOT, temporaryFolder } from "./local-cluster.ts";
import { thisRun } from "./run-record.ts";

export interface Asked {
  /** Which of the blocks of commands below the heading, from 0. */
  nth?: number;
  /** What stands in place of what the page made up. */
  own?: Readonly<Record<string, string>>;
  /** Beside the reader's own; undefined takes one away. */
  env?: Readonly<Record<string, string | undefined>>;
}

export interface PageReader {
  /** Nobody else reads here. */
  home: string;
  /** What no page says. */
  sh: (commands: string) => Promise<string>;
  /** What a block of commands prints on its standard output; all of them have to go well. */
  run: (page: string, heading: string, asked?: Asked) => Promise<string>;
  remove: () => void;
}

interface Worker {
  url: string;
  adminSecret: string;
}

/** In the root of the sources. `kubectl`: the program and its configuration. `programs`: others that pages take as there. */
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
