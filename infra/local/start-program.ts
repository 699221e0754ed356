// Runs npm start until a signal ends its apiserver, Worker, shim and live table. Prints useful commands.
import { Command, CommanderError, InvalidArgumentError, Option } from "commander";
import { Console } from "node:console";
import { existsSync, rmSync, statfsSync } from "node:fs";
import { constants } from "node:os";
import { resolve } from "node:path";
import { pause, wallMs } from "../../node-shim/base/clock.ts";
import { faultOf } from "../../node-shim/base/fault.ts";
import { lockFolder } from "../../node-shim/identity/lock.ts";
import { nodeName } from "../../node-shim/machine/settings.ts";
import { TRANSPORTS } from "../../node-shim/machine/transport.ts";
import { shellCommand } from "../../shared/shell-command.ts";
import { confirmed, type Terminal } from "../operator/confirm.ts";
import { apiFault, type KubeAdmin } from "./kube-admin.ts";
import { filesLack, openFiles } from "./open-files.ts";
import { localParts, type Part, type Parts } from "./parts.ts";
import { openState, type StartFlags } from "./settings.ts";
import { type LiveTable, liveTable, readNodes } from "./table.ts";

const HELP = `
The state folder has everything: kubeconfig, admin-secret, logs, keys, Durable Objects, the apiserver's data. A second
start continues from it. If KUBEBUILDER_ASSETS is set, a real etcd and kube-apiserver run instead of the embedded
apiserver, and kube-controller-manager if that folder has it.

With --kubeconfig the cluster is yours. npm start lists the objects for it first, and asks. --remove removes them again.

Exit codes: 130 after Ctrl-C, 1 if a part could not be started, 2 for a wrong command line.

Examples:
  npm start
  npm start -- --nodes 20 --fresh
  npm start -- --kubeconfig ~/.kube/config
  npm start -- --kubeconfig ~/.kube/config --remove`;

const REDRAW_MS = 1000;
/** The number of redraws of the table per count of sockets. For each count the Worker asks all gateways. */
const SOCKETS_EVERY = 5;
const ROOT = resolve(import.meta.dirname, "../..");
/** The signals that end a start. The exit codes are those of shells: 128 + the signal's number. */
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

function wholeNumber(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (Number.isInteger(value) && value >= least && value <= most) return value;
    throw new InvalidArgumentError(`must be a whole number from ${least} to ${most}.`);
  };
}

/** The process and the terminal that a start uses, typically this process. */
interface StartSurroundings {
  stdout: NodeJS.WriteStream;
  stderr: NodeJS.WritableStream;
  terminal: Terminal;
  onSignal: (signal: NodeJS.Signals, listener: () => void) => unknown;
}

/** Runs all parts until a signal ends them. Returns the exit code after all parts have ended. */
async function start(flags: StartFlags, surroundings: StartSurroundings): Promise<number> {
  const { stdout, stderr, terminal, onSignal } = surroundings;
  // With Ctrl-C, `| tee` ends before this program. A console ignores writes to the closed pipe; a stream would fail.
  const console = new Console(stdout, stderr);
  const folder = resolve(flags.state);
  const name = nodeName(flags);
  const table = liveTable(stdout, name);
  const parts = localParts((part, how) => {
    table.note(`${part.name} ${how}. Start it again:\n  ${shellCommand(part.command)}`);
  });
  const isNew = !existsSync(folder);
  let lock: ReturnType<typeof lockFolder> | undefined;
  let isInterrupted = false;
  let hasStarted = false;
  // npm repeats Ctrl-C, so the listeners stay: the repetition must not end this process before its parts.
  const interrupted = new Promise<number>((end) => {
    for (const signal of SIGNALS)
      onSignal(signal, () => {
        isInterrupted = true;
        end(128 + constants.signals[signal]);
      });
    // Like SIGPIPE: the reader of the table has ended, for example \`| head\`.
    stdout.on("error", () => end(128 + constants.signals.SIGPIPE));
  });
  const run = async () => {
    try {
      lock = lockFolder(folder);
      const started = await startAll(folder, flags, parts, { console, terminal });
      hasStarted = started !== null;
      return started ? await showNodes(started, table) : 0;
    } catch (error) {
      // If a signal has ended a part, the signal decides the exit code, and the part's error is not printed.
      if (!isInterrupted) console.error(`npm start: ${fullDisk(folder) ?? apiFault(error)}`);
      return 1;
    }
  };
  const code = await Promise.race([interrupted, run()]);
  await parts.stop();
  lock?.release();
  if (isNew && parts.running().length === 0) rmSync(folder, { recursive: true, force: true });
  if (hasStarted) console.log(afterwards(flags));
  return code;
}

/** The number of free bytes below which SQLite fails. */
const LEAST_FREE_BYTES = 256 * 1024;

/** Returns the message for a full disk, or null if there is space. On a full disk parts fail in many ways. */
function fullDisk(folder: string): string | null {
  if (!existsSync(folder)) return null;
  const { bavail, bsize } = statfsSync(folder);
  if (bavail * bsize >= LEAST_FREE_BYTES) return null;
  return `no space is left at ${folder}: free some, or pass another --state`;
}

interface Started {
  admin: KubeAdmin;
  sockets: () => Promise<number | undefined>;
}

/** Starts all parts. Returns null with --remove, which starts none. */
async function startAll(
  folder: string,
  flags: StartFlags,
  parts: Parts,
  { console, terminal }: { console: Console; terminal: Terminal },
): Promise<Started | null> {
  const lack = filesLack(flags.nodes, openFiles(), "--nodes");
  if (lack !== null) throw new Error(lack);
  const state = openState(folder, flags.fresh === true);
  const progress = (message: string) => console.log(message);
  const confirm = async (consequence: string) => {
    const agreed = await confirmed(consequence, flags, terminal);
    if (!agreed.ok) throw new Error(agreed.error);
  };
  const place = { root: ROOT, folder, flags, state, parts, progress, confirm };
  // cluster.ts is loaded on demand, so that a wrong flag is reported at once.
  const { removeFromUsersCluster, startCluster } = await import("./cluster.ts");
  if (flags.remove) {
    await removeFromUsersCluster(place);
    return null;
  }
  const { kubeconfig, cluster, page, sockets } = await startCluster(place);
  progress(
    `\n${parts.running().map(describe).join("\n")}\n\n${nextSteps({ kubeconfig, folder, page, name: nodeName(flags) })}\n`,
  );
  return { admin: cluster.admin, sockets };
}

function describe(part: Part): string {
  return `${part.name}, pid ${part.process.pid}; start it again:\n  ${shellCommand(part.command)}`;
}

async function showNodes({ admin, sockets }: Started, table: LiveTable): Promise<never> {
  let awaySinceMs: number | undefined;
  let onSockets: number | undefined;
  for (let draws = 0; ; draws++, await pause(REDRAW_MS)) {
    try {
      if (draws % SOCKETS_EVERY === 0) onSockets = await sockets();
      const rows = await readNodes(admin);
      table.draw({ kind: "nodes", rows, nowMs: wallMs(), sockets: onSockets });
      awaySinceMs = undefined;
    } catch (error) {
      const nowMs = wallMs();
      awaySinceMs ??= nowMs;
      table.draw({ kind: "away", sinceMs: awaySinceMs, fault: apiFault(error), nowMs });
    }
  }
}

const port = wholeNumber(1, 65_535);

function startProgram(action: (flags: StartFlags) => Promise<void>): Command {
  const program = new Command("npm start --");
  return program
    .description(
      "A local cluster with this machine as a Ready Node: apiserver, Worker, shim, and a live table.",
    )
    .option("--state <folder>", "folder of all data", ".rollcall")
    .option("--fresh", "empty the state folder first")
    .option("--config <file>", "KubeletConfiguration (YAML) for this machine's shim")
    .option("--hostname-override <name>", "as node-shim's: the name of this machine's Node")
    .option("--nodes <n>", "add n simulated machines", wholeNumber(0, 5000), 0)
    .addOption(new Option("--transport <name>", "as node-shim's --transport").choices([...TRANSPORTS]))
    .option("--kubeconfig <file>", "use the cluster of this kubeconfig instead of a local apiserver")
    .option("--remove", "remove the objects of earlier starts from that cluster, and start nothing")
    .option("--yes", "change that cluster without asking")
    .option("--apiserver-port <port>", "the apiserver's port (default: a free one)", port)
    .option("--worker-port <port>", "the Worker's port (default: a free one)", port)
    .addHelpText("after", HELP)
    .exitOverride()
    .action((flags: StartFlags) => {
      if (flags.remove && flags.kubeconfig === undefined)
        program.error("error: --remove needs --kubeconfig: a local apiserver is only in the state folder");
      if (flags.remove && flags.fresh)
        program.error("error: --remove needs the data that --fresh deletes: pass one of them");
      return action(flags);
    });
}

/** Runs `npm start` with the arguments `args`, typically process.argv without the program. Returns the exit code. */
export async function runStart(args: readonly string[], surroundings: StartSurroundings): Promise<number> {
  const { stdout, stderr } = surroundings;
  let code = 0;
  const program = startProgram(async (flags) => {
    code = await start(flags, surroundings);
  }).configureOutput({
    writeOut: (text) => void stdout.write(text),
    writeErr: (text) => void stderr.write(text),
  });
  try {
    await program.parseAsync([...args], { from: "user" });
    return code;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    stderr.write(`npm start: ${faultOf(error)}\n`);
    return 1;
  }
}

const ROLLCALL = ["npm", "run", "--silent", "rollcall", "--"];

interface Running {
  /** The path of the kubeconfig, for kubectl. */
  kubeconfig: string;
  folder: string;
  /** The name of this machine's Node. */
  name: string;
  /** The link to the page, with a code that signs a browser in. */
  page: string;
}

/** Returns the commands to try after the start, and the link to the page. */
export function nextSteps({ kubeconfig, folder, name, page }: Running): string {
  const kubectl = ["kubectl", "--kubeconfig", kubeconfig];
  const commands = lines("Try:", [
    [...kubectl, "get", "nodes", "-o", "wide"],
    [...kubectl, "describe", "node", name],
    [...ROLLCALL, "--state", folder, "nodes"],
  ]);
  const another = shellCommand([...ROLLCALL, "--state", folder, "page"]);
  return `${commands}\nThe page: ${page}\n  (works once, for 10 minutes; \`${another}\` makes another)`;
}

/** Returns the commands to continue with after the end. The first one keeps the data, also after a start with --fresh. */
export function afterwards(flags: StartFlags): string {
  const kept = { ...flags, fresh: false };
  const again = ["npm", "start", ...flagWords(kept)];
  const fresh = ["npm", "start", ...flagWords({ ...flags, fresh: true })];
  const ended = lines("\nAll parts have ended, and their data is kept. Continue, or start with no data:", [
    again,
    fresh,
  ]);
  if (flags.kubeconfig === undefined) return ended;
  const remove = ["npm", "start", ...flagWords({ ...kept, nodes: 0, remove: true })];
  return `${ended}\n${lines("Remove the objects from your cluster:", [remove])}`;
}

function flagWords(flags: StartFlags): string[] {
  const { state, fresh, config, hostnameOverride, nodes, transport, kubeconfig, remove } = flags;
  const words = [
    ...(state === ".rollcall" ? [] : ["--state", state]),
    ...(fresh ? ["--fresh"] : []),
    ...(config === undefined ? [] : ["--config", config]),
    ...(hostnameOverride === undefined ? [] : ["--hostname-override", hostnameOverride]),
    ...(nodes === 0 ? [] : ["--nodes", String(nodes)]),
    ...(transport === undefined ? [] : ["--transport", transport]),
    ...(kubeconfig === undefined ? [] : ["--kubeconfig", kubeconfig]),
    ...(remove ? ["--remove"] : []),
  ];
  return words.length === 0 ? [] : ["--", ...words];
}

function lines(title: string, commands: string[][]): string {
  return [title, ...commands.map((command) => `  ${shellCommand(command)}`)].join("\n");
}
