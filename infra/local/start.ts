// npm start: an apiserver, the Worker, this machine's shim, and a live table of the Nodes. Ctrl-C ends all of it.
import { resolve } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { Command, InvalidArgumentError } from "commander";
import { faultOf } from "../../node-shim/base/fault.ts";
import { lockFolder } from "../../node-shim/identity/lock.ts";
import { apiFault } from "./api-fault.ts";
import type { KubeAdmin } from "./kube-admin.ts";
import type { StartFlags } from "./place.ts";
import { localParts, type Part, shellCommand } from "./parts.ts";
import { openState } from "./settings.ts";
import { type LiveTable, liveTable } from "./table.ts";

const HELP = `
Everything is kept in the state folder: kubeconfig, admin-secret, logs, keys, Durable Objects, the apiserver's data.
A second start continues from it. With KUBEBUILDER_ASSETS set, a real etcd and kube-apiserver run instead of the
embedded apiserver.

Exit codes: 130 after Ctrl-C, 1 when something could not be started, 2 for a wrong command line.

Examples:
  npm start
  npm start -- --nodes 20 --fresh
  npm start -- --kubeconfig ~/.kube/config`;

const REDRAW_MS = 1000;
const ROOT = resolve(import.meta.dirname, "../..");
/** 128 + the signal's number, as shells have it. */
const SIGNALS = [
  ["SIGINT", 130],
  ["SIGTERM", 143],
  ["SIGHUP", 129],
] as const;

function wholeNumber(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (Number.isInteger(value) && value >= least && value <= most) return value;
    throw new InvalidArgumentError(`must be a whole number from ${least} to ${most}.`);
  };
}

/** Runs until a signal ends it. */
async function start(flags: StartFlags): Promise<void> {
  const folder = resolve(flags.state);
  const table = liveTable(process.stdout);
  const parts = localParts((part, how) => {
    table.note(`${part.name} ${how}. Start it again:\n  ${shellCommand(part.command)}`);
  });
  const lock = lockFolder(folder);
  let ending: Promise<never> | undefined;
  const end = async (code: number): Promise<never> => {
    await parts.stop();
    lock.release();
    return process.exit(code);
  };
  // Again and again: npm passes a terminal's Ctrl-C on, and a second one must not leave the parts behind.
  for (const [signal, code] of SIGNALS) process.on(signal, () => void (ending ??= end(code)));
  try {
    const state = openState(folder, flags.fresh === true);
    const progress = (message: string) => console.log(message);
    // Loaded when it is needed: a wrong flag is said at once.
    const { startCluster } = await import("./cluster.ts");
    const { kubeconfig, cluster } = await startCluster({ root: ROOT, folder, flags, state, parts, progress });
    progress(
      `\n${parts.running().map(describe).join("\n")}\n\n  kubectl --kubeconfig ${kubeconfig} get nodes -o wide\n`,
    );
    await showNodes(cluster.admin, table);
  } catch (error) {
    // A part that a signal has ended fails what waits for it: the signal's exit code counts.
    if (!ending) console.error(`npm start: ${apiFault(error)}`);
    await (ending ??= end(1));
  }
}

function describe(part: Part): string {
  return `${part.name}, pid ${part.process.pid}; start it again:\n  ${shellCommand(part.command)}`;
}

async function showNodes(admin: KubeAdmin, table: LiveTable): Promise<never> {
  const { readNodes } = await import("./watch.ts");
  for (let silent = false; ; await wait(REDRAW_MS)) {
    try {
      table.draw(await readNodes(admin), Date.now());
      silent = false;
    } catch (error) {
      if (!silent) table.note(`the apiserver does not answer: ${apiFault(error)}`);
      silent = true;
    }
  }
}

const port = wholeNumber(1, 65_535);
const program = new Command("npm start --")
  .description(
    "A local cluster with this machine as a Ready Node: apiserver, Worker, shim, and a live table.",
  )
  .option("--state <folder>", "keeps everything", ".rollcall")
  .option("--fresh", "begin anew: empty the state folder first")
  .option("--config <file>", "KubeletConfiguration (YAML) for this machine's shim")
  .option("--nodes <n>", "add n simulated machines", wholeNumber(0, 5000), 0)
  .option("--kubeconfig <file>", "use the cluster of this kubeconfig instead of a local apiserver")
  .option("--apiserver-port <port>", "instead of a free one", port)
  .option("--worker-port <port>", "instead of a free one", port)
  .addHelpText("after", HELP)
  .exitOverride((error) => process.exit(error.exitCode === 0 ? 0 : 2))
  .action(start);

try {
  await program.parseAsync();
} catch (error) {
  console.error(`npm start: ${faultOf(error)}`);
  process.exitCode = 1;
}
