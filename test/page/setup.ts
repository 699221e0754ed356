// Sets the suite up: one Chromium, and one Worker whose machines tests distinguish by names. Each starts when a
// test file requests it.
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { runRecord } from "../e2e/leaks.ts";
import { CHROMIUM_IS_MISSING, hasChromium, serveChromium } from "./chromium.ts";
import { type ClusterAccess, startClusterWorker } from "./page-worker.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** The address where test files request the browser and the Worker: its paths are the keys of Shared. */
    pageSetup: string;
  }
}

/** The answers to GET /PATH; each key is a path. */
export interface Shared {
  /** The endpoint that Playwright connects to. */
  chromium: string;
  worker: ClusterAccess;
}

/** Serves the browser and the Worker to test files. Returns a function that ends the run. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  if (!hasChromium) console.log(CHROMIUM_IS_MISSING);
  const folder = mkdtempSync(join(tmpdir(), "rollcall-page-"));
  const chromium = once(serveChromium);
  const worker = once(() => startClusterWorker(folder));
  const answers: { [Path in keyof Shared]: () => Promise<Shared[Path]> } = {
    chromium: async () => (await chromium.start()).wsEndpoint(),
    worker: async () => (await worker.start()).access,
  };
  const door = createServer((request, response) => {
    const path = (request.url ?? "").slice(1) as keyof Shared;
    answers[path]().then(
      (answer) => response.end(JSON.stringify(answer)),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  });
  await new Promise<void>((listening) => void door.listen(0, "127.0.0.1", listening));
  project.provide("pageSetup", `http://127.0.0.1:${(door.address() as AddressInfo).port}`);
  return async () => {
    door.close();
    await (await chromium.started())?.close();
    const started = await worker.started();
    await started?.stop();
    record(project, folder, started?.access);
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  };
}

/** Records the run's secrets, which no log may contain. */
function record(project: TestProject, folder: string, access: ClusterAccess | undefined): void {
  const { runRecord: path } = project.getProvidedContext();
  if (path === undefined || !access) return;
  const run = runRecord(path);
  for (const secret of [access.adminSecret, access.viewSecret])
    run.secret("made by the page's set-up", secret);
  run.folder(folder);
}

function once<T>(make: () => Promise<T>) {
  let made: Promise<T> | undefined;
  return {
    start: () => (made ??= make()),
    /** Returns the result of `make`. undefined if no test file has requested it, or if it could not start. */
    started: async () => made?.catch(() => undefined),
  };
}
