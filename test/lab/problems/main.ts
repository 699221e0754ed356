// Compares node-problem-detector with the shim on the same logs: lines of its configuration files' rules, and what the
// kernel's buffer has since the boot (`npm run compare-problems`). Needs Go, and root for the kernel's buffer.
import { type ChildProcess, spawn } from "node:child_process";
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir, uptime } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { runForCode } from "../../../node-shim/base/child.ts";
import { cpuMs, monotonicMs, pause, wallMs } from "../../../node-shim/base/clock.ts";
import { programLines } from "../../../node-shim/base/program-lines.ts";
import { problemDetectors } from "../../../node-shim/sources/problems/detectors.ts";
import { buildProgram, programOf, programVersion, sourcesOf } from "../../neighbours/programs.ts";
import { compareProblems, comparisonText, type NpdStatus, type Reported, reportedByNpd } from "./compare.ts";
import { lines } from "./lines.ts";

const NPD = "node-problem-detector";
/** The time in which both have read all lines: NPD waits half a second between two reads of a file, the shim one. */
const READ_MS = 4000;

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

async function byNpd(paths: readonly string[]): Promise<{ reported: Reported; cost: string }> {
  const child = spawn(
    programOf(NPD),
    paths.map((path) => `log=${path}`),
    { stdio: ["ignore", "pipe", "ignore"] },
  );
  const output = text(child.stdout);
  await pause(READ_MS);
  const cost = costOf(child);
  child.kill();
  const statuses = (await output)
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as NpdStatus);
  return { reported: reportedByNpd(statuses), cost };
}

function costOf({ pid }: ChildProcess): string {
  const [, kilobytes] = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return `${Math.round(Number(kilobytes) / 1024)} MiB`;
}

async function byShim(paths: readonly string[]): Promise<Reported> {
  const detectors = problemDetectors({
    paths,
    nowMs: monotonicMs,
    cpuMs,
    wallMs,
    uptimeMs: () => uptime() * 1000,
    firstProcessMs: () => 0,
    run: programLines,
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
  await pause(READ_MS);
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

const fault = buildProgram(NPD);
if (fault !== null) throw new Error(`${NPD} cannot be built: ${fault}`);
const folder = mkdtempSync(join(tmpdir(), "rollcall-problems-"));
try {
  let isSame = true;
  // One file at a time: several files set one condition, of which NPD shows the last.
  for (const path of configurations(folder, sourcesOf(NPD))) {
    const [npd, ours] = await Promise.all([byNpd([path]), byShim([path])]);
    const found = compareProblems(npd.reported, ours);
    isSame &&= found.every(({ why }) => why !== null);
    process.stdout.write(
      `${path.slice(folder.length + 1)}: ${Object.keys(ours.conditions).length} conditions; ` +
        `events of NPD ${programVersion(NPD)} (${npd.cost}): ${npd.reported.events.length}, ` +
        `of rollcall: ${ours.events.length}\n${comparisonText(found)}`,
    );
  }
  process.exitCode = isSame ? 0 : 1;
} finally {
  rmSync(folder, { recursive: true });
}
