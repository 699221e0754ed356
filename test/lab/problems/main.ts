// Compares node-problem-detector with the shim on the same logs: lines of its configuration files' rules, and what the
// kernel's buffer has since the boot (`npm run compare-problems`); with `--random N` on N random files with random logs
// and programs. Needs Go, and root for the kernel's buffer.
import { type ChildProcess, spawn } from "node:child_process";
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir, uptime } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { parseArgs } from "node:util";
import { runForCode } from "../../../node-shim/base/child.ts";
import { cpuMs, monotonicMs, pause, wallMs } from "../../../node-shim/base/clock.ts";
import { programText } from "../../../node-shim/base/program-lines.ts";
import { problemDetectors } from "../../../node-shim/sources/problems/detectors.ts";
import { buildProgram, programOf, programVersion, sourcesOf } from "../../neighbours/programs.ts";
import { compareProblems, comparisonText, type NpdStatus, type Reported, reportedByNpd } from "./compare.ts";
import { lines } from "./lines.ts";
import { CONFIGURATION, type RandomMonitor, randomMonitor } from "./random.ts";

const NPD = "node-problem-detector";
/** The time in which both have read all lines: NPD waits half a second between two reads of a file, the shim two seconds. */
const READ_MS = 4000;
/** The time in which both have run each random program as often as its results change. */
const RUN_MS = 20_000;
/** The random monitors that run at a time. */
const AT_ONCE = 40;

/** The configuration files of NPD's repository that log monitors on Linux read. */
function configurations(folder: string, sources: string): string[] {
  const names = readdirSync(join(sources, "config")).filter((name) =>
    /^(kernel|docker|readonly)-monitor(-filelog)?\.json$/.test(name),
  );
  return names.flatMap((name) => {
    const path = join(folder, name);
    copyFileSync(join(sources, "config", name), path);
    const file = JSON.parse(readFileSync(path, "utf8")) as {
      plugin: string;
      logPath: string;
      lookback: string;
    };
    if (file.plugin === "journald") return [];
    const log = join(folder, `${name}.log`);
    const read = file.plugin === "filelog" ? { ...file, logPath: log } : { ...file, lookback: "1000h" };
    writeFileSync(path, JSON.stringify(read), { mode: 0o600 });
    if (file.plugin === "filelog") writeFileSync(log, lines(name, new Date()));
    return [path];
  });
}

async function byNpd(
  monitors: readonly string[],
  forMs: number,
): Promise<{ statuses: NpdStatus[]; cost: string }> {
  const child = spawn(programOf(NPD), monitors, { stdio: ["ignore", "pipe", "pipe"] });
  const output = text(child.stdout);
  const errors = text(child.stderr);
  await pause(forMs);
  if (child.exitCode !== null) throw new Error(`${NPD} has ended: ${(await errors).slice(-2000)}`);
  const cost = costOf(child);
  child.kill();
  const written = (await output).split("\n").filter((line) => line !== "");
  return { statuses: written.map((line) => JSON.parse(line) as NpdStatus), cost };
}

function costOf({ pid }: ChildProcess): string {
  const [, kilobytes] = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return `${Math.round(Number(kilobytes) / 1024)} MiB`;
}

async function byShim(paths: readonly string[], forMs: number): Promise<Reported> {
  const detectors = problemDetectors({
    paths,
    nowMs: monotonicMs,
    cpuMs,
    wallMs,
    uptimeMs: () => uptime() * 1000,
    firstProcessMs: () => 0,
    run: programText,
    runForCode,
    pause: (ms, signal) => pause(ms, { signal }),
    store: null,
    warn: (source, message) => void process.stderr.write(`${source}: ${message}\n`),
  });
  const events = new Map<number, string>();
  detectors.start(() => {
    for (const { n, type, reason, message } of detectors.facts().events)
      events.set(n, `${type} ${reason}: ${message}`);
  });
  await pause(forMs);
  const all = [...detectors.dropIns().values()];
  detectors.close();
  for (const { error } of all) if (error !== undefined) throw new Error(error);
  const conditions = all.flatMap(({ dropIn }) => dropIn?.conditions ?? []);
  return {
    conditions: Object.fromEntries(
      conditions.map(({ type, status, reason, message }) => [type, `${status} ${reason}: ${message}`]),
    ),
    events: [...events.values()],
  };
}

/** Compares with NPD's own files. Returns whether each difference has a reason. */
async function compareConfigurations(folder: string): Promise<boolean> {
  let isSame = true;
  // One file at a time: several files set one condition, of which NPD shows the last.
  for (const path of configurations(folder, sourcesOf(NPD))) {
    const [npd, ours] = await Promise.all([byNpd([`log=${path}`], READ_MS), byShim([path], READ_MS)]);
    const reported = reportedByNpd(npd.statuses);
    const found = compareProblems(reported, ours);
    isSame &&= found.every(({ why }) => why !== null);
    process.stdout.write(
      `${path.slice(folder.length + 1)}: ${Object.keys(ours.conditions).length} conditions; ` +
        `events of NPD ${programVersion(NPD)} (${npd.cost}): ${reported.events.length}, ` +
        `of rollcall: ${ours.events.length}\n${comparisonText(found)}`,
    );
  }
  return isSame;
}

/** Writes a monitor's files. Returns the path of its configuration. */
function written(folder: string, { files }: RandomMonitor): string {
  mkdirSync(folder, { recursive: true });
  for (const [name, content] of Object.entries(files))
    writeFileSync(join(folder, name), content, { mode: name.endsWith(".sh") ? 0o700 : 0o600 });
  return join(folder, CONFIGURATION);
}

/** Compares random monitors, from the number `from` on. Returns whether each difference has a reason. */
async function compareRandom(folder: string, seed: number, from: number, count: number): Promise<boolean> {
  const now = new Date();
  const all = Array.from({ length: count }, (_, at) => {
    const [theirs, ours] = ["npd", "ours"].map((name) => join(folder, name, String(from + at))) as [
      string,
      string,
    ];
    const monitorIn = (place: string) => randomMonitor(seed, from + at, place, now);
    const { kind } = monitorIn(theirs);
    return {
      at: from + at,
      kind,
      theirs: written(theirs, monitorIn(theirs)),
      ours: written(ours, monitorIn(ours)),
    };
  });
  const [npd, ...reports] = await Promise.all([
    byNpd(
      all.map(({ kind, theirs }) => `${kind}=${theirs}`),
      RUN_MS,
    ),
    ...all.map(({ ours }) => byShim([ours], RUN_MS)),
  ]);
  let isSame = true;
  for (const [index, { at, kind }] of all.entries()) {
    const statuses = npd.statuses.filter(({ source }) => source === `monitor-${at}`);
    const found = compareProblems(
      inOneFolder(reportedByNpd(statuses), kind),
      inOneFolder(reports[index]!, kind),
    );
    const wrong = found.filter(({ why }) => why === null);
    if (wrong.length === 0) continue;
    isSame = false;
    process.stdout.write(`--seed ${seed}, ${at} (${kind}):\n${comparisonText(wrong)}`);
  }
  return isSame;
}

/** Removes what differs by chance: the folder, and how often a program has run. */
function inOneFolder({ conditions, events }: Reported, kind: RandomMonitor["kind"]): Reported {
  const general = (value: string) => value.replaceAll(/\S*\/(npd|ours)\//g, "/");
  const all = events.map(general);
  return {
    conditions: Object.fromEntries(Object.entries(conditions).map(([type, value]) => [type, general(value)])),
    events: kind === "plugin" ? [...new Set(all)] : all,
  };
}

const { values } = parseArgs({
  options: {
    random: { type: "string", default: "0" },
    seed: { type: "string", default: "1" },
    from: { type: "string", default: "0" },
  },
});
// Each random program that runs kills its group when this process ends.
process.setMaxListeners(0);
// The random logs have times of this zone.
process.env["TZ"] = "UTC";
const fault = buildProgram(NPD);
if (fault !== null) throw new Error(`${NPD} cannot be built: ${fault}`);
const folder = mkdtempSync(join(tmpdir(), "rollcall-problems-"));
try {
  const [count, seed, from] = [Number(values.random), Number(values.seed), Number(values.from)];
  let isSame = count > 0 || (await compareConfigurations(folder));
  for (let at = 0; at < count; at += AT_ONCE)
    isSame = (await compareRandom(folder, seed, from + at, Math.min(AT_ONCE, count - at))) && isSame;
  process.exitCode = isSame ? 0 : 1;
} finally {
  rmSync(folder, { recursive: true });
}
