// Defines statuses for tests of the code that reads status files.
import type { SeenStatus, StatusFile } from "../../../node-shim/status/status-file.ts";

export const NOW_MS = Date.parse("2026-01-01T10:00:00Z");
export const at = (secondsFromNow: number) => new Date(NOW_MS + secondsFromNow * 1000).toISOString();

/** The status of a healthy machine: it reported 3 s ago, and its next report is due in 6 s. */
export const WELL: StatusFile = {
  version: 1,
  name: "edge-7",
  origin: "https://rollcall.example.com",
  state: "/var/lib/rollcall",
  thumbprint: "Kw3bsyrZ1Xj2m9v0FhTq8LxOePcUaGd5RnIy4oWzNtE",
  shim: "0.1.0",
  process: "4711 88",
  bootID: "boot-1",
  startedAt: at(-3600),
  report: { at: at(-3) },
  answer: { at: at(-3), phase: "registered", ready: true },
  nextReportAt: at(6),
  runtime: "containerd://2.1.4",
  dropIns: { working: 2, failures: [] },
};

export const running = (changes: Partial<StatusFile> = {}): SeenStatus => ({
  file: { ...WELL, ...changes },
  isRunning: true,
});
