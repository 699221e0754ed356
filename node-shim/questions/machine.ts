// Answers questions about the hardware and about the last boots.
import { stringify } from "yaml";
import type { ParametersOf } from "../../shared/protocol/question.ts";
import { valueOr } from "../../shared/result.ts";
import { listKernelFolder, readKernelFile } from "../base/reading.ts";
import { oomKills } from "../sources/kernel/signals.ts";
import { journalEntries, logs, messageOf, timeOf } from "./journal.ts";
import type { Asking, Source } from "./source.ts";

/** Yields the inventory without serial numbers, and the temperatures. */
export const hardware: Source<ParametersOf<"hardware">> = async function* (_, { root, readHardware }) {
  const found = await readHardware();
  yield* found.ok ? stringify(found.value).trimEnd().split("\n") : [found.error];
  const text = (path: string) => valueOr(readKernelFile(root, path), "").trim();
  const folder = "/sys/class/thermal";
  for (const zone of valueOr(listKernelFolder(root, folder), [])) {
    const temperature = Number(text(`${folder}/${zone}/temp`) || "NaN") / 1000;
    if (zone.startsWith("thermal_zone") && !Number.isNaN(temperature))
      yield `temperature of ${text(`${folder}/${zone}/type`)}: ${temperature.toFixed(1)} °C`;
  }
};

/** Message IDs of systemd's catalogue (journalctl --catalog). */
const SHUTDOWN = "98268866d1d54a499c4e98921d93bc40";
const STARTED = "39f53479d3a045ac8e11786248231fbf";
const OOM_KILLS = ["fe6faa94e7774663a0da52717891d8ef", "d989611b15e44c9dbf31e3c81256e4ed"];
/** Root's entries, since any user can log these IDs. `+` is "or" between the parts. */
const MATCHES = [
  "_UID=0",
  ...[SHUTDOWN, ...OOM_KILLS].map((id) => `MESSAGE_ID=${id}`),
  "+",
  "_UID=0",
  `MESSAGE_ID=${STARTED}`,
  "UNIT=shutdown.target",
];
const EVENTS = 200;

/** Yields the last boots with their ends, what systemd logged about them, and the kernel's kills for lack of memory. */
export const boots: Source<ParametersOf<"boots">> = async function* (_, asking) {
  const events: string[] = [];
  const stopped = new Set<string | undefined>();
  for await (const entry of journalEntries([`--lines=${EVENTS}`, ...MATCHES], asking)) {
    const message = messageOf(entry);
    events.push(`  ${timeOf(entry)} ${message}`);
    if (entry.MESSAGE_ID === SHUTDOWN || entry.MESSAGE_ID === STARTED) stopped.add(entry._BOOT_ID);
  }
  yield `up for ${valueOr(readKernelFile(asking.root, "/proc/uptime"), "?").split(" ")[0]} s`;
  yield "boots in the journal:";
  yield* bootLines(stopped, asking);
  yield "shutdowns, and units that lacked memory:";
  yield* events.length > 0 ? events : ["  none"];
  const kills = oomKills(asking.root);
  yield `processes that the kernel killed for lack of memory since the boot: ${kills.ok ? kills.value : kills.error.message}`;
  yield* logs({ kernel: "yes", lines: 20, grep: "ut of memory: Killed process" }, asking);
  const crashes = valueOr(listKernelFolder(asking.root, "/sys/fs/pstore"), []);
  if (crashes.length > 0) yield `messages of a crashed kernel in /sys/fs/pstore: ${crashes.join(", ")}`;
};

/** Yields journalctl's line of each boot, with its end: a boot without a logged shutdown has lost its power, or crashed. */
async function* bootLines(
  stopped: ReadonlySet<string | undefined>,
  { run, signal }: Asking,
): AsyncGenerator<string> {
  for await (const line of run("journalctl", ["--no-pager", "--quiet", "--list-boots"], { signal })) {
    const [, index, boot] = /^\s*(-?\d+)\s+([0-9a-f]{32})\b/.exec(line) ?? [];
    const end = stopped.has(boot) ? "shut down in order" : "ended without a shutdown";
    if (boot !== undefined) yield `  ${line.trim()}  ${index === "0" ? "runs" : end}`;
  }
}
