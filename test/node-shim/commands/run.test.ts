// Tests a shim that reports until it is stopped, in this process. test/process/node-shim/cli tests signals and exit
// codes.
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { reportUntilStopped } from "../../../node-shim/commands/run.ts";
import { storedEnrolment, storedPending, storePending } from "../../../node-shim/identity/identity.ts";
import type { Log } from "../../../node-shim/base/log.ts";
import type { Warn } from "../../../node-shim/base/reading.ts";
import { JOIN_TOKEN, type MachineFolder, machineFolder } from "../cli/machine-folder.ts";

const UNREACHABLE = "http://127.0.0.1:1";

let folder: MachineFolder;
beforeEach(() => {
  folder = machineFolder();
});
afterEach(() => {
  vi.unstubAllEnvs();
  folder.remove();
});

/** Runs the shim until `stop` is called. `said` resolves once the shim logs a line that matches. */
function running(url?: string) {
  const stopping = new AbortController();
  const lines: string[] = [];
  let look = () => {};
  const log: Log = (level, message) => {
    lines.push(`${level} ${message}`);
    look();
  };
  const { state } = folder;
  const flags = {
    ...(url !== undefined && { url }),
    state,
    hostnameOverride: "edge-1",
    inventory: "off",
    set: { "container-runtime-endpoint": [""] },
  };
  const warn: Warn = (source, message) => log("warn", `${source}: ${message}`);
  const ended = reportUntilStopped(flags, { log, warn, stop: stopping.signal });
  const said = (pattern: RegExp) =>
    new Promise<void>((resolve) => {
      look = () => lines.some((line) => pattern.test(line)) && resolve();
      look();
    });
  return { lines, said, ended, stop: () => stopping.abort() };
}

describe("stopped → ends, and its folder is free", () => {
  it.each([
    ["not enrolled", /^warn enrolment failed: .*ECONNREFUSED.*; trying again/],
    ["enrolled", /^warn report failed: .*ECONNREFUSED/],
  ])("while the Worker cannot be reached, %s", async (situation, line) => {
    if (situation === "enrolled") await folder.enrol("edge-1");
    else vi.stubEnv("ROLLCALL_JOIN_TOKEN", JOIN_TOKEN);
    const shim = running(UNREACHABLE);
    await shim.said(line);
    shim.stop();
    await shim.ended;
    expect(shim.lines).toHaveLength(1);
    expect(existsSync(join(folder.state, "lock"))).toBe(false);
  });

  it.each(["enrolled", "not enrolled"])("while the Worker holds a request, %s", async (situation) => {
    if (situation === "enrolled") await folder.enrol("edge-1");
    else vi.stubEnv("ROLLCALL_JOIN_TOKEN", JOIN_TOKEN);
    const arrived = Promise.withResolvers<void>();
    const shim = running(await folder.serve(() => arrived.resolve()));
    await arrived.promise;
    shim.stop();
    await shim.ended;
    expect(shim.lines).toEqual([]);
    expect(existsSync(join(folder.state, "lock"))).toBe(false);
  });
});

it("join has stored a wait for an operator → enrols with the stored URL and token, which are then deleted", async () => {
  const reported = Promise.withResolvers<void>();
  const url = await folder.serve((request, response) => {
    if (!request.url?.endsWith("enrolment")) reported.resolve();
    request.resume().once("end", () => response.end(JSON.stringify({ kid: "k", ticket: "t" })));
  });
  mkdirSync(folder.state, { mode: 0o700 });
  storePending(folder.state, { origin: url, joinToken: JOIN_TOKEN });
  const shim = running();
  await reported.promise;
  shim.stop();
  await shim.ended;
  expect(storedEnrolment(folder.state)).toMatchObject({ name: "edge-1", origin: url });
  expect(storedPending(folder.state)).toBeNull();
});
