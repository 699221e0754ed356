// Makes random configuration files of node-problem-detector, each with the log or the programs that it names.
import { type Random, randomOf } from "../hostile/random.ts";

/** A monitor whose files are in a folder. */
export interface RandomMonitor {
  kind: "log" | "plugin";
  /** The name of each file and its text. The name of a program ends in `.sh`. */
  files: Readonly<Record<string, string>>;
}

export const CONFIGURATION = "monitor.json";

/** Returns the monitor with this number. Its log ends at `now`. */
export function randomMonitor(seed: number, index: number, folder: string, now: Date): RandomMonitor {
  const random = randomOf(seed, index);
  return index % 4 === 3 ? pluginMonitor(random, index, folder) : logMonitor(random, index, folder, now);
}

const MESSAGES =
  JSON.parse(`["alpha", "alpha beta 7", "beta 12", "beta x", "gamma: ray", "BUG: oops", "bug: Oops at 0x0f",
  "omega", "", " ", "  alpha", "omega  ", "a.b.c", "a\\tb", "xxy", "é ü", "ünï alpha", "\\"quoted\\" \\\\", "alpha\\r",
  "[12] x", "alpha beta gamma: ray BUG: oops omega"]`) as string[];
/** The patterns, separated by blanks; the last one is empty. */
const PATTERNS =
  String.raw`alpha beta\x20\d+ (?i)bug:\x20.* gamma:\x20[a-z]+ [^\n]*oops.* omega \bomega\b.* é\x20ü
  alpha\nbeta\x20\d+ (?s)alpha.*omega alpha(?s:.*)omega (alpha\n)+beta.* beta\x20x\n.*\nomega ^alpha (?m)^alpha$ (?m:^)xxy
  \Aalpha (?U)a.+b.* x{2,3}y? \Qa.b\E.c a[[:space:]]b \p{L}+\x20ü [\d]+\]\x20x (?P<what>beta|gamma).* (alpha|(beta))\x20\d+
  "quoted".* \s+ . \n alpha\n\n (?:alpha|beta) [^a]lpha \x41?lpha (?:a.b.c|omega) (?s:.+) `.split(/\s+/);
/** The parts of a line, by the layout of its time: expressions, the line, and how a time is written. */
const LAYOUTS = [
  {
    config: { timestamp: "^.{15}", message: "kernel: \\[.*\\] (.*)", timestampFormat: "Jan _2 15:04:05" },
    line: (at: Date, text: string) => `${monthDay(at)} ${clock(at)} vm kernel: [  10.0] ${text}`,
  },
  {
    config: {
      timestamp: "^\\S+",
      message: "(?i)kernel: (.*)$",
      timestampFormat: "2006-01-02T15:04:05Z07:00",
    },
    line: (at: Date, text: string) => `${at.toISOString().replace(/\.\d+/, "")} vm KERNEL: ${text}`,
  },
  {
    config: {
      timestamp: '^time="(\\S*)"',
      message: "(?s)msg=(x)?(.*)",
      timestampFormat: "2006-01-02T15:04:05.999999999-07:00",
    },
    line: (at: Date, text: string) => `time="${at.toISOString().replace("Z", "000001+00:00")}" msg=${text}`,
  },
  {
    config: {
      timestamp: "\\[(\\d+)/(\\d+ \\d+:\\d+:\\d+)\\]|^(.{14})",
      message: "kernel(.*)",
      timestampFormat: "20060102150405",
    },
    line: (at: Date, text: string) => `${at.toISOString().replace(/\D/g, "").slice(0, 14)} kernel${text}`,
  },
  {
    config: {
      timestamp: "^(.*) kernel",
      message: "[^ ]* - (.*)",
      timestampFormat: "Mon Jan 2 15:04:05 MST 2006",
    },
    line: (at: Date, text: string) =>
      `${at.toUTCString().slice(0, 3)} ${month(at)} ${at.getUTCDate()} ${clock(at)} UTC ${at.getUTCFullYear()} kernel - ${text}`,
  },
];
const month = (at: Date) => at.toUTCString().slice(8, 11);
const clock = (at: Date) => at.toISOString().slice(11, 19);
const monthDay = (at: Date) => `${month(at)} ${String(at.getUTCDate()).padStart(2)}`;

const MINUTE_MS = 60_000;
const AGES_MS = [120, 30, 8, 4, 2, 2, 2, 1, 0, -10].map((minutes) => minutes * MINUTE_MS);
const TYPES = ["KernelSick", "DiskSick", "ClockSick"];

function logMonitor(random: Random, index: number, folder: string, now: Date): RandomMonitor {
  const { pick, chance, int } = random;
  const { config, line } = pick(LAYOUTS);
  const types = TYPES.slice(0, int(4));
  const log = Array.from({ length: int(60) }, () => {
    if (chance(0.05)) return pick(["", "garbage", "Feb 31 99:99:99 vm kernel: [1] alpha", "\u0000\u0001"]);
    const text = line(new Date(now.getTime() - pick(AGES_MS)), pick(MESSAGES));
    return chance(0.15) ? text.replace(/kernel|msg/i, "cron") : text;
  });
  const file = {
    plugin: "filelog",
    pluginConfig: config,
    logPath: `${folder}/log`,
    source: `monitor-${index}`,
    ...(chance(0.9) && { lookback: pick(["5m", "6m0s", "1h", "1000h", "90s"]) }),
    ...(chance(0.2) && { delay: pick(["0s", "1m", "10h"]) }),
    ...(chance(0.8) && { bufferSize: pick([0, 1, 2, 3, 5, 10, 20]) }),
    ...(chance(0.3) && { skipList: pick([[], ["beta"], ["oops", "é"], [" vm cron"]]) }),
    conditions: types.map(healthy),
    rules: Array.from({ length: int(6) }, (_, at) => ({
      ...ruleOf(random, types, at),
      pattern: pick(PATTERNS),
      ...(chance(0.2) && { patternGeneratedMessageSuffix: "see é" }),
    })),
  };
  const end = chance(0.2) ? "" : "\n";
  return { kind: "log", files: { [CONFIGURATION]: JSON.stringify(file), log: log.join("\n") + end } };
}

const healthy = (type: string) => ({ type, reason: `No${type}`, message: `${type} is not so` });

function ruleOf({ pick, chance }: Random, types: readonly string[], at: number) {
  const isPermanent = types.length > 0 && chance(0.6);
  return isPermanent
    ? { type: "permanent", condition: pick(types), reason: pick(["Broken", "Worse", `Bad${at}`]) }
    : { type: "temporary", reason: `Event${at}` };
}

const OUTPUTS = ["", "down", "  blanks  ", "two\nlines", "é".repeat(50), "x".repeat(200), '"quoted" \\ %s'];
const ENDS = ["exit 0", "exit 1", "exit 2", "exit 3", "exit 255", "kill -9 $$", "kill -TERM $$", "sleep 9"];

function pluginMonitor(random: Random, index: number, folder: string): RandomMonitor {
  const { pick, chance, int } = random;
  const types = TYPES.slice(0, 1 + int(3));
  const files: Record<string, string> = {};
  const rules = Array.from({ length: 1 + int(4) }, (_, at) => {
    files[`${at}.sh`] = programText(random, `${folder}/${at}.runs`);
    // Chance decides which of two rules sets a condition last.
    return {
      ...ruleOf(random, types.slice(at, at + 1), at),
      path: `${folder}/${at}.sh`,
      ...(chance(0.5) && { args: ["a b", "c"] }),
    };
  });
  const pluginConfig = {
    invoke_interval: "1s",
    timeout: "500ms",
    ...(chance(0.5) && { concurrency: 1 + int(4) }),
    ...(chance(0.7) && { max_output_length: pick([1, 5, 80, 1024]) }),
    ...(chance(0.5) && { enable_message_change_based_condition_update: true }),
    ...(chance(0.3) && { skip_initial_status: true }),
  };
  const file = {
    plugin: "custom",
    pluginConfig,
    source: `monitor-${index}`,
    conditions: types.map(healthy),
    rules,
  };
  return { kind: "plugin", files: { ...files, [CONFIGURATION]: JSON.stringify(file) } };
}

/** Returns a program that ends differently in its first runs, and counts its runs in a file. */
function programText({ pick, chance, int }: Random, runs: string): string {
  const results = Array.from({ length: 1 + int(4) }, (_, at) => {
    const errors = chance(0.2) ? "echo fault >&2; " : "";
    return `${at}) ${errors}printf %s '${pick(OUTPUTS)}'; ${pick(ENDS)};;`;
  });
  const count = `n=$(cat '${runs}' 2>/dev/null || echo 0); echo $((n + 1)) > '${runs}'`;
  const most = `[ $n -lt ${results.length} ] || n=${results.length - 1}`;
  return ["#!/bin/sh", count, most, "case $n in", ...results, "esac", ""].join("\n");
}
