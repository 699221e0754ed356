// Answers questions about disks: file systems with their usage, block devices with their health, large folders.
import type { ParametersOf } from "../../shared/protocol/question.ts";
import { valueOr } from "../../shared/result.ts";
import { abortAfter } from "../base/clock.ts";
import { faultOf } from "../base/fault.ts";
import { listKernelFolder, readKernelFile } from "../base/reading.ts";
import { type Mount, mounts } from "../base/served-paths.ts";
import type { Asking, Source } from "./source.ts";
import { bytesText, table } from "./table.ts";

/** The longest wait for one file system. A file system of a network may hang. */
const GIVE_UP_MS = 2000;
const MOUNTS = 200;
/** The most file systems that are asked at once. */
const AT_ONCE = 8;
/** The file systems of the kernel without a size. To ask autofs would mount another one. */
const WITHOUT_SIZE: ReadonlySet<string> = new Set(
  (
    "autofs binfmt_misc bpf cgroup cgroup2 configfs debugfs devpts fusectl hugetlbfs mqueue nsfs proc pstore " +
    "rpc_pipefs securityfs selinuxfs sysfs tracefs"
  ).split(" "),
);

/** Yields the file systems, and the disks with the results of their own tests. */
export const disks: Source<ParametersOf<"disks">> = async function* (_, asking) {
  yield* await fileSystemLines(asking);
  yield* deviceLines(asking);
};

export interface FileSystem {
  mount: Mount;
  /** The numbers of statfs(2): block size; blocks: all, free, free for users; inodes: all, free. Or why they are unknown. */
  size: number[] | string;
}

/** Returns the machine's mounts that can be seen and may have a size: of several at one point, the last one. */
export function sizedMounts({ root }: Pick<Asking, "root">): Mount[] {
  const last = new Map(machineMounts(root).map((mount) => [mount.point, mount])).values();
  return [...last].filter(({ type }) => !WITHOUT_SIZE.has(type));
}

/** Asks for the sizes of file systems. Those on the machine's own disks are asked first, since others may hang. */
export async function fileSystems(all: readonly Mount[], asking: Asking): Promise<FileSystem[]> {
  if (all.length > MOUNTS) asking.cut();
  const isOwn = ({ source, type }: Mount) => source.startsWith("/dev/") || type === "tmpfs";
  const found: FileSystem[] = all.slice(0, MOUNTS).map((mount) => ({ mount, size: NOT_ASKED }));
  const left = [...found].sort((a, b) => Number(isOwn(b.mount)) - Number(isOwn(a.mount)));
  const work = async () => {
    for (let next = left.shift(); next && !asking.signal.aborted; next = left.shift())
      next.size = await sizeOf(next.mount.point, asking);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return found;
}

/** The size of a file system for which the time did not suffice. */
export const NOT_ASKED = "was not asked in time";

async function fileSystemLines(asking: Asking): Promise<Iterable<string>> {
  const rows = (await fileSystems(sizedMounts(asking), asking)).map(mountRow);
  const head = ["MOUNT", "TYPE", "DEVICE", "SIZE", "FREE", "USED", "INODES", "OPTIONS"];
  return table([head, ...rows.flatMap((row) => (row === null ? [] : [row]))]);
}

/** Returns the mounts as the machine's first process sees them: in a sandbox, each is mounted again, and read-only. */
function machineMounts(root: string): Mount[] {
  const all = mounts(root, "1");
  return all.length > 0 ? all : mounts(root);
}

/** Returns a mount's row; null for a file system that has no size. */
function mountRow({ mount, size }: FileSystem): string[] | null {
  const { point, type, source, isReadOnly } = mount;
  const mode = isReadOnly ? "ro" : "rw";
  if (typeof size === "string") return [point, type, source, "", "", "", "", `${mode} (${size})`];
  const [blockBytes = 0, blocks = 0, free = 0, available = 0, files = 0, filesFree = 0] = size;
  if (blocks === 0) return null;
  const percent = (used: number, of: number) => (of === 0 ? "" : `${Math.ceil((used / of) * 100)}%`);
  return [
    point,
    type,
    source,
    bytesText(blocks * blockBytes),
    bytesText(available * blockBytes),
    // As in df, the blocks that only root may use count as neither free nor used.
    percent(blocks - free, blocks - free + available),
    percent(files - filesFree, files),
    mode,
  ];
}

/**
 * Returns the fields of statfs(2), or the reason why they are unknown. Calls it in a program: in this process, each file
 * system that hangs would keep one of libuv's four threads.
 */
async function sizeOf(point: string, { run, signal }: Asking): Promise<number[] | string> {
  try {
    // A format that GNU's stat and busybox's have.
    const args = ["-f", "-c", "%S %b %f %a %c %d", "--", point];
    const inTime = AbortSignal.any([signal, abortAfter(GIVE_UP_MS)]);
    for await (const line of run("stat", args, { signal: inTime })) return line.split(" ").map(Number);
    return signal.aborted ? NOT_ASKED : `has not answered within ${GIVE_UP_MS / 1000} s`;
  } catch (error) {
    return faultOf(error);
  }
}

async function* deviceLines(asking: Asking): AsyncGenerator<string> {
  const { root } = asking;
  const folders = valueOr(listKernelFolder(root, "/sys/block"), []);
  const text = (path: string) => valueOr(readKernelFile(root, path), "").trim();
  for (const name of folders) {
    const at = (file: string) => text(`/sys/block/${name}/${file}`);
    // A device without hardware, such as a loop or a RAM disk, has no folder `device`.
    if (!listKernelFolder(root, `/sys/block/${name}/device`).ok) continue;
    const kind = at("queue/rotational") === "1" ? "rotating" : "flash";
    // /sys counts in sectors of 512 bytes, whatever the device's own sectors are.
    yield `/dev/${name}: ${bytesText(Number(at("size")) * 512)} ${kind} ${at("device/model")} ${at("device/state")}`.trimEnd();
    yield* healthLines(`/dev/${name}`, asking);
  }
}

/** The fields of `smartctl --json` that are used. */
interface Smart {
  smart_status?: { passed?: boolean };
  temperature?: { current?: number };
  power_on_time?: { hours?: number };
  ata_smart_attributes?: { table?: { name?: string; raw?: { string?: string } }[] };
  nvme_smart_health_information_log?: Record<string, number>;
}

/** The attributes of SMART that foretell a failure. */
const FORETELLING =
  /^(Reallocated_Sector_Ct|Current_Pending_Sector|Offline_Uncorrectable|Reported_Uncorrect)$/;
const OF_NVME = ["critical_warning", "available_spare", "percentage_used", "media_errors"];

async function* healthLines(device: string, { run, signal }: Asking): AsyncGenerator<string> {
  const lines: string[] = [];
  let smart: Smart;
  try {
    // The exit code has a bit for each finding.
    const options = { signal, anyExitCode: true };
    for await (const line of run("smartctl", ["--json", "--health", "--attributes", device], options))
      lines.push(line);
    smart = JSON.parse(lines.join("\n")) as Smart;
  } catch (error) {
    yield `  health is unknown: ${lines.length === 0 ? faultOf(error) : "smartctl printed no JSON"}`;
    return;
  }
  const {
    smart_status,
    temperature,
    power_on_time,
    ata_smart_attributes,
    nvme_smart_health_information_log,
  } = smart;
  const health = { true: "passed", false: "FAILED" }[String(smart_status?.passed)] ?? "unknown";
  yield `  health ${health}, ${temperature?.current ?? "?"} °C, ${power_on_time?.hours ?? "?"} hours`;
  for (const { name = "", raw } of ata_smart_attributes?.table ?? [])
    if (FORETELLING.test(name)) yield `  ${name}: ${raw?.string ?? "?"}`;
  for (const name of OF_NVME)
    if (nvme_smart_health_information_log?.[name] !== undefined)
      yield `  ${name}: ${nvme_smart_health_information_log[name]}`;
}

/** The depth of the folders that are named, below the first one. */
const DEPTH = "3";

/** Yields the largest folders of one file system; when the time is over, of those that were counted by then. */
export const folders: Source<ParametersOf<"folders">> = async function* ({ path, top }, { run, signal }) {
  const counted = async (args: readonly string[], separator: { separator?: "\0" }) => {
    const rows: [kib: number, folder: string][] = [];
    const options = { signal, anyExitCode: true, ...separator };
    for await (const line of run("du", ["-x", "-k", ...args, "-d", DEPTH, "--", path], options)) {
      const [, kib, folder = ""] = /^(\d+)\t(.*)$/s.exec(line) ?? [];
      if (folder !== path && !folder.startsWith(path === "/" ? path : `${path}/`)) continue;
      rows.push([Number(kib), folder]);
      if (rows.length < 2 * KEPT) continue;
      rows.sort((a, b) => b[0] - a[0]).splice(KEPT);
    }
    return rows;
  };
  // The name of a folder may have line breaks, which must not forge another folder. busybox's du knows only lines.
  let rows = await counted(["-0"], { separator: "\0" });
  if (rows.length === 0) rows = await counted([], {});
  if (rows.length === 0) throw new Error(`${path} has no folder that this user may read`);
  rows.sort((a, b) => b[0] - a[0]);
  yield* table([
    ["SIZE", "FOLDER"],
    ...rows.slice(0, top).map(([kib, folder]) => [bytesText(kib * 1024), folder]),
  ]);
};

/** The number of folders that are kept while du counts. */
const KEPT = 1000;
