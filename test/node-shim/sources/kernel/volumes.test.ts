// Tests the volumes in use, which come from a kubelet's files about its CSI volumes, on real folders. No volume is
// mounted.
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it, onTestFinished, test } from "vitest";
import {
  reportedNames,
  VOLUME_DATA_BYTES,
  VOLUME_NAMES_BYTES,
  volumeScanner,
} from "../../../../node-shim/sources/kernel/volumes.ts";
import { warnOncePerSource } from "../../../../node-shim/base/reading.ts";
import { FACTS_LIMITS } from "../../../../shared/protocol/limits.ts";
import { temporaryFolder } from "../../base/temporary-folder.ts";

const CSI = "/plugins/kubernetes.io/csi";
/** The time limit of a scan, so long that no test reaches it, even on a slow disk. */
const GIVE_UP_MS = 60_000;
const SHA = "0a".repeat(32);
const data = (driverName: string, volumeHandle: string) =>
  `${JSON.stringify({ driverName, volumeHandle })}\n`;

/** Makes a kubelet's folder with these files. Their paths are relative to the folder of the CSI plugin. */
function kubeletFolder(files: Record<string, string> = {}) {
  const { path: rootDir, remove } = temporaryFolder();
  onTestFinished(remove);
  const said: string[] = [];
  const warn = warnOncePerSource((source, message) => said.push(`${source}: ${message}`));
  const path = (file: string) => join(rootDir, CSI, file);
  const put = (file: string, text: string) => {
    mkdirSync(dirname(path(file)), { recursive: true });
    writeFileSync(path(file), text);
  };
  for (const [file, text] of Object.entries(files)) put(file, text);
  return { rootDir, said, path, put, scan: volumeScanner(rootDir, warn, GIVE_UP_MS) };
}

describe("volumes in use", () => {
  it("no kubelet ran here → no volumes, synced, no log line", async () => {
    const { scan, said } = kubeletFolder();
    expect(await scan()).toEqual({ synced: true, inUse: [] });
    expect(said).toEqual([]);
  });

  it("staged, block, and shared by two names → each volume once, in the kubelet's order", async () => {
    const { scan, said } = kubeletFolder({
      [`ebs.csi.aws.com/${SHA}/vol_data.json`]: data("ebs.csi.aws.com", "vol-2"),
      [`pv/pvc-1/vol_data.json`]: data("ebs.csi.aws.com", "vol-2"),
      [`volumeDevices/pvc-2/data/vol_data.json`]: data("disk.csi.azure.com", "/subscriptions/é"),
      [`volumeDevices/publish/pvc-2/x`]: "",
      [`ebs.csi.aws.com/${"0b".repeat(32)}/globalmount/x`]: "",
      [`ebs.csi.aws.com/note`]: "",
    });
    expect(await scan()).toEqual({
      synced: true,
      inUse: [
        "kubernetes.io/csi/disk.csi.azure.com^/subscriptions/é",
        "kubernetes.io/csi/ebs.csi.aws.com^vol-2",
      ],
    });
    expect(said).toEqual([]);
  });

  it("a volume appears, is replaced, and disappears → the list follows", async () => {
    const { scan, put, path } = kubeletFolder({ "d/a/vol_data.json": data("d", "1") });
    expect((await scan()).inUse).toEqual(["kubernetes.io/csi/d^1"]);
    put("d/b/vol_data.json", data("d", "2"));
    put("d/a/vol_data.json", data("d", "11"));
    expect((await scan()).inUse).toEqual(["kubernetes.io/csi/d^11", "kubernetes.io/csi/d^2"]);
    rmSync(path("d/a"), { recursive: true });
    expect((await scan()).inUse).toEqual(["kubernetes.io/csi/d^2"]);
  });
});

describe("bad input", () => {
  const LONGEST = "x".repeat(FACTS_LIMITS.textLength - "kubernetes.io/csi/d^".length);
  const padded = (bytes: number) => data("d", "big").padEnd(bytes);

  test.each<[situation: string, text: string, error: string | null]>([
    ["no JSON", "{", "it is not JSON with driverName and volumeHandle"],
    ["empty", "", "it is not JSON with driverName and volumeHandle"],
    ["a list", "[]", "it is not JSON with driverName and volumeHandle"],
    ["no handle", '{"driverName":"d"}', "it is not JSON with driverName and volumeHandle"],
    ["an empty driver", data("", "h"), "it is not JSON with driverName and volumeHandle"],
    ["a number", '{"driverName":1,"volumeHandle":"h"}', "it is not JSON with driverName and volumeHandle"],
    [
      "half a character",
      data("d", "\ud800"),
      "its volume's name cannot be reported: at most 1024 characters",
    ],
    ["the longest name", data("d", LONGEST), null],
    [
      "a longer name",
      data("d", `${LONGEST}x`),
      "its volume's name cannot be reported: at most 1024 characters",
    ],
    ["the largest file", padded(VOLUME_DATA_BYTES), null],
    ["a larger file", padded(VOLUME_DATA_BYTES + 1), `it has more than ${VOLUME_DATA_BYTES} bytes`],
  ])("a file with $0 → the others stay, logged once: $2", async (_situation, text, error) => {
    const files = { "d/bad/vol_data.json": text, "d/good/vol_data.json": data("d", "good") };
    const { scan, said, path } = kubeletFolder(files);
    const { synced, inUse } = await scan();
    await scan();
    expect(synced).toBe(true);
    expect(inUse).toContain("kubernetes.io/csi/d^good");
    expect(inUse).toHaveLength(error === null ? 2 : 1);
    expect(said).toEqual(error === null ? [] : [`volume ${path("d/bad/vol_data.json")}: left out: ${error}`]);
  });

  it("links and a folder in place of a file → not followed", async () => {
    const { scan, said, path, put } = kubeletFolder({ "d/real/vol_data.json": data("d", "real") });
    put("d/link/x", "");
    symlinkSync(path("d/real/vol_data.json"), path("d/link/vol_data.json"));
    put("d/folder/vol_data.json/x", "");
    symlinkSync(path("d"), path("linked-driver"));
    symlinkSync(path("d/real"), path("d/linked-volume"));
    expect(await scan()).toEqual({ synced: true, inUse: ["kubernetes.io/csi/d^real"] });
    await scan();
    expect(said).toEqual([
      `volume ${path("d/folder/vol_data.json")}: left out: it is not a file`,
      `volume ${path("d/link/vol_data.json")}: left out: it is a symbolic link`,
    ]);
  });

  it("more bad files than the log's limit → the first sixteen are logged", async () => {
    const files = Array.from({ length: 17 }, (_, index) => [`d/${index}/vol_data.json`, "{"]);
    const { scan, said } = kubeletFolder(Object.fromEntries(files) as Record<string, string>);
    expect((await scan()).inUse).toEqual([]);
    expect(said).toHaveLength(16);
  });
});

describe("the limits of a report", () => {
  const many = (count: number, name: (index: number) => string) => {
    const said: string[] = [];
    const names = new Set(Array.from({ length: count }, (_, index) => name(count - 1 - index)));
    const inUse = reportedNames(names, (source, message) => void said.push(`${source}: ${message}`));
    return { inUse, said };
  };

  test.each([
    [FACTS_LIMITS.volumes, []],
    [FACTS_LIMITS.volumes + 1, ["volumes: 2049 are in use, of which the first 2048 by name can be reported"]],
  ])("%i volumes → at most 2048, the first ones by name", (count, lines) => {
    const { inUse, said } = many(count, (index) => String(index).padStart(5, "0"));
    expect(inUse).toHaveLength(2048);
    expect([inUse[0], inUse.at(-1)]).toEqual(["00000", "02047"]);
    expect(said).toEqual(lines);
  });

  const PER_NAME = VOLUME_NAMES_BYTES / 128;
  test.each([
    [128, []],
    [129, ["volumes: 128 are in use, of which the first 127 by name can be reported"]],
  ])("names of 512 bytes, all but one, which is %i − 128 longer → below 64 KiB", (extra, lines) => {
    const { inUse, said } = many(128, (index) =>
      String(index).padStart(index === 0 ? PER_NAME + extra - 128 : PER_NAME, "0"),
    );
    expect(inUse).toHaveLength(128 - lines.length);
    expect(said).toEqual(lines);
  });
});

describe("a scan that fails", () => {
  it("the first one → not synced, logged once; after a success, synced; later the last good one stays", async () => {
    const { scan, said, path, put, rootDir } = kubeletFolder();
    // A file instead of the folder makes every read fail with ENOTDIR, also for root.
    mkdirSync(join(rootDir, dirname(CSI)), { recursive: true });
    writeFileSync(join(rootDir, CSI), "");
    expect(await scan()).toEqual({ synced: false, inUse: [] });
    rmSync(path(""));
    put("d/a/vol_data.json", data("d", "1"));
    expect(await scan()).toEqual({ synced: true, inUse: ["kubernetes.io/csi/d^1"] });
    rmSync(join(rootDir, CSI), { recursive: true });
    writeFileSync(join(rootDir, CSI), "");
    expect(await scan()).toEqual({ synced: true, inUse: ["kubernetes.io/csi/d^1"] });
    expect(said).toEqual([expect.stringMatching(/^volumes: ENOTDIR/)]);
  });
});
