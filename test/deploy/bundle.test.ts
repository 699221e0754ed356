// The Worker's bundle, as wrangler makes it for a deployment.
import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ROOT, temporaryFolder } from "../e2e/local-cluster.ts";

describe("wrangler deploy --dry-run", () => {
  const folder = temporaryFolder();
  const metafile = join(folder.path, "metafile.json");
  afterAll(() => folder.remove());

  beforeAll(async () => {
    const flags = ["deploy", "--dry-run", "--outdir", folder.path, "--metafile", metafile];
    const wrangler = join(ROOT, "node_modules/wrangler/bin/wrangler.js");
    const env = { ...process.env, WRANGLER_SEND_METRICS: "false" };
    await promisify(execFile)(process.execPath, [wrangler, ...flags], { cwd: ROOT, env });
  });

  const modules = () => readdirSync(folder.path).filter((file) => file.endsWith(".js"));

  it("makes a bundle of at most 188 KiB, compressed", () => {
    const sources = modules().map((file) => readFileSync(join(folder.path, file)));
    expect(sources).not.toEqual([]);
    expect(gzipSync(Buffer.concat(sources)).byteLength).toBeLessThanOrEqual(188 * 1024);
  });

  it("holds nothing of the tests, the shim or the embedded apiserver", () => {
    const { inputs } = JSON.parse(readFileSync(metafile, "utf8")) as { inputs: Record<string, unknown> };
    const folders = new Set(Object.keys(inputs).map((file) => file.split("/")[0]));
    expect(folders).toEqual(new Set(["node_modules", "shared", "worker"]));
  });
});
