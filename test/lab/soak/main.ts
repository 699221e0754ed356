// Runs ten thousand machines over sockets for an hour, or one machine that floods a full gateway (`npm run soak`).
import { Command, InvalidArgumentError, Option } from "commander";
import { faultOf } from "../../../node-shim/base/fault.ts";
import { type ApiserverTrouble, APISERVER_TROUBLES } from "./place.ts";
import { areKept, type Finding, findingsText } from "./finding.ts";
import { progressOn } from "../hostile/progress.ts";

const HELP = `
The machines are the shim's own loop, reporter and socket; workerd runs the Worker; the apiserver is made up and takes 50 ms
for an answer. Each minute has its line. The last lines are the verdict: no heartbeat late by more than a beat (10 s), no
socket lost, workerd's memory flat after ten minutes (3 % up or down); with --reconnect all machines on sockets again within
60 s of workerd's being back.

With --flood a gateway is full, and one of its machines sends heartbeats, reports, new sockets or upgrades as fast as it can,
for a fifth of the time each, after a fifth of calm: 99 of 100 answers to its neighbours take at most a second, and none
of them loses its socket.

With --real a kube-apiserver takes the place of the one that is made up, and workerd's CPU is judged: 40 % of a core for three
thousand machines.

With --tunnel that apiserver is behind a Tunnel and Cloudflare Access, as docs/apiserver.md has it, which restarts each minute:
for five seconds no cloudflared is connected, or none reaches the apiserver, or answers are lost on the way back. No heartbeat
is late by more than a beat all the same.

With --at-once all machines enrol at the same time, each as a shim does, and the time until all are on sockets is printed.

With --slowed workerd runs for a tenth of the time, for two minutes at half time; with --apiserver 300ms, 2s or 429 the apiserver
that is made up takes that time for each answer, or answers 429, for a minute. A line is printed each ten seconds. Afterwards all
machines are on sockets again within 60 s, no lease expires, and none was late for longer than the trial and a lease. With
--slowed, reports and renewals are at least 80 % of what workerd's CPU time is enough for, in any 40 s.

With --real --kwok KWOK keeps as many Nodes, for comparison: npm run neighbours -- --build builds it, with Go.

What else is printed of CPU and of answers' times is not judged: it says how busy this computer was.

Exit codes: 0; 1 when a limit is broken or something failed; 2 for a wrong command line.

Examples:
  npm run soak
  npm run soak -- --machines 1000 --minutes 3
  npm run soak -- --reconnect
  npm run soak -- --machines 3000 --minutes 6 --slowed
  npm run soak -- --machines 1000 --minutes 4 --apiserver 429
  npm run soak -- --real --machines 3000 --minutes 5
  npm run soak -- --tunnel --machines 100 --minutes 60
  npm run soak -- --flood --minutes 5`;

function wholeNumber(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (Number.isInteger(value) && value >= least && value <= most) return value;
    throw new InvalidArgumentError(`must be a whole number from ${least} to ${most}.`);
  };
}

function minutes(text: string): number {
  const value = Number(text);
  if (value >= 0.5 && value <= 1440) return value;
  throw new InvalidArgumentError("must be a number from 0.5 to 1440.");
}

interface Flags {
  machines: number;
  minutes: number;
  reconnect: boolean;
  real: boolean;
  tunnel: boolean;
  flood: boolean;
  kwok: boolean;
  atOnce: boolean;
  slowed: boolean;
  apiserver?: ApiserverTrouble;
}

const progress = progressOn(process.stderr);
const output = {
  show: (text: string) => progress.show(text),
  say(line: string) {
    progress.clear();
    process.stdout.write(`${line}\n`);
  },
};

const interrupted = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const)
  process.once(signal, () => interrupted.abort(new Error("interrupted")));

/** The modules are imported only here: help and a wrong command line do not wait for them. */
async function findingsOf({ flood, kwok, slowed, apiserver, ...flags }: Flags): Promise<Finding[]> {
  const plan = { ...flags, trial: slowed ? ("slowed" as const) : (apiserver ?? null) };
  if (kwok) {
    const { runKwok } = await import("./kwok.ts");
    return runKwok(plan, output, interrupted.signal);
  }
  if (flood) {
    const [{ runFlood }, { floodFindings }] = await Promise.all([
      import("./flood.ts"),
      import("./flood-verdict.ts"),
    ]);
    return floodFindings(await runFlood(plan.minutes, output, interrupted.signal));
  }
  const [{ runSoak }, { soakFindings }] = await Promise.all([import("./soak.ts"), import("./verdict.ts")]);
  return soakFindings(await runSoak(plan, output, interrupted.signal));
}

async function soak(flags: Flags): Promise<void> {
  const findings = await findingsOf(flags);
  progress.clear();
  process.stdout.write(findingsText(findings));
  process.exitCode = areKept(findings) ? 0 : 1;
}

const program = new Command("npm run soak --")
  .description("Many machines over sockets for a long time.")
  .option("--machines <n>", "how many", wholeNumber(1, 100_000), 10_000)
  .option("--minutes <n>", "for how long, from when all are on sockets", minutes, 60)
  .option("--reconnect", "at half time workerd is killed and started again: all come back at once", false)
  .option("--real", "with the etcd and kube-apiserver in KUBEBUILDER_ASSETS", false)
  .option("--tunnel", "the same behind a Tunnel and Access, which restarts each minute", false)
  .option("--flood", "500 machines on one gateway, of which one floods it, in each of four ways", false)
  .option("--kwok", "KWOK in the place of rollcall, with --real", false)
  .option("--at-once", "all machines enrol at the same time", false)
  .option("--slowed", "at half time workerd is slowed to a tenth for two minutes", false)
  .addOption(
    new Option("--apiserver <trouble>", "at half time the apiserver is slow or refuses for a minute").choices(
      APISERVER_TROUBLES,
    ),
  )
  .addHelpText("after", HELP)
  .exitOverride((error) => process.exit(error.exitCode === 0 ? 0 : 2))
  .action(async (flags: Flags, command: Command) => {
    const { reconnect, real, tunnel, atOnce, slowed, apiserver } = flags;
    const isTrial = slowed || apiserver !== undefined;
    const isFleetSet =
      command.getOptionValueSource("machines") === "cli" || reconnect || real || tunnel || atOnce || isTrial;
    if (slowed && apiserver) command.error("error: --slowed and --apiserver are two runs");
    if (flags.kwok && (!real || isTrial || reconnect || atOnce))
      command.error("error: --kwok is with --real, --machines and --minutes alone");
    if (isTrial && reconnect) command.error("error: --reconnect has a half time of its own");
    if (apiserver && (real || tunnel))
      command.error("error: --apiserver is for the apiserver that is made up");
    if (flags.flood && isFleetSet) command.error("error: --flood has machines and an apiserver of its own");
    if ((real || tunnel) && !process.env["KUBEBUILDER_ASSETS"])
      command.error(
        `error: --${real ? "real" : "tunnel"} takes KUBEBUILDER_ASSETS, the folder of etcd and kube-apiserver`,
      );
    if (real && tunnel) command.error("error: --tunnel has a real apiserver: leave --real out");
    await soak(flags);
  });

try {
  await program.parseAsync();
} catch (error) {
  progress.clear();
  console.error(`npm run soak: ${faultOf(error)}`);
  process.exitCode = 1;
}
