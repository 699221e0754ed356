// Attacks the Worker on workerd (`npm run hostile`): with a seeded generator that has no credentials, or with
// machines that have some.
import { Command, InvalidArgumentError, Option } from "commander";
import { faultOf } from "../../../node-shim/base/fault.ts";
import { progressOn } from "./progress.ts";

const HELP = `
As stranger: the generator has all that some machines ever sent, enrolments included, and neither a join token nor a
machine's key. It changes, cuts, blows up, forges, exchanges, repeats and reorders; what comes out still valid (the same
words in other letters) is counted and not sent. Meanwhile the machines go on reporting.

The seed and a request's index decide the request. The last line is the verdict:
  accepted 0, 5xx 0, rows 0
Before it stand the answers by kind, and each request that was not refused, with the command that sends it again.

With --tokens, as stranger: enrolments with invented join tokens in the form of this version. The registry gets no request:
  no answer 0, objects made 0, apiserver asked 0, registry asked 0, …

With --frames, as stranger: so many frames on machines' open sockets, on which a report was accepted and on which none was.
The generator has all that was said on them, and what the machines signed for them and withheld; the sessions' keys it has
not. The seed and a frame's index decide its kind, what is drawn, and the sort of socket. Whoever is sent away comes back
after ten minutes: the Worker's clock goes on that much between two rounds. The last line:
  accepted 0, 5xx 0, rows 0, renewals 0
An accepted socket that ends writes rows, whoever ends it: those that its machine's own end writes are not counted.

As machine: enrolled machines follow the protocol and mean harm, ten acts a second each: every fact at its limit and over
it, more than their tokens say, Nodes that change and flap, two reports at once, many further names with large Nodes,
settings at their extremes, restarts, clones, rotations, leaves and new enrolments, others' names, old tickets, and forged,
late, repeated, oversized and endless answers to questions. Beside them honest machines report, two receivers get the fleet's
alerts, and an operator works. The apiserver is
a real one with etcd where KUBEBUILDER_ASSETS names their folder, else the embedded one.

The seed, a machine's number and an act's index decide the act. A fifth of the time, at most a minute, nothing is hostile
yet. The last line is the verdict, before it stands a line for each limit, kept or BROKEN:
  clean: 24 limits kept
What a machine costs is measured at the Worker's door to the apiserver. Its first minute counts by itself; what follows is
taken for an hour: the bytes of each object that a write left behind, over the time that was left after that minute.

As worker: a Worker, or a server in its place, attacks the real command line and the real shim. Its answers are made from the
API's description: escape sequences in every text, absurd numbers, 200 MB, endless, slow and compressed bodies, floods of
frames that ask for a report. Each command of rollcall runs in each format, and each command of node-shim that asks a Worker.
A line for each finding stands before the verdict:
  clean: 525 command lines of rollcall, 38 of node-shim

Exit codes: 0 when all limits were kept (as stranger: all were refused, nothing was written, no object made, the apiserver
not asked and memory flat); 1 for anything else, 2 for a wrong command line.

Examples:
  npm run hostile -- --requests 100000 --seed 7
  npm run hostile -- --seed 7 --from 1234 --requests 1
  npm run hostile -- --tokens 20000 --seed 7
  npm run hostile -- --frames 100000 --seed 7
  npm run hostile -- --as machine --machines 8 --minutes 5 --seed 7
  npm run hostile -- --as worker --seed 7`;

function wholeNumber(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (Number.isInteger(value) && value >= least && value <= most) return value;
    throw new InvalidArgumentError(`must be a whole number from ${least} to ${most}.`);
  };
}

/** Parses a number of minutes. A run of less than a tenth of a minute proves nothing, so it is refused. */
function minutes(text: string): number {
  const value = Number(text);
  if (value >= 0.1 && value <= 1440) return value;
  throw new InvalidArgumentError("must be a number from 0.1 to 1440.");
}

interface Flags {
  as: "stranger" | "machine" | "worker";
  seed: number;
  requests: number;
  frames?: number;
  tokens?: number;
  from: number;
  machines: number;
  minutes: number;
  acts?: number;
}

/** The flags of each mode, which the other mode refuses. */
const OF_ONE: Record<Flags["as"], readonly (keyof Flags)[]> = {
  stranger: ["requests", "tokens", "frames", "from"],
  machine: ["machines", "minutes", "acts"],
  worker: [],
};

const progress = progressOn(process.stderr);

/** The modules are imported only here: help and a wrong command line do not wait for them. */
async function asStranger({ requests: any, tokens, seed, from }: Flags): Promise<void> {
  const [requests, of] = tokens === undefined ? [any, "any" as const] : [tokens, "tokens" as const];
  const [{ runHostile }, { isClean, verdictText }] = await Promise.all([
    import("./run.ts"),
    import("./verdict.ts"),
  ]);
  const verdict = await runHostile({ requests, seed, from, of }, (done) =>
    progress.show(`${done} of ${requests}`),
  );
  progress.clear();
  process.stdout.write(verdictText(verdict));
  process.exitCode = isClean(verdict) ? 0 : 1;
}

async function withFrames(frames: number, { seed, from }: Flags): Promise<void> {
  const [{ runFrames }, { areFramesClean, frameVerdictText }] = await Promise.all([
    import("./frames/frames-run.ts"),
    import("./frames/frames-verdict.ts"),
  ]);
  const verdict = await runFrames({ frames, seed, from }, (done) => progress.show(`${done} of ${frames}`));
  progress.clear();
  process.stdout.write(frameVerdictText(verdict));
  process.exitCode = areFramesClean(verdict) ? 0 : 1;
}

async function asMachine({ machines, minutes, acts, seed }: Flags): Promise<void> {
  const [{ runMachines }, { isClean, verdictText }] = await Promise.all([
    import("./machines/run.ts"),
    import("./machines/verdict.ts"),
  ]);
  const interrupted = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const)
    process.once(signal, () => interrupted.abort(new Error("interrupted")));
  const show = (seconds: number, done: number) =>
    progress.show(
      acts === undefined
        ? `${Math.floor(seconds)} of ${Math.ceil(minutes * 60)} s, ${done} acts`
        : `${done} of ${machines * acts} acts`,
    );
  const outcomes = await runMachines({ machines, minutes, acts, seed }, show, interrupted.signal);
  progress.clear();
  process.stdout.write(verdictText(outcomes));
  process.exitCode = isClean(outcomes) ? 0 : 1;
}

async function asWorker({ seed }: Flags): Promise<void> {
  const { runWorker, workerVerdictText } = await import("./worker/run.ts");
  const verdict = await runWorker(seed, progress.show);
  progress.clear();
  process.stdout.write(workerVerdictText(verdict));
  process.exitCode = verdict.findings.length === 0 ? 0 : 1;
}

const program = new Command("npm run hostile --")
  .description("Hostile requests against the Worker on workerd: none may do what its sender may not.")
  .addOption(
    new Option("--as <who>", "who sends them").choices(["stranger", "machine", "worker"]).default("stranger"),
  )
  .option("--requests <n>", "as stranger: how many to send", wholeNumber(1, 100_000_000), 100_000)
  .option(
    "--tokens <n>",
    "as stranger: send N enrolments with invented join tokens instead",
    wholeNumber(1, 100_000_000),
  )
  .option("--frames <n>", "as stranger: send so many frames on sockets instead", wholeNumber(1, 100_000_000))
  .option("--seed <n>", "decides the requests", wholeNumber(0, 2 ** 32 - 1), 7)
  .option("--from <index>", "as stranger: begin at this request, or frame", wholeNumber(0, 2 ** 32), 0)
  .option("--machines <n>", "as machine: how many are hostile", wholeNumber(1, 99), 8)
  .option("--minutes <n>", "as machine: for how long", minutes, 5)
  .option(
    "--acts <n>",
    "as machine: until each has done this number of acts instead",
    wholeNumber(1, 1_000_000),
  )
  .addHelpText("after", HELP)
  .exitOverride((error) => process.exit(error.exitCode === 0 ? 0 : 2))
  .action(async (flags: Flags, command: Command) => {
    for (const other of ["stranger", "machine"] as const) {
      const foreign = OF_ONE[other].find((flag) => command.getOptionValueSource(flag) === "cli");
      if (foreign && other !== flags.as) command.error(`error: --${foreign} is for --as ${other}`);
    }
    if (flags.acts !== undefined && command.getOptionValueSource("minutes") === "cli")
      command.error("error: --minutes or --acts, not both");
    if (flags.as === "machine") return asMachine(flags);
    if (flags.as === "worker") return asWorker(flags);
    const counts = ["requests", "tokens", "frames"] as const;
    const given = counts.filter((flag) => command.getOptionValueSource(flag) === "cli");
    if (given.length > 1) command.error(`error: --${given.toReversed().join(" or --")}, not both`);
    if (flags.frames === undefined) return asStranger(flags);
    return withFrames(flags.frames, flags);
  });

try {
  await program.parseAsync();
} catch (error) {
  console.error(`npm run hostile: ${faultOf(error)}`);
  process.exitCode = 1;
}
