// Tests the line, the remedy and the exit code for a machine's status. The table has a row for each phase.
import { describe, expect, it, test } from "vitest";
import { DIAGNOSES, type Kind } from "../../../node-shim/status/diagnoses.ts";
import { diagnose, withoutStatus } from "../../../node-shim/status/diagnosis.ts";
import type { SeenStatus, StatusFile } from "../../../node-shim/status/status-file.ts";
import type { Phase } from "../../../shared/protocol/answers.ts";
import { at, NOW_MS, running } from "./status.ts";

const answered = (phase: Phase, more: Partial<StatusFile["answer"]> = {}) =>
  running({ answer: { at: at(-3), phase, ready: false, ...more } });
const faulty = (reason: string, message: string) =>
  running({ report: { at: at(-1), fault: { reason, message } } });
const gone = (changes: Partial<StatusFile> = {}): SeenStatus => ({ ...running(changes), isRunning: false });
const notReady = (source: string, message: string) => ({ ...running({ notReady: { source, message } }) });
const withoutReady = ({ file, ...rest }: SeenStatus): SeenStatus => ({
  ...rest,
  file: { ...file, answer: { at: at(-3), phase: "registered", ready: false } },
});

describe("a machine's status → its diagnosis", () => {
  test.each<
    [
      situation: string,
      seen: SeenStatus | null,
      kind: Kind,
      exitCode: number,
      text: RegExp,
      cure: RegExp | null,
    ]
  >([
    ["reports, Ready", running(), "Ready", 0, /^edge-7 is Ready$/, null],
    [
      "Ready, with a word of the Worker's",
      answered("registered", { ready: true, message: "bounded" }),
      "Ready",
      0,
      /^edge-7 is Ready: bounded$/,
      null,
    ],
    [
      "Ready, and newer facts are refused",
      answered("registered", { ready: true, factsRefused: { path: "/settings", message: "too long" } }),
      "Ready",
      0,
      /its facts are refused at \/settings: too long$/,
      /node-shim facts/,
    ],
    [
      "Ready, by HTTP, since no socket is available",
      running({ transport: { via: "http", since: at(-60), choice: "auto", fault: "a proxy" } }),
      "Ready",
      0,
      /^edge-7 is Ready$/,
      null,
    ],
    [
      "the same, and a socket was required",
      running({ transport: { via: "http", since: at(-60), choice: "socket", fault: "a proxy" } }),
      "no socket",
      1,
      /^edge-7 is Ready, and reports by HTTP although --transport socket .*: a proxy$/,
      /pass --transport auto/,
    ],
    [
      "a socket was required, and none was tried yet",
      running({ transport: { via: "http", since: at(-60), choice: "socket" } }),
      "Ready",
      0,
      /^edge-7 is Ready$/,
      null,
    ],
    [
      "not Ready, no runtime",
      withoutReady(notReady("runtime", "container runtime is down")),
      "not Ready",
      5,
      /^edge-7 is not Ready: container runtime is down$/,
      /start the container runtime/,
    ],
    [
      "not Ready, no network",
      withoutReady(notReady("network", "cni plugin not initialized")),
      "not Ready",
      5,
      /cni plugin/,
      /\(CNI\); if no program here runs pods, set containerRuntimeEndpoint: ""/,
    ],
    [
      "not Ready, storage",
      withoutReady(notReady("storage", "CSI")),
      "not Ready",
      5,
      /CSI$/,
      /storage drivers/,
    ],
    [
      "goes down",
      withoutReady(notReady("shutdown", "node is shutting down")),
      "not Ready",
      5,
      /shutting down$/,
      /shuts down soon/,
    ],
    [
      "not Ready, because of other facts",
      withoutReady(notReady("facts", "missing node capacity")),
      "not Ready",
      5,
      /missing node capacity$/,
      /node-shim facts/,
    ],
    [
      "its own facts are good, the Node is not Ready yet",
      withoutReady(running()),
      "not Ready",
      5,
      /the cluster does not show it as Ready yet$/,
      /doctor/,
    ],
    [
      "registering",
      answered("registering", { message: "no metadata" }),
      "registering",
      5,
      /^edge-7 is being registered: no metadata$/,
      /^wait/,
    ],
    [
      "waiting for Node",
      answered("waiting for Node"),
      "waiting for Node",
      5,
      /has no Node, and registerNode is false/,
      /registerNode: true$/,
    ],
    [
      "facts refused",
      answered("facts refused", { factsRefused: { path: "/machine/cores", message: "too big" } }),
      "facts refused",
      5,
      /refuses this machine's facts: its facts are refused at \/machine\/cores: too big$/,
      /node-shim facts/,
    ],
    [
      "setup failed",
      answered("setup failed"),
      "setup failed",
      5,
      /could not be set up$/,
      /start the shim again$/,
    ],
    ["cloned", answered("cloned"), "cloned", 5, /is cloned/, /empty state folder and a join token/],
    ["two shims", answered("two shims", { ready: true }), "two shims", 5, /has two shims/, /stop the others/],
    [
      "name taken",
      answered("name taken"),
      "name taken",
      5,
      /that another Node or another writer has$/,
      /--hostname-override/,
    ],
    [
      "node deleted",
      answered("node deleted"),
      "node deleted",
      5,
      /it was deleted$/,
      /rollcall node register edge-7; if the message has a time, the Worker restores the Node then$/,
    ],
    [
      "apiserver unreachable",
      answered("apiserver unreachable"),
      "apiserver unreachable",
      5,
      /cannot reach$/,
      /this machine needs no action/,
    ],
    [
      "apiserver refuses",
      answered("apiserver refuses"),
      "apiserver refuses",
      5,
      /refused by the apiserver$/,
      /this machine needs no action/,
    ],
    [
      "apiserver not configured",
      answered("apiserver not configured"),
      "apiserver not configured",
      5,
      /none is configured in the Worker$/,
      /this machine needs no action/,
    ],
    [
      "a phase of a newer Worker",
      answered("on holiday" as Phase),
      "on holiday" as Kind,
      5,
      /^edge-7 is not Ready \(on holiday\)$/,
      /doctor/,
    ],
    [
      "a phase that is the name of a property of Object",
      answered("constructor" as Phase),
      "constructor" as Kind,
      5,
      /^edge-7 is not Ready \(constructor\)$/,
      /doctor/,
    ],
    [
      "no answer",
      faulty("failed", "connect ECONNREFUSED"),
      "unreachable",
      4,
      /gets no answer from the Worker: connect ECONNREFUSED$/,
      /node-shim doctor/,
    ],
    [
      "refused",
      faulty("key-revoked", "This key was revoked."),
      "refused",
      4,
      /is refused by the Worker: This key was revoked\.$/,
      /join token$/,
    ],
    [
      "the Worker fails",
      faulty("internal", "Something went wrong here."),
      "not served",
      4,
      /is not served by the Worker now: Something went wrong here\.$/,
      /^wait/,
    ],
    [
      "too many requests",
      faulty("rate-limited", "These are too many requests."),
      "not served",
      4,
      /is not served by the Worker now: These are too many requests\.$/,
      /^wait/,
    ],
    [
      "the Worker is not configured",
      faulty("not-configured", "Nothing is wrong with this machine."),
      "Worker not configured",
      4,
      /the Worker is not configured: Nothing is wrong with this machine\.$/,
      /^this machine needs no action/,
    ],
    [
      "signed for another origin",
      faulty("wrong-origin", "It signs for https://other.example.com."),
      "wrong origin",
      4,
      /that the Worker does not have: It signs for https:\/\/other\.example\.com\.$/,
      /--url .* ORIGINS$/,
    ],
    [
      "a report that is too large",
      faulty("body-too-large", "A body may have at most 262144 bytes."),
      "too large",
      4,
      /has a report that is too large for the Worker, .*: A body may have at most 262144 bytes\.$/,
      /^set nodeStatusMaxImages/,
    ],
    [
      "waits for an operator",
      running({ report: undefined, answer: undefined, waiting: "waiting for an operator: X" }),
      "starting",
      4,
      /has not reported yet: waiting for an operator: X$/,
      /^wait/,
    ],
    ["its next report is 60 s late", running({ nextReportAt: at(-60) }), "Ready", 0, /is Ready$/, null],
    [
      "its next report is later than that",
      running({ nextReportAt: at(-60.001) }),
      "hangs",
      3,
      /has stopped reporting, although it runs: .* was due at 2026/,
      /systemctl restart/,
    ],
    [
      "ended with a fault",
      gone({ ended: { at: at(-1), fault: "no disk" } }),
      "ended",
      3,
      /has a shim that has ended: no disk$/,
      /start the shim again$/,
    ],
    [
      "stopped, or killed",
      gone(),
      "not running",
      3,
      /no shim that runs: the last report was at 2026-01-01T09:59:57/,
      /systemctl start/,
    ],
    [
      "enrolled, never run",
      null,
      "not running",
      3,
      /^edge-7 has no shim that runs: nothing is reported$/,
      /node-shim run/,
    ],
  ])("%s", (_situation, seen, kind, exitCode, text, cure) => {
    const found = diagnose(seen, "edge-7", NOW_MS);
    expect({ kind: found.kind, exitCode: found.exitCode }).toEqual({ kind, exitCode });
    expect(found.text).toMatch(text);
    if (cure === null) expect(found.cure).toBeUndefined();
    else expect(found.cure).toMatch(cure);
  });

  it("not enrolled → how to join", () => {
    expect(diagnose(null, null, NOW_MS)).toMatchObject({
      text: "this machine is not enrolled",
      cure: expect.stringMatching(/^node-shim join --url/),
      exitCode: 1,
    });
  });
});

describe("states that may end within seconds, so that join waits for them", () => {
  const passing = Object.entries(DIAGNOSES).flatMap(([kind, { passes }]) => (passes ? [kind] : []));
  it("states that an operator has to fix are not among them", () => {
    expect(passing.toSorted()).toEqual([
      "apiserver unreachable",
      "ended",
      "not Ready",
      "not running",
      "not served",
      "registering",
      "starting",
      "unreachable",
    ]);
  });
  test.each([
    ["runtime", true],
    ["facts", false],
    ["shutdown", false],
  ])("not Ready because of its %s → %s", (source, passes) => {
    expect(diagnose(withoutReady(notReady(source, "m")), "edge-7", NOW_MS).passes).toBe(passes);
  });
});

describe("a state folder that cannot be written", () => {
  const FAULT = "/s cannot be written (ENOSPC)";
  const isIn = (seen: SeenStatus): SeenStatus => ({ ...seen, isInState: true });
  const old = (changes: Partial<StatusFile> = {}) =>
    isIn(running({ nextReportAt: at(-600), report: { at: at(-610) }, ...changes }));
  test.each<[situation: string, seen: SeenStatus | null, kind: Kind]>([
    ["the status is of this minute", isIn(running()), "Ready"],
    ["the status is old", old(), "status unknown"],
    [
      "the status is of a shim that has ended",
      isIn(gone({ ended: { at: at(-60), fault: "x" } })),
      "status unknown",
    ],
    ["there is no status", null, "status unknown"],
    ["the old status is in another place", { ...old(), isInState: false }, "hangs"],
  ])("%s → %s", (_, seen, kind) => {
    const diagnosed = withoutStatus(diagnose(seen, "edge-7", NOW_MS), seen, FAULT);
    expect(diagnosed.kind).toBe(kind);
    if (kind !== "status unknown") return;
    expect(diagnosed).toMatchObject({
      exitCode: 1,
      text: expect.stringContaining(`${FAULT}; the last status says: `),
    });
    expect(diagnosed.cure).not.toContain("restart");
  });
});
