// Finds the usual causes of a machine's trouble. A finding has no log line, no content of a file and no argument of a
// process. What its remedy writes as `ask NAME …` is the question whose answer shows more.
import { questionSchema } from "../../shared/protocol/question.ts";
import { valueOr } from "../../shared/result.ts";
import { abortAfter } from "../base/clock.ts";
import { listKernelFolder, readKernelFile } from "../base/reading.ts";
import type { Mount } from "../base/served-paths.ts";
import type { Finding } from "../doctor/finding.ts";
import { oomKills } from "../sources/kernel/signals.ts";
import { type FileSystem, fileSystems, NOT_ASKED, sizedMounts } from "./disks.ts";
import { journalEntries, type JournalEntry, messageOf, timeOf } from "./journal.ts";
import { memoryBytes, type Rate, rates } from "./processes.ts";
import { runtimeFault } from "./runtime.ts";
import type { Asking } from "./source.ts";
import { bytesText } from "./table.ts";
import { unitProperties } from "./units.ts";

/** Returns the faults that a check finds; an empty list if there are none. Throws if it cannot be made. */
export type FindCauses = (asking: Asking) => Promise<Finding[]>;

/** The most findings of one check. */
const MOST = 8;

const found = (level: Finding["level"], check: string, message: string, todo: string): Finding => ({
  check,
  level,
  message,
  todo,
});

/** Returns the remedy "ask …"; without its question if a name in it is none that a question may have. */
function ask(question: string, parameters: Record<string, string>, otherwise: string): string {
  const isValid = questionSchema.safeParse({ name: question, parameters }).success;
  const texts = Object.entries(parameters).map(([name, value]) => `${name}=${value}`);
  return isValid && !texts.some((text) => /\s/.test(text))
    ? ["ask", question, ...texts].join(" ")
    : otherwise;
}

/** The share of a file system's blocks or inodes that is nearly all, and all. */
const NEARLY_FULL = 0.9;
const FULL = 0.97;
/** The file systems that a write makes larger. Others, such as squashfs, are always full. */
const WRITABLE =
  /^(ext[234]|xfs|btrfs|f2fs|jfs|reiserfs|zfs|bcachefs|vfat|exfat|ntfs3?|nfs4?|cifs|tmpfs|overlay)$/;

const disks: FindCauses = async (asking) => {
  const mounts = sizedMounts(asking).filter(({ type }) => WRITABLE.test(type));
  const sizes = await sizesInTime(mounts, asking);
  const late = sizes.filter(({ size }) => size === NOT_ASKED).length;
  const unknown = `${late} file systems could not be asked in time, because others have not answered`;
  const findings = [...readOnly(mounts, asking), ...sizes.flatMap(sizeFindings)];
  if (late > 0) findings.unshift(found("warn", "disk", unknown, "ask disks"));
  return atMost(findings, "ask disks");
};

/** Returns the findings, the worst first. Many of one kind, such as of a user's making, must not fill an answer. */
function atMost(findings: readonly Finding[], todo: string): Finding[] {
  const worstFirst = ["fail", "warn"].flatMap((level) => findings.filter((each) => each.level === level));
  const [next, ...others] = worstFirst.slice(MOST);
  if (next === undefined) return worstFirst;
  const rest = found(next.level, next.check, `there are ${others.length + 1} more of these`, todo);
  return [...worstFirst.slice(0, MOST), rest];
}

/** The time for all sizes: less than a check has, so that its findings count also if file systems hang. */
const SIZES_MS = 4200;

/** Asks each disk once: it may be mounted at several points, and a container's overlay is a part of one. */
function sizesInTime(mounts: readonly Mount[], asking: Asking): Promise<FileSystem[]> {
  const ofContainers = (mount: Mount) => mount.type === "overlay" && mount.point !== "/";
  const once = new Map(
    mounts
      .filter((mount) => !ofContainers(mount))
      .toReversed()
      .map((mount) => [mount.source.startsWith("/dev/") ? mount.source : mount.point, mount]),
  );
  const signal = AbortSignal.any([asking.signal, abortAfter(SIZES_MS)]);
  return fileSystems([...once.values()].toReversed(), { ...asking, signal });
}

function readOnly(mounts: readonly Mount[], { root }: Asking): Finding[] {
  const writable = writableOf(valueOr(readKernelFile(root, "/etc/fstab"), ""));
  return mounts
    .filter(
      ({ point, source, isReadOnly }) =>
        isReadOnly && (writable.has(point) || (point === "/" && source.startsWith("/dev/"))),
    )
    .map(({ point, source }) =>
      found(
        "fail",
        "disk",
        `${point} (${source}) is read-only${writable.has(point) ? ", though /etc/fstab mounts it for writing" : ""}`,
        "ask logs kernel=yes grep=rror lines=20", // "Error" and "error": grep is a part of a line
      ),
    );
}

function sizeFindings({ mount: { point, source, isReadOnly }, size }: FileSystem): Finding[] {
  if (size === NOT_ASKED) return [];
  if (typeof size === "string")
    return [found("fail", "disk", `${point} (${source}) does not work: ${size}`, "ask disks")];
  const [blockBytes = 0, blocks = 0, free = 0, available = 0, files = 0, filesFree = 0] = size;
  // Small file systems of the kernel's own in memory, such as /run/lock, are full for other reasons.
  if (isReadOnly || blocks * blockBytes < SMALLEST) return [];
  const findings: Finding[] = [];
  for (const [used, what] of [
    [1 - available / (blocks - free + available), `of ${bytesText(blocks * blockBytes)}`],
    [files === 0 ? 0 : 1 - filesFree / files, "of its inodes (files and folders)"],
  ] as const)
    if (used >= NEARLY_FULL)
      findings.push(
        found(
          used >= FULL ? "fail" : "warn",
          "disk",
          `${point} (${source}) is ${used >= FULL ? "" : "nearly "}full: ${Math.floor(used * 100)} % ${what} are used`,
          ask("folders", point === "/" ? {} : { path: point }, "ask folders"),
        ),
      );
  return findings;
}
const SMALLEST = 16 * 1024 * 1024;

/** Returns the mount points that fstab mounts for writing. */
function writableOf(fstab: string): Set<string> {
  const rows = fstab.split("\n").map((line) => line.trim().split(/\s+/));
  return new Set(
    rows.flatMap(([device = "#", point = "", , options = ""]) =>
      device === "" || device.startsWith("#") || options.split(",").includes("ro") ? [] : [point],
    ),
  );
}

/** The services of container runtimes. */
const RUNTIMES = ["containerd", "crio", "docker", "cri-docker"].map((name) => `${name}.service`);

const units: FindCauses = async (asking) => {
  const findings = new Map<string, Finding>();
  // A pattern matches loaded units alone, and a unit that was stopped is not loaded.
  for await (const unit of unitProperties(["*", ...RUNTIMES], asking)) {
    const { Id = "", ActiveState, SubState, Result = "", ExecMainStatus = "", NRestarts = "0" } = unit;
    const why = `${Result}${Number(ExecMainStatus) > 0 ? `, exit code ${ExecMainStatus}` : ""}`;
    const seeUnit = ask("logs", { unit: Id, lines: "20" }, ask("units", { unit: Id }, "ask units"));
    if (ActiveState === "failed")
      findings.set(Id, found("fail", "unit", `${Id} has failed (${why})`, seeUnit));
    else if (SubState === "auto-restart")
      findings.set(
        Id,
        found("fail", "unit", `${Id} ends again and again (${why}; ${NRestarts} restarts)`, seeUnit),
      );
    else if (RUNTIMES.includes(Id) && unit.UnitFileState === "enabled" && ActiveState === "inactive")
      findings.set(Id, found("fail", "unit", `${Id} is enabled, but does not run`, seeUnit));
  }
  const ofRuntimes = RUNTIMES.flatMap((name) => findings.get(name) ?? []);
  return atMost([...new Set([...ofRuntimes, ...findings.values()])], "ask units");
};

const runtime: FindCauses = async (asking) => {
  const fault = await runtimeFault(asking);
  return fault === null
    ? []
    : [found("fail", "runtime", `the container runtime does not answer: ${fault}`, "ask units")];
};

const way: FindCauses = async ({ checkWorker }) =>
  (await checkWorker()).filter(({ level }) => level !== "ok");

/** The share of a second for which tasks waited (PSI, in 60 s) from which a resource is short. */
const SHORT = { cpu: 30, memory: 10, io: 30 } as const;
/** The share of memory that must be available. */
const LEAST_AVAILABLE = 0.05;

const load: FindCauses = async ({ root, signal }) => {
  const all = await rates(root, signal);
  const read = (path: string) => valueOr(readKernelFile(root, path), "");
  const cpus = Math.max(1, [...read("/proc/stat").matchAll(/^cpu\d+ /gm)].length);
  const most = (of: "cpu" | "memoryBytes" | "diskBytes") =>
    all.toSorted((a, b) => (b[of] || 0) - (a[of] || 0)).find((rate) => rate[of] > 0);
  const named = (rate: Rate | undefined) =>
    rate ? `${rate.name} (process ${rate.pid})` : "an unknown process";
  const findings: Finding[] = [];
  const add = (level: Finding["level"], check: string, message: string, by = "") =>
    void findings.push(found(level, check, message, `ask processes ${by}top=5`));
  const waited = (kind: keyof typeof SHORT) =>
    Number(/^some avg10=[\d.]+ avg60=([\d.]+)/.exec(read(`/proc/pressure/${kind}`))?.[1] ?? 0);
  const busy = most("cpu");
  const uses = `${named(busy)} uses ${((busy?.cpu ?? 0) * 100).toFixed(0)} % of a CPU`;
  // One process with half of the machine is worth a look, also while nothing waits for it.
  if (waited("cpu") >= SHORT.cpu)
    add("warn", "cpu", `tasks waited for a CPU for ${waited("cpu")} % of a minute: ${uses}`);
  else if ((busy?.cpu ?? 0) >= 0.9 * Math.max(1, cpus / 2)) add("warn", "cpu", `${uses}, of ${cpus} CPUs`);
  else if (all.reduce((sum, { cpu }) => sum + cpu, 0) >= 0.9 * cpus)
    add("warn", "cpu", `all CPUs are in use: ${uses}`);
  const [availableBytes = 0, totalBytes = 0] = ["MemAvailable", "MemTotal"].map(memoryBytes(root));
  const large = most("memoryBytes");
  const holds = `${named(large)} uses ${bytesText(large?.memoryBytes ?? 0)}`;
  const byMemory = "by=memory ";
  if (totalBytes > 0 && availableBytes < LEAST_AVAILABLE * totalBytes)
    add(
      "fail",
      "memory",
      `${bytesText(availableBytes)} of ${bytesText(totalBytes)} are available: ${holds}`,
      byMemory,
    );
  else if (waited("memory") >= SHORT.memory)
    add(
      "warn",
      "memory",
      `tasks waited for memory for ${waited("memory")} % of a minute: ${holds}`,
      byMemory,
    );
  const writes = `${named(most("diskBytes"))} reads and writes the most`;
  if (waited("io") >= SHORT.io)
    add("warn", "disk", `tasks waited for a disk for ${waited("io")} % of a minute: ${writes}`, "by=disk ");
  return findings;
};

/** Seconds of the kernel's log that are read, and the most lines of it. */
const RECENT_SECONDS = 3600;
const LINES = 5000;

/**
 * The messages of the kernel that name a cause. The first part in parentheses is what the finding names. A repetition is
 * bounded: otherwise a crafted line could take forever.
 */
const MESSAGES: readonly (readonly [
  RegExp,
  level: Finding["level"],
  check: string,
  message: string,
  todo: string,
])[] = [
  [
    /Killed process \d+ \(([^)]{1,15})\)/,
    "fail",
    "memory",
    "the kernel killed $ for lack of memory",
    "ask processes by=memory top=5",
  ],
  [/I\/O error,? (?:on )?dev(?:ice)? (\w+)/, "fail", "disk", "reads or writes of $ failed", "ask disks"],
  [
    /\((?:device )?([\w.-]{1,32})[^)]{0,32}\): (?:Remounting filesystem|Filesystem has been set) read-only/,
    "fail",
    "disk",
    "a file system was made read-only after an error ($)",
    "ask disks",
  ],
  [
    /INFO: task ([^:]{1,15}):\d+ blocked for more than/,
    "warn",
    "kernel",
    "$ was stuck for minutes, mostly in a disk or network file system",
    "ask disks",
  ],
  [/([\w.-]{1,15}):? (?:NIC )?Link is Down/i, "warn", "link", "the link $ was down", "ask network"],
  [
    /(CPU\d+): \w{1,16} temperature (?:is )?above threshold/i,
    "warn",
    "heat",
    "the processor was throttled for heat ($)",
    "ask hardware",
  ],
  [
    /(Machine check|Hardware Error|EDAC .{1,20}UE)/,
    "fail",
    "hardware",
    "the kernel reports a fault of the hardware ($)",
    "ask logs kernel=yes grep=ardware",
  ],
];

/** The names that a message is found with, such as those of killed processes, which any user may choose. */
const NAMES = 3;

const kernel: FindCauses = async (asking) => {
  const seen = new Map<string, { finding: Finding; count: number; last: string }>();
  const sinceS = Math.floor(asking.wallMs() / 1000) - RECENT_SECONDS;
  const names = MESSAGES.map(() => new Set<string>());
  let oldest: JournalEntry | null = null;
  let lines = 0;
  for await (const entry of journalEntries(["--reverse", `--lines=${LINES}`, "_TRANSPORT=kernel"], asking)) {
    oldest = entry;
    if (Number(entry.__REALTIME_TIMESTAMP) / 1e6 < sinceS) break;
    lines++;
    const text = messageOf(entry);
    for (const [at, [pattern, level, check, message, todo]] of MESSAGES.entries()) {
      const name = pattern.exec(text)?.[1];
      if (name === undefined) continue;
      const known = names[at];
      const shown = known?.has(name) || (known?.size ?? 0) < NAMES ? name : "others";
      known?.add(shown);
      const finding = found(
        level,
        check,
        message.replace("$", () => shown),
        todo,
      );
      const before = seen.get(finding.message);
      if (before) before.count++;
      else seen.set(finding.message, { finding, count: 1, last: timeOf(entry) });
    }
  }
  if (oldest === null) return killsSinceBoot(asking.root);
  const findings = [...seen.values()].map(({ finding, count, last }) => ({
    ...finding,
    message: `${finding.message}: ${count === 1 ? "" : `${count} times in the last hour, last `}at ${last}`,
  }));
  const flood = `the kernel has logged ${LINES} lines since ${timeOf(oldest)}: older ones were not read`;
  return lines < LINES
    ? findings
    : [...findings, found("warn", "kernel", flood, "ask logs kernel=yes lines=20")];
};

/** Returns the kills for lack of memory that the kernel has counted, where its log is not readable. */
function killsSinceBoot(root: string): Finding[] {
  const kills = valueOr(oomKills(root), 0);
  if (kills === 0) throw new Error("the journal has no message of the kernel that this user may read");
  const message = `the kernel killed processes for lack of memory since the boot: ${kills}`;
  return [found("warn", "memory", message, "ask boots")];
}

/** The least losses of a carrier since the boot that are no plugging in. */
const LOSSES = 3;

// oxlint-disable-next-line require-await -- the checks are asynchronous, the kernel answers at once
const links: FindCauses = async ({ root }) => {
  const read = (path: string) => valueOr(readKernelFile(root, path), "").trim();
  const names = valueOr(listKernelFolder(root, "/sys/class/net"), []);
  const routed = new Set(
    [...read("/proc/net/route").matchAll(/^(\S+)\t00000000\t/gm)].map(([, name = ""]) => name),
  );
  const findings = names.flatMap((name): Finding[] => {
    const of = (file: string) => read(`/sys/class/net/${name}/${file}`);
    // Interfaces of containers come and go.
    if (!routed.has(name) && !listKernelFolder(root, `/sys/class/net/${name}/device`).ok) return [];
    const isUp = (Number(of("flags")) & 1) === 1;
    const losses = Number(of("carrier_down_count"));
    if (isUp && of("carrier") === "0")
      return [found("warn", "link", `${name} has no carrier: check its cable or radio`, "ask network")];
    if (routed.has(name) && !isUp)
      return [found("fail", "link", `${name} has the default route, and is down`, "ask network")];
    return losses >= LOSSES
      ? [found("warn", "link", `${name} lost its carrier ${losses} times since the boot`, "ask network")]
      : [];
  });
  return atMost(findings, "ask network");
};

/** Degrees below the temperature at which a machine switches itself off. */
const NEAR = 10;

// oxlint-disable-next-line require-await -- as above
const heat: FindCauses = async ({ root }) => {
  const zones = valueOr(listKernelFolder(root, "/sys/class/thermal"), []).filter((name) =>
    name.startsWith("thermal_zone"),
  );
  return zones.flatMap((zone) => {
    const folder = `/sys/class/thermal/${zone}`;
    const read = (file: string) => valueOr(readKernelFile(root, `${folder}/${file}`), "").trim();
    const files = valueOr(listKernelFolder(root, folder), []);
    const limits = files
      .filter((file) => /^trip_point_\d+_type$/.test(file) && ["critical", "hot"].includes(read(file)))
      .map((file) => Number(read(file.replace("_type", "_temp"))) / 1000)
      .filter((limit) => limit > 0);
    const degrees = Number(read("temp")) / 1000;
    const limit = Math.min(...limits);
    return degrees >= limit - NEAR
      ? [
          found(
            "fail",
            "heat",
            `${read("type")} is at ${degrees.toFixed(0)} °C, of at most ${limit.toFixed(0)} °C`,
            "ask hardware",
          ),
        ]
      : [];
  });
};

// oxlint-disable-next-line require-await -- as above
const boot: FindCauses = async ({ root }) => {
  const seconds = Number(valueOr(readKernelFile(root, "/proc/uptime"), "").split(" ")[0] || Number.NaN);
  const findings: Finding[] = [];
  if (seconds < RECENT_SECONDS)
    findings.push(
      found("warn", "boot", `the machine started ${Math.floor(seconds / 60)} minutes ago`, "ask boots"),
    );
  if (valueOr(listKernelFolder(root, "/sys/fs/pstore"), []).length > 0)
    findings.push(found("warn", "boot", "a crashed kernel has left messages in /sys/fs/pstore", "ask boots"));
  return findings;
};

/** The checks by the names that an answer has for them. */
export const CAUSES = {
  disks,
  units,
  runtime,
  "way to the Worker": way,
  load,
  "kernel's log": kernel,
  links,
  heat,
  boot,
} as const satisfies Readonly<Record<string, FindCauses>>;
