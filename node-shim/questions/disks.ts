// Answers questions about disks: file systems with their usage, block devices with their health, large folders.
import { statfs } from "node:fs/promises";
import type { ParametersOf } from "../../shared/protocol/question.ts";
import { valueOr } from "../../shared/result.ts";
import { faultOf } from "../base/fault.ts";
import { oneAtATime } from "../base/one-at-a-time.ts";
import { listKernelFolder, readKernelFile } from "../base/reading.ts";
import { type Mount, mounts } from "../base/served-paths.ts";
import type { Asking, Source } from "./source.ts";
import { bytesText, table } from "./table.ts";

/** The longest wait for one file system. A file system of a network may hang. */
const GIVE_UP_MS = 2000;
const MOUNTS = 200;

/** Yields the file systems, and the disks with the results of their own tests. */
export const disks: Source<ParametersOf<"disks">> = async function* (_, asking) {
  yield* await fileSystemLines(asking);
  yield* deviceLines(asking);
};

async function fileSystemLines({ root, cut }: Asking): Promise<Iterable<string>> {
  // Of several mounts of one point, the last one covers the others.
  const all = [...new Map(mounts(root).map((mount) => [mount.point, mount])).values()];
  if (all.length > MOUNTS) cut();
  const rows = await Promise.all(all.slice(0, MOUNTS).map(mountRow));
  const head = ["MOUNT", "TYPE", "DEVICE", "SIZE", "FREE", "USED", "INODES", "OPTIONS"];
  return table([head, ...rows.flatMap((row) => (row === null ? [] : [row]))]);
}

/** Returns a mount's row; null for a file system of the kernel, which has no size. */
async function mountRow({ point, type, source, options }: Mount): Promise<string[] | null> {
  const read = oneAtATime("statfs", (path) => statfs(path), GIVE_UP_MS);
  const stat = await read(point);
  const mode = options.split(",").includes("ro") ? "ro" : "rw";
  if (!stat.ok) return [point, type, source, "", "", "", "", `${mode} (${stat.error.message})`];
  const { bsize, blocks, bfree, bavail, files, ffree } = stat.value;
  if (blocks === 0) return null;
  const percent = (used: number, of: number) => (of === 0 ? "" : `${Math.ceil((used / of) * 100)}%`);
  return [
    point,
    type,
    source,
    bytesText(blocks * bsize),
    bytesText(bavail * bsize),
    // As in df, the blocks that only root may use count as neither free nor used.
    percent(blocks - bfree, blocks - bfree + bavail),
    percent(files - ffree, files),
    mode,
  ];
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
  // Options that GNU's du and busybox's have. du prints a folder once it has counted it.
  const args = ["-x", "-k", "-d", DEPTH, "--", path];
  const rows: [kib: number, folder: string][] = [];
  for await (const line of run("du", args, { signal, anyExitCode: true })) {
    const [, kib, folder = ""] = /^(\d+)\t(.*)$/.exec(line) ?? [];
    // The name of a folder may have line breaks: its parts are no folders of their own.
    if (folder !== path && !folder.startsWith(path === "/" ? path : `${path}/`)) continue;
    rows.push([Number(kib), folder]);
    if (rows.length < 2 * KEPT) continue;
    rows.sort((a, b) => b[0] - a[0]).splice(KEPT);
  }
  if (rows.length === 0) throw new Error(`${path} has no folder that this user may read`);
  rows.sort((a, b) => b[0] - a[0]);
  yield* table([
    ["SIZE", "FOLDER"],
    ...rows.slice(0, top).map(([kib, folder]) => [bytesText(kib * 1024), folder]),
  ]);
};

/** The number of folders that are kept while du counts. */
const KEPT = 1000;
