// Tests the bundle: the files that it has, its size, and what its manifest names as missing.
import { randomBytes } from "node:crypto";
import { Readable } from "node:stream";
import { gunzipSync } from "node:zlib";
import { extract } from "tar-stream";
import { expect, test } from "vitest";
import { answer } from "../../../node-shim/questions/answer.ts";
import { bundle } from "../../../node-shim/questions/bundle.ts";
import type { Asking } from "../../../node-shim/questions/source.ts";
import { QUESTION_LIMITS } from "../../../shared/protocol/limits.ts";
import { questionsOn } from "../../../shared/protocol/questions.ts";
import { valueOr } from "../../../shared/result.ts";
import { NOW_MS, played } from "./asking.ts";

const on = (...names: string[]) => valueOr(questionsOn(names), new Set<never>());
const going = new AbortController().signal;

async function bytesOf(chunks: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const all: Uint8Array[] = [];
  for await (const chunk of chunks) all.push(chunk);
  return Buffer.concat(all);
}

/** Unpacks a .tar.gz: the texts of its files by name. */
async function unpacked(bytes: Buffer): Promise<Record<string, string>> {
  const files: Record<string, string> = {};
  const entries = Readable.from([gunzipSync(bytes)]).pipe(extract());
  for await (const entry of entries) {
    expect(entry.header).toMatchObject({ mode: 0o600, mtime: new Date(NOW_MS) });
    files[entry.header.name] = (await bytesOf(entry as AsyncIterable<Uint8Array>)).toString();
  }
  return files;
}

interface Manifest {
  at: string;
  files: { file: string; bytes: number; end: string }[];
  missing: { question: string; why: string }[];
}
const manifestOf = (files: Record<string, string>) =>
  JSON.parse(files["bundle/manifest.json"] ?? "") as Manifest;
const missingIn = ({ missing }: Manifest) =>
  Object.fromEntries(missing.map((each) => [each.question, each.why]));

test("the questions that are on → a file each, redacted, and a manifest that names the others", async () => {
  const entry = (text: string) => `${JSON.stringify({ __REALTIME_TIMESTAMP: "0", MESSAGE: text })}\n`;
  const host = played(
    {
      "list-units": "x.service loaded failed failed X\n--all loaded failed\n",
      systemctl: "",
      "unit=x.service": entry("password=hunter2"),
      "unit=rollcall": entry("reports"),
      "_TRANSPORT=kernel": "",
    },
    { on: on("units", "logs", "files", "container-logs", "bundle"), files: ["/var/log/app"] },
  );
  const chunks = answer({ name: "bundle", parameters: {} }, host, going);
  const all: Uint8Array[] = [];
  for (let next = await chunks.next(); ; next = await chunks.next()) {
    if (!next.done) all.push(next.value);
    else {
      expect(next.value).toEqual({ reason: "complete" });
      break;
    }
  }
  const files = await unpacked(Buffer.concat(all));
  expect(Object.keys(files)).toEqual([
    "bundle/units.txt",
    "bundle/questions.txt",
    "bundle/logs/rollcall-node-shim.service.txt",
    "bundle/logs/x.service.txt",
    "bundle/manifest.json",
  ]);
  expect(files["bundle/logs/x.service.txt"]).toBe("1970-01-01T00:00:00.000Z unknown: password=[redacted]\n");
  const manifest = manifestOf(files);
  expect(manifest.at).toBe("2026-11-27T12:00:00.000Z");
  expect(manifest.files[0]).toMatchObject({ file: "units.txt", end: "complete" });
  expect(missingIn(manifest)).toMatchObject({
    disks: "--questions does not name it",
    "container-logs": "it needs the ID of a container",
    "logs/kernel.txt": "complete, and empty",
    "files/var/log/app.txt": "/var/log/app cannot be read (ENOENT)",
  });
});

const asking = (over: Partial<Asking>) =>
  played(
    { systemctl: "" },
    { on: on("safe", "files", "logs"), files: Array.from({ length: 12 }, (_, at) => `/f${at}`), ...over },
  );

test("answers without end, of random bytes → at most 8 MiB, and the manifest names the rest", async () => {
  const ask: Asking["ask"] = async function* () {
    yield randomBytes(1024 * 1024);
    return { reason: "cut" };
  };
  const bytes = await bytesOf(bundle({}, asking({ ask })));
  expect(bytes.length).toBeLessThanOrEqual(QUESTION_LIMITS.bundleBytes);
  expect(bytes.length).toBeGreaterThan(QUESTION_LIMITS.bundleBytes - 2 * 1024 * 1024);
  const { files, missing } = manifestOf(await unpacked(bytes));
  expect(files.length).toBe(7);
  expect(files[0]?.end).toMatch(/^the answer is cut/);
  expect(missing).toContainEqual({ question: "files/f9.txt", why: "no room is left" });
  expect(missing).toContainEqual({ question: "files", why: "of the paths, only the first 10 are here" });
});

test("the time is over → a valid bundle of what there is by then", async () => {
  const stop = new AbortController();
  const ask: Asking["ask"] = async function* ({ name }) {
    if (name === "units") stop.abort();
    yield Buffer.from(`${name}\n`);
    return name === "units" ? { reason: "gone" } : { reason: "complete" };
  };
  const files = await unpacked(await bytesOf(bundle({}, asking({ ask, signal: stop.signal }))));
  expect(Object.keys(files)).toEqual(
    ["diagnosis.txt", "disks.txt", "units.txt", "manifest.json"].map((file) => `bundle/${file}`),
  );
  expect(manifestOf(files).files[2]).toMatchObject({ file: "units.txt", end: "no time is left" });
  expect(missingIn(manifestOf(files))).toMatchObject({ "folders.txt": "no time is left" });
});
